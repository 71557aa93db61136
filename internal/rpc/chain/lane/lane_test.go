package lane

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodegate/nodegate"
)

// as is a context with the grant of an account, each time with another key of it.
func as(account string) context.Context {
	return nodegate.WithGrant(context.Background(), &nodegate.Grant{AccountID: account, KeyID: rand.Text()})
}

func TestShortWorkRunsOnce(t *testing.T) {
	l := New(1, 1)
	leave, err := l.Enter(as("other")) // the only heavy seat is taken
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	var limits []time.Duration
	want := errors.New("its own error")
	err = l.Run(as("a"), time.Minute, func(_ context.Context, limit time.Duration) error {
		limits = append(limits, limit)
		return want
	})
	if !errors.Is(err, want) || len(limits) != 1 || limits[0] != LightLimit {
		t.Errorf("%v after runs of %v", err, limits)
	}
}

func TestLongWorkStartsAgain(t *testing.T) {
	l := New(1, 1)
	var limits []time.Duration
	err := l.Run(as("a"), time.Minute, func(_ context.Context, limit time.Duration) error {
		limits = append(limits, limit)
		if limit == LightLimit {
			return ErrAborted
		}
		return nil
	})
	if err != nil || len(limits) != 2 || limits[1] > time.Minute || limits[1] < time.Minute/2 {
		t.Errorf("%v after runs of %v", err, limits)
	}
	l.empty(t)
}

// empty sees that nothing is kept of the calls that are over.
func (l *Lanes) empty(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.light) != 0 || !l.seats.Idle() {
		t.Errorf("left over: %d light, %d seats used, %d waiting", len(l.light), l.seats.Used(), l.seats.Waiting())
	}
}

// The whole call ends in time, also while it waits for a seat.
func TestWaitingEnds(t *testing.T) {
	l := New(1, 1)
	leave, err := l.Enter(as("a"))
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	err = l.Run(as("a"), 50*time.Millisecond, func(context.Context, time.Duration) error { return ErrAborted })
	wantCode(t, err, nodegate.AccountBusy)
	if time.Since(start) > 20*time.Second {
		t.Errorf("it took %v", time.Since(start))
	}
	leave()
	l.empty(t)
}

// The keys of one account wait for each other, not before another account's.
func TestAccountsAreApart(t *testing.T) {
	l := New(2, 1)
	leave, err := l.Enter(as("greedy"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(as("greedy"), 20*time.Millisecond)
	defer cancel()
	if _, err := l.Enter(ctx); !errors.Is(err, ErrAborted) {
		t.Errorf("a second seat for one account: %v", err)
	}
	second, err := l.Enter(as("modest"))
	if err != nil {
		t.Fatal(err)
	}
	second()
	leave()
	l.empty(t)
}

func (l *Lanes) awaitWaiting(n int) {
	for {
		if l.seats.Waiting() == n {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// Accounts that used less seat time come first: who has one call waits for one other, not for
// a whole queue.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := inLine(1, 2)
		var order []string
		for _, account := range []string{"greedy", "greedy", "greedy", "modest", "third", "modest"} {
			go func() {
				_ = l.RunHeavy(as(account), time.Minute, func(context.Context, time.Duration) error {
					order = append(order, account) // there is one seat
					time.Sleep(time.Second)
					return nil
				})
			}()
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if want := []string{"greedy", "modest", "third", "greedy", "modest", "greedy"}; !slices.Equal(order, want) {
			t.Errorf("seats went to %v, want %v", order, want)
		}
		l.empty(t)
	})
}

// wantCode sees that a call is refused in a way that says when to try again.
func wantCode(t *testing.T, err error, code nodegate.Code) {
	t.Helper()
	var e *nodegate.Error
	if !errors.As(err, &e) || e.Code != code || e.RetryAfter <= 0 {
		t.Errorf("one more: %v, want %v", err, code)
	}
}

// TestTooManyWaiting: an account may let only so many calls wait, and all together only so
// many.
func TestTooManyWaiting(t *testing.T) {
	for code, c := range map[nodegate.Code]struct{ accounts, calls int }{
		nodegate.AccountBusy: {1, maxWaitingAccount}, nodegate.Busy: {maxWaiting, 1},
	} {
		l := New(1, 1)
		leave, err := l.Enter(as("0"))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		var waiting sync.WaitGroup
		for i := range c.accounts * c.calls {
			account := nodegate.WithGrant(ctx, &nodegate.Grant{AccountID: strconv.Itoa(i / c.calls)})
			waiting.Go(func() { _, _ = l.Enter(account) })
		}
		l.awaitWaiting(c.accounts * c.calls)
		_, err = l.Enter(as(strconv.Itoa(c.accounts - 1)))
		wantCode(t, err, code)
		cancel()
		waiting.Wait()
		leave()
		l.empty(t)
	}
}

// Many accounts at once leave nothing behind.
func TestManyAccounts(t *testing.T) {
	l := New(3, 2)
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			_ = l.Run(as(string(rune('a'+i%20))), time.Second, func(_ context.Context, limit time.Duration) error {
				if limit == LightLimit {
					return ErrAborted
				}
				return nil
			})
		})
	}
	all.Wait()
	l.empty(t)
	if used := l.seats.Used(); used != 0 {
		t.Errorf("%d seats are still taken", used)
	}
}

