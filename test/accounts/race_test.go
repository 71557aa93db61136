//go:build race

package accounts_test

// underRace says whether the race detector slows everything down.
const underRace = true
