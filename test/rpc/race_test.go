//go:build race

package rpc_test

// memoryFactor allows for the race detector, which shadows what it watches.
const memoryFactor = 2
