// Package lane keeps long executions from starving everything else.
//
// There is one heavy lane for the whole process, whatever the number of networks. It has
// fewer seats than the machine has cores, so that short requests always find one. Seats
// belong to accounts, not keys: an account has only so many at once, and of the accounts that
// wait the one that used the least seat time lately comes first. For an account that used
// much less than that of a call, the call is stopped after a second and starts again later,
// so that nobody who sends few heavy calls waits long, whatever others send. An account may
// let only so many calls wait, and all of them together only so many.
package lane

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/background"
	"github.com/nodegate/nodegate/internal/fairshare"
	"github.com/nodegate/nodegate/internal/tokenbucket"
)

// LightLimit is how long a call may run among the others. One that takes longer
// is stopped and started again in the heavy lane.
const LightLimit = 20 * time.Millisecond

// An account shares its light time between its calls, so that many at once don't take
// every core for as long as they are many: with n of them running, a call gets the nth part
// of LightLimit, at least shortLimit. An account that has calls in the heavy lane, or had one
// a moment ago, has shown what it sends, and gets briefLimit, which most calls don't need.
const (
	shortLimit = 5 * time.Millisecond
	briefLimit = 2 * time.Millisecond
	moment     = 5 * time.Second
)

// lightAtOnce is how many calls of an account run among the others at once, and briefAtOnce
// how many of one that gets briefLimit. Short calls are over before there are as many.
const (
	lightAtOnce = 8
	briefAtOnce = 2
)

// An account may take only so much of the machine's time for calls that turn out to be long,
// and so much for calls that use much gas and still end in time. One that has spent it begins
// its calls in the heavy lane: else calls that are refused there for their number would still
// take every core, a moment each, and so would many that take a millisecond.
func lightShare() tokenbucket.Rate {
	cores := float64(background.Cores())
	return tokenbucket.Rate{PerSecond: 0.01 * cores, Burst: 0.025 * cores}
}

// stopTime is what a call that is stopped costs the others, whatever its limit was: where all
// cores are busy, the timer that stops it waits for the scheduler's next turn.
const stopTime = 10 * time.Millisecond

// LightWork is how much gas a call may use among the others, of what can be seen while it
// runs: precompiled contracts, hashes and call frames. The message keeps its own gas, so
// that GAS and all results stay the same. Jumps and plain instructions are bounded by time
// alone: counting them takes a tracer, which slows every call down.
const LightWork = 2_000_000

// DearGas is how much gas a call may use among the others without its time being counted.
// Most calls use far less. It is gas that decides, because the time of a call also grows
// when the machine is busy.
const DearGas = 500_000

// LightResult is how many bytes a call may return among the others. Encoding, copying and
// sending more takes longer than most calls run.
const LightResult = 512 << 10

// How many calls may wait for a heavy seat, in all and of one account.
const (
	maxWaiting        = 512
	maxWaitingAccount = 64
)

// ErrAborted is what work returns when it was stopped at its limit.
var ErrAborted = errors.New("execution aborted")

// Lanes hand out the seats. They are safe for concurrent use. Calls without a grant count
// as one account.
type Lanes struct {
	seats  *fairshare.Pool
	run    func(work func()) // on a thread of low priority
	wasted tokenbucket.Set[string]
	dear   tokenbucket.Set[string]
	share  tokenbucket.Rate // of each

	mu    sync.Mutex
	light map[string]int       // calls that run among the others, by account
	heavy map[string]time.Time // when an account's last heavy call ended
	swept time.Time            // when heavy was last cleared of accounts long gone
}

// Seats is how many seats the lane of this machine has: one core is left for the others.
func Seats() int { return max(1, background.Cores()-1) }

// New creates a heavy lane of so many seats, of which one account may have so many.
func New(seats, perAccount int) *Lanes {
	pool := fairshare.New(max(1, seats), max(1, perAccount)).LimitWaiting(maxWaiting, maxWaitingAccount).ByTime()
	return &Lanes{seats: pool, run: background.Run, share: lightShare(), light: map[string]int{}, heavy: map[string]time.Time{}}
}

// Running is how many calls have a heavy seat, and Waiting how many wait for one.
func (l *Lanes) Running() int { return l.seats.Used() }

// Waiting is Running's counterpart.
func (l *Lanes) Waiting() int { return l.seats.Waiting() }

