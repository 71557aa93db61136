// Package guard stops simulated executions: calls, estimates and traces.
//
// The EVM looks at its own stop flag only at jumps. A precompiled contract can run for
// seconds between two of them, and code that recurses instead of jumping never looks. A
// Guard is asked at the places in between: before every precompiled contract, in the
// middle of BLAKE2 rounds and of BLS12-381 multiplications, at every new call frame, at
// every hash and at every traced instruction.
//
// A guard that says stop unwinds the whole execution with a panic that Run turns into an
// error. The code that runs never sees it: a precompiled contract that failed in its place
// would be a result, and a wrong one.
//
// Block production and block import are never guarded and keep go-ethereum's own
// precompiled contracts.
package guard

import (
	"errors"
	"math"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate/internal/background"
	"github.com/nodegate/nodegate/internal/rpc/chain/steplog"
)

// Errors of an execution that was stopped.
var (
	ErrStopped  = errors.New("execution stopped at its limit")
	ErrTooLarge = errors.New("the output of the execution is too large")
)

// Unlimited is the gas of a guard that only looks at the time.
const Unlimited = math.MaxInt64

// Guard ends one execution. Stop may be called by anybody, the rest belongs to the
// goroutine that executes.
type Guard struct {
	stopped  atomic.Bool
	inner    atomic.Pointer[func()] // stops what the guard is not asked in
	deadline time.Time
	gas      int64 // left for precompiled contracts, hashes and frames
	output   int64 // bytes left for what a trace keeps
	chunks   *steplog.Chunks
	low      bool // the thread has low priority
	steps    uint
	rests    background.Rests
	atEnd    []func()
	timer    *time.Timer // of the client's own timeout
}

// New returns the guard of an execution that must end at the deadline, and that may
// spend so much gas on work that the EVM can't interrupt.
func New(deadline time.Time, gas int64) *Guard {
	return &Guard{deadline: deadline, gas: gas, output: math.MaxInt64}
}

// LimitOutput bounds what a trace may keep, and says where its memory comes from.
func (g *Guard) LimitOutput(bytes int64, chunks *steplog.Chunks) { g.output, g.chunks = bytes, chunks }

// Stop ends the execution at the next place where it is asked.
func (g *Guard) Stop() {
	g.stopped.Store(true)
	if stop := g.inner.Load(); stop != nil {
		(*stop)()
	}
}

// onStop has a stop end something else too. It may be called again.
func (g *Guard) onStop(stop func()) {
	g.inner.Store(&stop)
	if g.Stopped() { // before it was stored
		stop()
	}
}

// Stopped reports whether the execution was told to end. Its results are void then.
func (g *Guard) Stopped() bool { return g.stopped.Load() }

// stop is the panic that unwinds an execution.
type stop struct{ reason error }

// end unwinds the execution.
func (g *Guard) end(reason error) {
	g.Stop()
	panic(stop{reason})
}

// check unwinds an execution that was stopped.
func (g *Guard) check() {
	if g.stopped.Load() {
		g.end(ErrStopped)
	}
}

// quick is work that needs no look at the clock.
const quick = 100 * time.Microsecond

// spend accounts for work before it begins, and stops where more gas was used than the
// slice has, or where the work is estimated to take longer than what is left of it.
func (g *Guard) spend(gas uint64, took time.Duration) {
	g.check()
	if g.gas != Unlimited {
		if g.gas -= int64(min(gas, math.MaxInt64/2)); g.gas < 0 {
			g.end(ErrStopped)
		}
	}
	if took > quick && time.Until(g.deadline) < took {
		g.end(ErrStopped)
	}
}

// LowPriority tells that the thread that executes lets others go first.
func (g *Guard) LowPriority() { g.low = true }

// restSteps is how many instructions of a trace there are between looks at the clock.
const restSteps = 64

// traced is asked before each instruction of a trace.
func (g *Guard) traced() {
	g.check()
	if g.steps++; g.low && g.steps%restSteps == 0 {
		g.rests.Now()
	}
}

// fit stops before bytes are written that a trace's output has no room for.
func (g *Guard) fit(bytes int) {
	if g.output < int64(bytes) {
		g.end(ErrTooLarge)
	}
}

// keep accounts for bytes of a trace's output.
func (g *Guard) keep(bytes int) {
	if g.output -= int64(bytes); g.output < 0 {
		g.end(ErrTooLarge)
	}
}

// Run executes work and returns ErrStopped or ErrTooLarge where a guard stopped it.
func Run(work func() error) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case stop:
			err = p.reason
		default:
			panic(p)
		}
	}()
	return work()
}
