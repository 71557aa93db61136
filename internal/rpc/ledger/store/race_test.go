//go:build race

package store

// Under the race detector Pebble checks itself, and opening and reading take about fifty
// times as long.
const underRace = true
