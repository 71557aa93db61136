//go:build race

package edge

// raced: the race detector makes pools forget things at random, so allocations
// can't be counted.
const raced = true
