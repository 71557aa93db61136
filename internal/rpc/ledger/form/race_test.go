//go:build race

package form_test

// raced: the race detector makes pools forget things at random, so allocations
// can't be counted.
const raced = true
