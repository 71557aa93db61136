// Package nodes tests networks of remote nodes as a whole: real servers with embedded
// chains are the nodes, and a server with a loaded configuration is in front of them.
package nodes
