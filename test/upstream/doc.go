// Package upstream tests what stands between a network and its nodes with real servers as
// nodes: the client of one node, the pool of several, and calls whose state is proven.
package upstream