// TestLightTimeIsShared: the more calls an account runs among the others, the shorter each
// is; one with calls in the heavy lane gets the shortest. Other accounts notice nothing.
func TestLightTimeIsShared(t *testing.T) {
	l := New(1, 1)
	limitOf := func(account string) (limit time.Duration) {
		_ = l.Run(as(account), time.Second, func(_ context.Context, d time.Duration) error { limit = d; return nil })
		return limit
	}
	running, end := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			_ = l.Run(as("a"), time.Second, func(context.Context, time.Duration) error {
				running <- struct{}{}
				<-end
				return nil
			})
		})
	}
	for range 3 {
		<-running
	}
	if got := limitOf("a"); got != LightLimit/4 {
		t.Errorf("the fourth of four calls gets %v", got)
	}
	if got := limitOf("b"); got != LightLimit {
		t.Errorf("another account gets %v", got)
	}
	close(end)
	all.Wait()
	leave, err := l.Enter(as("a"))
	if err != nil {
		t.Fatal(err)
	}
	if got := limitOf("a"); got != briefLimit {
		t.Errorf("with a call in the heavy lane the account gets %v", got)
	}
	leave()
	if got := limitOf("a"); got != briefLimit {
		t.Errorf("right after its heavy call the account gets %v", got)
	}
	l.empty(t)
}

// TestHeavyIsForgotten: a while after its last heavy call an account has the whole light
// time again, and nothing is kept of it once others come.
func TestHeavyIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(1, 1)
		heavy := func(account string) {
			leave, err := l.Enter(as(account))
			if err != nil {
				t.Fatal(err)
			}
			leave()
		}
		heavy("a")
		light := l.Light(as("a"))
		if light.End(); light.Limit != briefLimit || !light.Brief {
			t.Errorf("right after it the account gets %v", light.Limit)
		}
		time.Sleep(moment)
		light = l.Light(as("a"))
		if light.End(); light.Limit != LightLimit || light.Brief {
			t.Errorf("a while later the account gets %v", light.Limit)
		}
		heavy("b")
		if _, ok := l.heavy["a"]; ok || len(l.heavy) != 1 {
			t.Errorf("kept: %v", l.heavy)
		}
	})
}

// TestWastedTime: an account whose calls among the others keep turning out to be long begins
// them in the heavy lane, until it has waited. Calls that end in time cost it nothing, and
// other accounts are not held to it.
func TestWastedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(1, 1)
		attempts := func(account string, n int, short bool) (light int) {
			for range n {
				err := l.Run(as(account), time.Minute, func(_ context.Context, limit time.Duration) error {
					if limit > LightLimit {
						return nil // in the heavy lane
					}
					if light++; short {
						return nil
					}
					return ErrAborted
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			return light
		}
		want := int(l.share.Burst / stopTime.Seconds())
		if got := attempts("a", 1000, false); got < want-1 || got > want+1 {
			t.Errorf("%d of 1,000 long calls had time among the others, want %d", got, want)
		}
		if got := attempts("a", 10, true); got != 0 {
			t.Errorf("right after them it has time among the others for %d of 10", got)
		}
		if got := attempts("b", 10, true); got != 10 {
			t.Errorf("another account has it for %d of 10", got)
		}
		time.Sleep(moment)
		if got := attempts("a", 1000, true); got != 1000 {
			t.Errorf("a while later it has it for %d of 1,000 short calls", got)
		}
		l.empty(t)
	})
}

// TestDearCalls: the time of calls that use much gas is counted although each of them ends in
// time. An account that takes too much of it begins its calls in the heavy lane.
func TestDearCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(1, 1)
		light := func(account string, n int, gas uint64) (light int) {
			for range n {
				err := l.Run(as(account), time.Minute, func(ctx context.Context, limit time.Duration) error {
					if limit <= LightLimit {
						light++
						l.Took(ctx, gas, time.Millisecond)
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			return light
		}
		want := int(l.share.Burst * 1000)
		if got := light("a", 10*want, DearGas+1); got < want-1 || got > want+1 {
			t.Errorf("%d dear calls of 1 ms ran among the others, want %d", got, want)
		}
		if got := light("b", 1000, DearGas); got != 1000 {
			t.Errorf("another account's cheap calls: %d of 1,000", got)
		}
		time.Sleep(moment)
		if got := light("a", want/2, DearGas+1); got != want/2 {
			t.Errorf("a while later %d of %d", got, want/2)
		}
		l.empty(t)
	})
}

// TestLightAtOnce: only so many calls of an account run among the others at the same time.
func TestLightAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(1, 1)
		start := func(account string, n int) (light func() int) {
			var mu sync.Mutex
			var count int
			for range n {
				go func() {
					_ = l.Run(as(account), time.Minute, func(_ context.Context, limit time.Duration) error {
						if limit <= LightLimit {
							mu.Lock()
							count++
							mu.Unlock()
							time.Sleep(time.Millisecond)
						}
						return nil
					})
				}()
			}
			synctest.Wait()
			return func() int {
				mu.Lock()
				defer mu.Unlock()
				return count
			}
		}
		a, b := start("a", 50), start("b", lightAtOnce)
		if got := a(); got != lightAtOnce {
			t.Errorf("%d calls of an account run among the others, want %d", got, lightAtOnce)
		}
		if got := b(); got != lightAtOnce {
			t.Errorf("%d of another account, want %d", got, lightAtOnce)
		}
		time.Sleep(time.Second)
		l.empty(t)
	})
}
