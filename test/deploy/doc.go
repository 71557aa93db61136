// Package deploy holds the files in deploy/ to what nodegate has: flags, variables, ports,
// paths and settings. Where a file's own tool is on the machine, it reads the file too, and
// HAProxy runs before two real servers.
package deploy
