package server

import (
	"os"
	"runtime/debug"
)

// gcPercent lets the heap grow to four times what is live between collections.
// The live heap is small and bounded, and requests make much short-lived garbage:
// Go's default would spend a tenth of the processor on collecting it.
const gcPercent = 300

// TuneRuntime sets the collector's pace for the whole process, unless the
// operator has set it with GOGC.
func TuneRuntime() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}
