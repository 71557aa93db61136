//go:build !race

package rpc_test

const memoryFactor = 1