// Run executes work among the others first and, when that is too short, like RunSliced.
func (l *Lanes) Run(ctx context.Context, timeout time.Duration, work func(context.Context, time.Duration) error) error {
	start := time.Now()
	if err := l.runLight(ctx, work); !errors.Is(err, ErrAborted) {
		return err
	}
	return l.sliced(ctx, start, timeout, work)
}

// runLight executes work among the others, for its account's share of the light time.
func (l *Lanes) runLight(ctx context.Context, work func(context.Context, time.Duration) error) error {
	id := nodegate.GrantFrom(ctx).AccountID
	limit, n := l.beginLight(id)
	defer l.endLight(id) // also when work panics
	if n > lightAtOnce || limit == briefLimit && (n > briefAtOnce || l.spent(id)) {
		return ErrAborted
	}
	err := work(ctx, limit)
	if errors.Is(err, ErrAborted) {
		l.wasted.Spend(id, max(limit, stopTime).Seconds(), l.share)
	}
	return err
}

// spent tells whether an account has taken its time among the others.
func (l *Lanes) spent(id string) bool {
	return l.wasted.Spend(id, 0, l.share) > 0 || l.dear.Spend(id, 0, l.share) > 0
}

// Took counts the time that a call took among the others, where it used much gas.
func (l *Lanes) Took(ctx context.Context, gas uint64, took time.Duration) {
	if gas <= DearGas {
		return
	}
	id := nodegate.GrantFrom(ctx).AccountID
	if l.dear.Spend(id, took.Seconds(), l.share) > 0 {
		l.mark(id)
	}
}

// Light is an attempt to run work among the others.
type Light struct {
	Limit time.Duration
	Brief bool   // the account sends heavy calls
	End   func() // to be called when the work has ended
}

// Light is for whoever runs light work by itself.
func (l *Lanes) Light(ctx context.Context) Light {
	id := nodegate.GrantFrom(ctx).AccountID
	limit, _ := l.beginLight(id)
	return Light{Limit: limit, Brief: limit == briefLimit, End: func() { l.endLight(id) }}
}

// beginLight counts a call among the others, and returns for how long it may run and how
// many of its account there are.
func (l *Lanes) beginLight(id string) (limit time.Duration, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n = l.light[id] + 1
	l.light[id] = n
	if ended, ok := l.heavy[id]; ok && time.Since(ended) < moment || l.seats.Has(id) {
		return briefLimit, n
	}
	return max(LightLimit/time.Duration(n), shortLimit), n
}

func (l *Lanes) endLight(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.light[id]--; l.light[id] == 0 {
		delete(l.light, id)
	}
}

// RunSliced executes work in the heavy lane. It may be stopped for accounts that used much
// less time, and then starts again: work must not change anything. The whole call ends after
// timeout; see Call.
func (l *Lanes) RunSliced(ctx context.Context, timeout time.Duration, work func(context.Context, time.Duration) error) error {
	return l.sliced(ctx, time.Now(), timeout, work)
}

func (l *Lanes) sliced(ctx context.Context, start time.Time, timeout time.Duration, work func(context.Context, time.Duration) error) error {
	c := l.Call(ctx, start, timeout)
	for {
		seat, err := c.Enter(ctx, true)
		if err != nil {
			return err
		}
		if err = seat.run(work); !seat.Lost(err) {
			return err
		}
	}
}

// RunHeavy is RunSliced for work that is short or must not be done twice: nothing stops it
// within its time.
func (l *Lanes) RunHeavy(ctx context.Context, timeout time.Duration, work func(context.Context, time.Duration) error) error {
	seat, err := l.Call(ctx, time.Now(), timeout).Enter(ctx, false)
	if err != nil {
		return err
	}
	return seat.run(work)
}

// Enter waits for a seat as long as ctx allows. Leave gives it back. Its errors are those of
// Call's.
func (l *Lanes) Enter(ctx context.Context) (leave func(), err error) {
	seat, err := l.Call(ctx, time.Now(), longestWait).Enter(ctx, false)
	if err != nil {
		return nil, err
	}
	return func() { seat.Leave(); seat.End() }, nil
}

// longestWait is that of Enter.
const longestWait = time.Hour

// mark notes that an account has sent heavy calls just now.
func (l *Lanes) mark(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.heavy[id] = now
	if now.Sub(l.swept) < moment {
		return
	}
	l.swept = now
	for id, ended := range l.heavy {
		if now.Sub(ended) >= moment {
			delete(l.heavy, id)
		}
	}
}
