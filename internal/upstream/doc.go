// Package upstream makes one node of many: a pool of a network's remote nodes that
// knows which are healthy and how far each has come, and asks the right one.
package upstream
