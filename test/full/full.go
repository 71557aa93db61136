// Package full tells tests whether they run in make full, which has all the time it needs.
// Start at Rounds.
package full

import "os"

// Run tells whether this is make full, or somebody who set NODEGATE_FULL.
func Run() bool { return os.Getenv("NODEGATE_FULL") != "" }

// Rounds is how often a test repeats itself: all times in make full, and as often as usual
// in make test, which has to end within 25 minutes. One round must show what the test is about.
func Rounds(all, usual int) int {
	if Run() {
		return all
	}
	return usual
}
