package server

import (
	"cmp"
	"os"
	"runtime/debug"
	"sync"
)

// gcPercent lets the heap grow to four times what is live between collections.
// The live heap is small and bounded, and requests make much short-lived garbage:
// Go's default would spend a tenth of the processor on collecting it.
const gcPercent = 300

// usualLive is about what is live on the heap without the caches of ledgers. These are on the
// heap as well, hold no pointers, and cost the collector nothing to look at: the garbage that
// may pile up is measured by the rest, or the process would take four times their memory.
const usualLive = 128 << 20

// leastPercent is Go's default. Below it a server with much that is live elsewhere would collect
// all the time.
const leastPercent = 100

// paceStep is how far the pace must be off before it is set: to set it stops all goroutines for
// a moment.
const paceStep = 20

// pacePercent is the pace of the collector while ledgers' caches hold so many bytes.
func pacePercent(ledgers int64) int {
	return max(leastPercent, int(gcPercent*usualLive/(usualLive+ledgers)))
}

// pressedPercent is in force while requests hold much memory. Their buffers are large
// and cost the collector nothing to look at; to let four times as much pile up would
// take a multiple of what the budget allows.
const pressedPercent = 100

// limitPercent is how much of the control group's memory limit the process uses for
// itself. The rest is the kernel's: sockets, and pages of files.
const limitPercent = 85

// TuneRuntime sets the collector's pace and the memory limit for the whole process,
// unless the operator has set them with GOGC and GOMEMLIMIT.
func TuneRuntime() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	if limit := cgroupLimit(os.DirFS("/")); limit > 0 {
		debug.SetMemoryLimit(limit / 100 * limitPercent)
	}
}

// memoryLimit is the memory limit in force; without one it is larger than any machine.
func memoryLimit() int64 { return debug.SetMemoryLimit(-1) }

// collector changes the pace of the garbage collector while memory is scarce, and as caches fill.
// It changes nothing that the operator has set.
type collector struct {
	mu    sync.Mutex
	pace  int  // while memory is not scarce; 0: what the process began with
	tight bool // memory is scarce
}

// pressed is called when memory becomes scarce, and when it no longer is.
func (c *collector) pressed(high bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if os.Getenv("GOGC") != "" || high == c.tight {
		return
	}
	if c.tight = high; high {
		before := debug.SetGCPercent(pressedPercent)
		c.pace = cmp.Or(c.pace, before)
		return
	}
	debug.SetGCPercent(c.pace)
}

// beside is called when ledgers' caches hold so many bytes.
func (c *collector) beside(cached int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := pacePercent(cached)
	if off := next - cmp.Or(c.pace, gcPercent); os.Getenv("GOGC") != "" || max(off, -off) < paceStep {
		return
	}
	if c.pace = next; !c.tight {
		debug.SetGCPercent(next)
	}
}
