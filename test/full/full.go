// Package full tells tests how much of their work to do: all of it in make full, the usual in make
// test, and only what is quick in make quick and make race. Start at Rounds.
package full

import (
	"flag"
	"os"
	"strings"
	"testing"
)

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

// Short leaves of a package's tests only the named ones to go test -short, unless -run chooses
// others. All tests of whole servers take too long under the race detector: each of their
// packages names those in which goroutines meet, for make race. TestMain calls it.
func Short(tests ...string) {
	flag.Parse()
	if testing.Short() && flag.Lookup("test.run").Value.String() == "" {
		_ = flag.Set("test.run", "^("+strings.Join(tests, "|")+")$")
	}
}

// Slow skips a test that takes seconds, in make quick and make race.
func Slow(t testing.TB) {
	t.Helper()
	if os.Getenv("TEST_QUICK") != "" {
		t.Skip("takes seconds; make test runs it")
	}
}
