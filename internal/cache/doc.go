// Package cache keeps answers of remote nodes for as long as they are true. It is a
// node over a node.
package cache
