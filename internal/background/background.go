// Package background keeps long work from delaying short work. Requests that take
// microseconds wait for milliseconds when work that takes seconds is scheduled like them:
// Go lets a goroutine run for 10 ms, and the kernel a thread for some. Start at Run.
package background

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// cores is counted before MakeRoom.
var cores = sync.OnceValue(func() int { return runtime.GOMAXPROCS(0) })

// Cores is how many processors the program may use: those of the machine, or fewer where
// its control group or GOMAXPROCS allows fewer.
func Cores() int { return cores() }

// MakeRoom lets Go schedule one more thread than there are cores, so that work in the
// background never has the last one: the kernel knows the priority of a thread, Go knows
// none of a goroutine. It comes before anything else.
func MakeRoom() {
	if n := Cores(); n > 1 {
		runtime.GOMAXPROCS(n + 1)
	}
}

// mostThreads bounds the threads that are lowered while they work. Go ends a program with too
// many threads, and requests of many accounts may want one each; those beyond keep their
// priority. Callers of Run have bounds already and are not counted: a crowd of requests must
// not take their low priority away.
const mostThreads = 64

var threads atomic.Int64

// Thread is the thread of a goroutine that may want low priority. The zero value is one that
// has not asked for it.
type Thread struct {
	lowered bool
	rests   Rests
}

// Lower gives the goroutine a thread for itself, of low priority, until it ends. A process
// with one core keeps its priority: a thread that waits for other programs there would hold
// up everything.
func (t *Thread) Lower() {
	if t.lowered || Cores() == 1 {
		return
	}
	if threads.Add(1) > mostThreads {
		threads.Add(-1)
		return
	}
	t.lowered = true
	lower()
}

// Rest is for lowered threads: it lets others that wait for the core have it, if it is long
// enough ago that it did.
func (t *Thread) Rest() {
	if t.lowered {
		t.rests.Now()
	}
}

// End comes last in the goroutine, which takes its thread with it.
func (t *Thread) End() {
	if t.lowered {
		threads.Add(-1)
	}
}

// Apart does work in a goroutine of its own and waits for it, so that it may lower its
// thread. A panic of the work goes on in the caller.
func Apart(work func(*Thread)) {
	j := newJob(func() {
		var t Thread
		defer t.End()
		work(&t)
	})
	go j.do()
	j.wait()
}
