// Package blocktest holds what every storage engine promises as tests. An engine
// passes when Run does: call it from the engine's own tests with a function that
// opens an empty one.
package blocktest
