package budget

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodegate/nodegate"
)

// empty checks that everything was given back, and that nothing is kept of accounts
// that have nothing reserved.
func empty(t *testing.T, b *Budget) {
	t.Helper()
	if u := b.Usage(); u.Reserved != 0 || u.Accounts != 0 {
		t.Errorf("left over: %+v", u)
	}
}

func TestBounds(t *testing.T) {
	b := New(Config{Process: 100, Account: 60})
	a, c, nobody := b.Hold("a"), b.Hold("c"), b.Hold("")
	second := b.Hold("a")
	for i, step := range []struct {
		hold *Hold
		n    int64
		want error
	}{
		{&a, 40, nil},
		{&second, 21, nodegate.AccountBusy}, // another request of the same account
		{&second, 20, nil},
		{&c, 30, nil},
		{&c, 11, nodegate.Busy}, // within its share, but the process is full
		{&nobody, 11, nodegate.Busy},
		{&nobody, 10, nil},
		{&a, 0, nil},
	} {
		if err := step.hold.Grow(step.n); !errors.Is(err, step.want) {
			t.Errorf("step %d: %v, want %v", i, err, step.want)
		}
	}
	if u := b.Usage(); u.Reserved != 100 || u.Highest != 100 || u.Refused != (Refusals{Account: 1, Process: 2}) {
		t.Errorf("%+v", u)
	}
	a.Shrink(1000) // no more than it has
	if u := b.Usage(); u.Reserved != 60 || a.Held() != 0 {
		t.Errorf("%+v", u)
	}
	moved := c.Move()
	c.Release()
	if u := b.Usage(); u.Reserved != 60 {
		t.Errorf("released what was moved: %+v", u)
	}
	for _, h := range []*Hold{&a, &second, moved, &nobody, moved} {
		h.Release()
	}
	empty(t, b)
}

// TestTry leaves half of the bounds to others, and counts no refusals.
func TestTry(t *testing.T) {
	b := New(Config{Process: 100, Account: 40})
	a, other := b.Hold("a"), b.Hold("other")
	if !a.Try(20) || a.Try(1) || !other.Try(20) || !other.Try(0) {
		t.Error("not half of the account's share")
	}
	third := b.Hold("third")
	if !third.Try(10) || third.Try(1) {
		t.Error("not half of the process's limit")
	}
	if err := a.Grow(20); err != nil || b.Usage().Refused != (Refusals{}) {
		t.Errorf("%v, %+v", err, b.Usage())
	}
	for _, h := range []*Hold{&a, &other, &third} {
		h.Release()
	}
	empty(t, b)
}

func TestRefusalsSayWhenToRetry(t *testing.T) {
	b := New(Config{Process: 10, Account: 5})
	for account, code := range map[string]nodegate.Code{"a": nodegate.AccountBusy, "": nodegate.Busy} {
		h := b.Hold(account)
		if e := nodegate.AsError(h.Grow(11)); e.Code != code || e.RetryAfter <= 0 || e.Msg == "" {
			t.Errorf("%q: %+v", account, e)
		}
	}
}

// TestAdmit refuses an account after a refusal while it holds half of its share, for as
// long as it was told to wait, and nobody else.
func TestAdmit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Config{Process: 100, Account: 40})
		first, next, other := b.Hold("a"), b.Hold("a"), b.Hold("other")
		for _, h := range []*Hold{&first, &other} {
			if err := errors.Join(h.Admit(), h.Grow(30), h.Admit()); err != nil {
				t.Fatal(err)
			}
		}
		if err := next.Grow(20); !errors.Is(err, nodegate.AccountBusy) {
			t.Fatal(err)
		}
		if err := next.Admit(); !errors.Is(err, nodegate.AccountBusy) {
			t.Errorf("a moment later: %v", err)
		}
		if err := other.Admit(); err != nil {
			t.Errorf("another account: %v", err)
		}
		first.Shrink(15)
		if err := next.Admit(); err != nil {
			t.Errorf("with little reserved: %v", err)
		}
		_ = first.Grow(15)
		time.Sleep(retryAfter + 1)
		if err := next.Admit(); err != nil {
			t.Errorf("after the time it was told: %v", err)
		}
		first.Release()
		other.Release()
		empty(t, b)
	})
}

func TestWithoutBudget(t *testing.T) {
	var none *Budget
	h := none.Hold("a")
	if err := h.Grow(1 << 60); err != nil {
		t.Error(err)
	}
	h.Shrink(1)
	h.Release()
	if err := h.Admit(); err != nil {
		t.Error(err)
	}
}

// TestPressure calls once when much is reserved and once when little is again.
func TestPressure(t *testing.T) {
	var calls []bool
	b := New(Config{Process: 80, Pressure: func(high bool) { calls = append(calls, high) }})
	h := b.Hold("a")
	for _, n := range []int64{20, 1, 30} {
		if err := h.Grow(n); err != nil {
			t.Fatal(err)
		}
	}
	h.Shrink(40) // 11 is between little and much
	h.Release()
	if len(calls) != 2 || !calls[0] || calls[1] {
		t.Errorf("called with %v", calls)
	}
}

// TestConcurrentHolds reserves and gives back at random from many goroutines, never
// passes the bounds and ends with nothing.
func TestConcurrentHolds(t *testing.T) {
	const limit, share = 1000, 300
	b := New(Config{Process: limit, Account: share, Pressure: func(bool) {}})
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(worker), 1))
			for range 2000 {
				h := b.Hold(string(rune('a' + random.IntN(5))))
				for range random.IntN(4) {
					if random.IntN(3) == 0 {
						h.Shrink(random.Int64N(50))
						continue
					}
					if err := h.Grow(random.Int64N(150)); err != nil && !errors.Is(err, nodegate.AccountBusy) && !errors.Is(err, nodegate.Busy) {
						t.Error(err)
					}
				}
				h.Release()
			}
		})
	}
	all.Wait()
	u := b.Usage()
	if u.Highest > limit || u.Highest == 0 || u.Refused.Account == 0 {
		t.Errorf("%+v", u)
	}
	empty(t, b)
}
