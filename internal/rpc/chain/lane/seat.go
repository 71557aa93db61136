package lane

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/fairshare"
)

// lookEvery is how often a seat looks for accounts that used much less.
const lookEvery = 50 * time.Millisecond

// What calls that get no seat are told, and a call that was stopped too often.
const (
	waitingWords = "too many heavy calls of this account are waiting: send fewer at once"
	shareWords   = "heavy calls of this account have used its share of the server: send fewer at once"
	stoppedWords = "request timed out: it was stopped for accounts that had used less time, and had no time to start again"
)

// Call is one call in the heavy lane. It may have several seats, one after the other. It
// belongs to one goroutine.
type Call struct {
	lanes    *Lanes
	account  string
	deadline time.Time
	stopped  bool // it had a seat and was stopped
}

// Call returns a call that began at start. It has so much time, in which it waits for a seat
// too. Waiting for other accounts before its first seat takes nothing of it.
func (l *Lanes) Call(ctx context.Context, start time.Time, timeout time.Duration) *Call {
	return &Call{lanes: l, account: nodegate.GrantFrom(ctx).AccountID, deadline: start.Add(timeout)}
}

// Seat is one that a call has until Leave.
type Seat struct {
	Context  context.Context // ends when the call must, or with End
	Deadline time.Time

	call   *Call
	cancel context.CancelFunc
	begun  time.Time

	mu    sync.Mutex
	left  bool
	taken bool // another account needs it
	timer *time.Timer
}

// Enter waits for a seat. One that yields may be taken back for an account that used much
// less: then its context ends, and Lost tells it from the end of the call.
//
// Returns AccountBusy when too many calls of the account wait, or it used its share and none
// was free in time. Returns Busy when too many of all accounts wait, or none was free in time.
// Returns Timeout for a call that was stopped before, and ErrAborted when ctx ends first.
func (c *Call) Enter(ctx context.Context, yields bool) (*Seat, error) {
	if !c.stopped && !time.Now().Before(c.deadline) {
		return nil, ErrAborted // its time went by before
	}
	wait, cancel := context.WithDeadline(ctx, c.deadline)
	blocked, err := c.lanes.seats.Wait(wait, c.account, c.stopped)
	cancel()
	if err != nil {
		return nil, c.refusal(ctx, err)
	}
	if !c.stopped {
		c.deadline = c.deadline.Add(blocked)
	}
	s := &Seat{Deadline: c.deadline, call: c, begun: time.Now()}
	s.Context, s.cancel = context.WithDeadline(ctx, c.deadline)
	if yields {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.timer = time.AfterFunc(lookEvery, s.look)
	}
	return s, nil
}

// refusal words why there is no seat.
func (c *Call) refusal(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ErrAborted
	case c.stopped:
		return &nodegate.Error{Op: "lane.enter", Code: nodegate.Timeout, Msg: stoppedWords, Err: err}
	case errors.Is(err, fairshare.ErrOwnerWaits):
		return busy(nodegate.AccountBusy, waitingWords)
	case !errors.Is(err, fairshare.ErrAllWait) && c.lanes.seats.OverShare(c.account):
		return busy(nodegate.AccountBusy, shareWords)
	}
	return busy(nodegate.Busy, "server busy")
}

func busy(code nodegate.Code, msg string) error {
	return &nodegate.Error{Op: "lane.enter", Code: code, Msg: msg, RetryAfter: time.Second}
}

// look takes the seat back if an account waits that used much less.
func (s *Seat) look() {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.left:
	case s.call.lanes.seats.Displace(s.call.account, time.Since(s.begun)):
		s.taken = true
		s.cancel()
	default:
		s.timer.Reset(lookEvery)
	}
}

// Leave gives the seat back. It comes when nothing runs any more.
func (s *Seat) Leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = true
	if s.timer != nil {
		s.timer.Stop()
	}
	if s.taken {
		s.call.lanes.seats.Yield(s.call.account)
	} else {
		s.call.lanes.seats.Release(s.call.account)
	}
	s.call.lanes.mark(s.call.account)
}

// End ends the seat's context. It comes when the result is known.
func (s *Seat) End() { s.cancel() }

// Lost reports whether a run ended with this error because the seat was taken back. Its call
// starts again, as a run that was stopped has no result.
func (s *Seat) Lost(err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	lost := s.taken && (errors.Is(err, ErrAborted) || errors.Is(err, nodegate.Timeout))
	s.call.stopped = s.call.stopped || lost
	return lost
}

// run does work in the seat.
func (s *Seat) run(work func(context.Context, time.Duration) error) (err error) {
	defer s.End()
	defer s.Leave()
	s.call.lanes.run(func() { err = work(s.Context, time.Until(s.Deadline)) })
	return err
}
