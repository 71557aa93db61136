//go:build race

package ledger

// Under the race detector Pebble checks itself, which takes long, and pools of buffers are
// not used, so that more is allocated.
const underRace = true
