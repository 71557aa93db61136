package lane

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/test/full"
)

const callTimeout = 5 * time.Second // of the calls in these tests

// inLine makes a lane whose work stays in the goroutine that calls.
func inLine(seats, perAccount int) *Lanes {
	l := New(seats, perAccount)
	l.run = func(work func()) { work() }
	return l
}

// takes is work that needs so much time in the heavy lane.
func takes(need time.Duration) func(context.Context, time.Duration) error {
	return func(ctx context.Context, limit time.Duration) error {
		if limit <= LightLimit {
			return ErrAborted
		}
		select {
		case <-time.After(min(need, limit)):
		case <-ctx.Done():
			return ErrAborted
		}
		if need > limit {
			return ErrAborted
		}
		return nil
	}
}

// flood keeps a crowd of an account's endless calls in the lane until ctx ends.
func flood(ctx context.Context, l *Lanes, account string, calls int) {
	for range calls {
		go func() {
			for ctx.Err() == nil {
				_ = l.Run(nodegate.WithGrant(ctx, &nodegate.Grant{AccountID: account}), callTimeout, takes(time.Hour))
				time.Sleep(time.Second) // refused calls come again
			}
		}()
	}
}

// TestGreedyAccounts: however many accounts keep the lane full of endless calls, the calls of
// one that sends few wait for about a slice, and none of them fails.
func TestGreedyAccounts(t *testing.T) {
	full.Slow(t)
	for _, seats := range []int{1, 3} {
		for _, n := range []int{1, 2, 8, 40} {
			t.Run(fmt.Sprintf("%d accounts, %d seats", n, seats), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := inLine(seats, 2)
					ctx, cancel := context.WithCancel(t.Context())
					for i := range n {
						flood(ctx, l, fmt.Sprint("greedy", i), maxWaitingAccount/4) // 40 of them fill all places
					}
					time.Sleep(time.Minute)
					var longest time.Duration
					for range 30 {
						begun := time.Now()
						if err := l.Run(as("modest"), callTimeout, takes(50*time.Millisecond)); err != nil {
							t.Errorf("after %v: %v", time.Since(begun), err)
						}
						longest = max(longest, time.Since(begun))
						time.Sleep(10 * time.Second)
					}
					if t.Logf("the longest call took %v", longest); longest > 1500*time.Millisecond {
						t.Error("too long")
					}
					cancel()
					time.Sleep(2 * time.Second) // the flood ends
					l.empty(t)
				})
			})
		}
	}
}

// TestGreedySends: calls without an end don't hold up large transactions of an account that
// sends few, which are never stopped.
func TestGreedySends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := inLine(1, 2)
		ctx, cancel := context.WithCancel(t.Context())
		for i := range 8 {
			flood(ctx, l, fmt.Sprint("greedy", i), maxWaitingAccount)
		}
		time.Sleep(time.Minute)
		for range 5 {
			begun, runs := time.Now(), 0
			err := l.RunHeavy(as("modest"), 30*time.Second, func(ctx context.Context, limit time.Duration) error {
				runs++
				return takes(100*time.Millisecond)(ctx, limit)
			})
			if err != nil || runs != 1 || time.Since(begun) > 1500*time.Millisecond {
				t.Errorf("%v after %v and %d runs", err, time.Since(begun), runs)
			}
		}
		cancel()
		time.Sleep(2 * time.Second) // the flood ends
		l.empty(t)
	})
}

// TestStoppedCallStartsAgain: a call that is stopped for another account's starts again, and
// its result is that of the run that nobody stopped.
func TestStoppedCallStartsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := inLine(1, 1)
		var runs atomic.Int32
		done := make(chan error, 1)
		go func() {
			done <- l.RunSliced(as("long"), callTimeout, func(ctx context.Context, limit time.Duration) error {
				runs.Add(1)
				return takes(3*time.Second)(ctx, limit)
			})
		}()
		time.Sleep(500 * time.Millisecond)
		begun := time.Now()
		if err := l.RunSliced(as("short"), callTimeout, takes(10*time.Millisecond)); err != nil || time.Since(begun) > time.Second {
			t.Errorf("the short call: %v after %v", err, time.Since(begun))
		}
		if err := <-done; err != nil || runs.Load() != 2 {
			t.Errorf("the long call: %v after %d runs", err, runs.Load())
		}
		l.empty(t)
	})
}

// TestStoppedTooOften: a call that is stopped and finds no time for another run says so.
func TestStoppedTooOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := inLine(1, 1)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		begun := time.Now()
		go func() { done <- l.RunSliced(as("long"), callTimeout, takes(4*time.Second)) }()
		for i := range 20 {
			go func() {
				time.Sleep(time.Duration(i+1) * 100 * time.Millisecond)
				_ = l.RunSliced(nodegate.WithGrant(ctx, &nodegate.Grant{AccountID: fmt.Sprint(i)}), callTimeout, takes(time.Second))
			}()
		}
		err := <-done
		if e := nodegate.AsError(err); e.Code != nodegate.Timeout || e.Msg != stoppedWords || time.Since(begun) > callTimeout {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		cancel()
		time.Sleep(time.Minute)
		l.empty(t)
	})
}

// TestNoSeatInTime: a call that gets no seat within its time is refused, and the refusal says
// whether its account has used its share.
func TestNoSeatInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := inLine(1, 1)
		leave, err := l.Enter(as("greedy")) // nothing takes this seat back
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		for account, code := range map[string]nodegate.Code{"greedy": nodegate.AccountBusy, "modest": nodegate.Busy} {
			begun := time.Now()
			wantCode(t, l.RunSliced(as(account), callTimeout, takes(time.Second)), code)
			if took := time.Since(begun); took != callTimeout {
				t.Errorf("%s was refused after %v", account, took)
			}
		}
		leave()
		l.empty(t)
	})
}

// TestTimeCountsFromTheSeat: waiting for other accounts takes nothing of a call's time, waiting
// for calls of its own account does.
func TestTimeCountsFromTheSeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := inLine(1, 1)
		for account, want := range map[string]time.Duration{"mine": callTimeout - 3*time.Second, "another": callTimeout} {
			leave, err := l.Enter(as("mine"))
			if err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(3*time.Second, leave)
			var got time.Duration
			err = l.RunHeavy(as(account), callTimeout, func(_ context.Context, limit time.Duration) error { got = limit; return nil })
			if err != nil || got != want {
				t.Errorf("%s: %v, has %v, want %v", account, err, got, want)
			}
		}
		l.empty(t)
	})
}

// TestPlacesAreShared: accounts that fill all waiting places lose some to one that has none
// waiting. Nobody can lock others out.
func TestPlacesAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := inLine(1, 1)
		leave, err := l.Enter(as("0"))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var evicted atomic.Int32
		for i := range maxWaiting {
			account := nodegate.WithGrant(ctx, &nodegate.Grant{AccountID: fmt.Sprint(i / maxWaitingAccount)})
			go func() {
				if _, err := l.Enter(account); errors.Is(err, nodegate.AccountBusy) {
					evicted.Add(1)
				}
			}()
		}
		synctest.Wait()
		for range 10 {
			go func() { _, _ = l.Enter(nodegate.WithGrant(ctx, &nodegate.Grant{AccountID: "modest"})) }()
		}
		synctest.Wait()
		if l.seats.Waiting() != maxWaiting || evicted.Load() != 10 {
			t.Errorf("%d wait, %d lost their place", l.seats.Waiting(), evicted.Load())
		}
		cancel()
		synctest.Wait()
		leave()
		l.empty(t)
	})
}
