package account

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/test/full"
)

func TestSignInRefusals(t *testing.T) {
	d := newDesk(t)
	d.person(t, "a@example.com")
	d.customer(t, "none@example.com")
	var first error
	for i, c := range []struct{ email, password string }{
		{"a@example.com", "wrong horse battery"}, {"nobody@example.com", password}, {"none@example.com", ""}, {"none@example.com", password},
		{"a@example.com", ""}, {"a@example.com", password + " "}, {"a@example.com", strings.Repeat("x", 1<<20)}, {"no address", password}, {"", ""},
	} {
		token, a, err := d.SignIn(t.Context(), Attempt{Email: c.email, Password: c.password, From: fmt.Sprint(i)})
		want(t, err, nodegate.SignInFailed, "wrong e-mail address or password")
		if first == nil {
			first = err
		}
		if token != "" || a != nil || err == nil || err.Error() != first.Error() {
			t.Errorf("%q: %q, %+v, %v", c.email, token, a, err)
		}
	}
	for _, email := range []string{"a@example.com", " A@Example.COM "} {
		token, a, err := d.SignIn(t.Context(), Attempt{Email: email, Password: password, From: email})
		if err != nil || len(token) != 64 || a.Email != "a@example.com" {
			t.Errorf("%q: %+v, %v", email, a, err)
		}
	}
}

// TestSignInTime: whether an address is known can't be told from the time.
func TestSignInTime(t *testing.T) {
	full.Slow(t)
	if testing.Short() {
		t.Skip("it hashes 42 passwords")
	}
	d := newDesk(t)
	d.person(t, "a@example.com")
	took := map[string][]time.Duration{}
	for i := range 21 {
		for _, email := range []string{"a@example.com", "nobody@example.com"} {
			start := time.Now()
			_, _, err := d.SignIn(t.Context(), Attempt{Email: email, Password: "wrong horse battery", From: fmt.Sprint(i)})
			took[email] = append(took[email], time.Since(start))
			want(t, err, nodegate.SignInFailed, "")
		}
	}
	// The fastest tell most: other programs can only make an attempt slower.
	known, unknown := slices.Min(took["a@example.com"]), slices.Min(took["nobody@example.com"])
	t.Logf("fastest: known %v, unknown %v, ratio %.3f", known, unknown, float64(known)/float64(unknown))
	if known > 2*unknown || unknown > 2*known {
		t.Errorf("fastest: known %v, unknown %v", known, unknown)
	}
}

func TestTriesPerMinute(t *testing.T) {
	d := newDesk(t)
	d.person(t, "a@example.com")
	for range 5 {
		_, _, err := d.SignIn(t.Context(), Attempt{Email: "a@example.com", Password: "wrong horse battery", From: "192.0.2.1"})
		want(t, err, nodegate.SignInFailed, "")
	}
	for _, email := range []string{"a@example.com", " A@example.com"} {
		token, _, err := d.SignIn(t.Context(), Attempt{Email: email, Password: password, From: "192.0.2.1"})
		want(t, err, nodegate.RateLimited, "wait a minute")
		if token != "" || nodegate.AsError(err).RetryAfter <= 0 {
			t.Errorf("%q: a token, or no time to wait", email)
		}
	}
	d.signIn(t, "a@example.com", "192.0.2.2") // another place is not affected
	d.attempts.begin = d.attempts.begin.Add(-time.Minute)
	d.signIn(t, "a@example.com", "192.0.2.1")
}

// TestAttempts: each place has its own count for a minute, and whoever fills the counts
// of strangers has no effect on the known.
func TestAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l attempts
		one, two, owner := visitor{who: "a@example.com", place: "1"}, visitor{who: "a@example.com", place: "2"}, visitor{known: true, who: "a", place: "3"}
		for range 3 {
			for i := range 20 {
				if got := l.mayTry(one); got != (i < triesOfAccount) {
					t.Fatalf("try %d: %v", i, got)
				}
			}
			time.Sleep(time.Minute - 1)
			if l.mayTry(one) || !l.mayTry(two) {
				t.Error("wrong at the end of the minute")
			}
			time.Sleep(time.Nanosecond)
		}
		for i := range 100_000 {
			l.mayTry(visitor{who: "a@example.com", place: fmt.Sprint(i)})
		}
		if l.mayTry(visitor{who: "a@example.com", place: "one more"}) {
			t.Error("strangers have no bound")
		}
		for i := range 20 {
			if got := l.mayTry(owner); got != (i < triesOfAccount) {
				t.Fatalf("try %d of the known: %v", i, got)
			}
		}
	})
}

// TestCounts: 5,000 names that fill their budget leave others theirs.
func TestCounts(t *testing.T) {
	var c counts
	for i := range 5000 {
		for range triesOfAccount {
			if !c.allow(fmt.Sprint("name ", i), 2*triesOfAccount) {
				t.Fatalf("name %d has used up twice its budget", i)
			}
		}
	}
	refused := 0
	for i := range 1000 {
		if !c.allow(fmt.Sprint("other ", i), triesOfAccount) {
			refused++
		}
	}
	if refused > 10 {
		t.Errorf("%d of 1,000 others are refused", refused)
	}
	for range 300 {
		c.allow("name 1", triesOfAccount)
	}
	if c.allow("name 1", 254) {
		t.Error("a full count starts over")
	}
}

// TestAddressTries: whoever tries many accounts from one address has few passwords
// hashed, and others are not held up.
func TestAddressTries(t *testing.T) {
	full.Slow(t)
	d := newDesk(t)
	d.person(t, "a@example.com")
	counts := map[nodegate.Code]int{}
	for i := range 500 {
		_, _, err := d.SignIn(t.Context(), Attempt{Email: fmt.Sprintf("guess%d@example.com", i), Password: "wrong horse battery", From: "192.0.2.1"})
		counts[nodegate.AsError(err).Code]++
	}
	if counts[nodegate.SignInFailed] != triesOfAddress || counts[nodegate.RateLimited] != 500-triesOfAddress {
		t.Errorf("500 tries: %v", counts)
	}
	d.signIn(t, "a@example.com", "192.0.2.2")
}

// TestSignUps: one address makes a bounded number of accounts, each with a password.
func TestSignUps(t *testing.T) {
	full.Slow(t)
	d := newDesk(t)
	want(t, d.SignUp(t.Context(), "none@example.com", "", "192.0.2.1"), nodegate.InvalidInput, "choose a password")
	made := 0
	for i := range signUpsOfPlace + 5 {
		if err := d.SignUp(t.Context(), fmt.Sprintf("new%d@example.com", i), password, "192.0.2.1"); err == nil {
			made++
		} else {
			want(t, err, nodegate.RateLimited, "wait a minute")
		}
	}
	if made != signUpsOfPlace {
		t.Errorf("%d accounts were made", made)
	}
}

// TestHashesAtOnce: one runs, 32 strangers wait, the rest is sent away at once; the known
// have a queue of their own, and their turn comes first.
func TestHashesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHashing()
		release := make(chan struct{})
		var mu sync.Mutex
		var running, most, refused int
		var done []string
		begin := func(v visitor) {
			err := h.do(t.Context(), v, func() {
				mu.Lock()
				running++
				most = max(most, running)
				mu.Unlock()
				<-release
				mu.Lock()
				running--
				done = append(done, v.who)
				mu.Unlock()
			})
			if err != nil {
				want(t, err, nodegate.RateLimited, "try again")
				mu.Lock()
				refused++
				mu.Unlock()
			}
		}
		const strangers = 100
		for i := range strangers {
			go begin(visitor{who: fmt.Sprint("stranger ", i)})
		}
		synctest.Wait()
		if running != 1 || refused != strangers-1-strangersWaiting {
			t.Errorf("%d run, %d are refused", running, refused)
		}
		for range 2 {
			go begin(visitor{known: true, who: "owner"})
		}
		synctest.Wait()
		if refused != strangers-1-strangersWaiting {
			t.Error("the known are refused because of strangers")
		}
		close(release)
		synctest.Wait()
		if len(done) != 3+strangersWaiting || most != 1 || slices.Index(done, "owner") > 2 {
			t.Errorf("%d done, at most %d at once, in the order %v", len(done), most, done)
		}
		if err := h.do(t.Context(), visitor{}, func() {}); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

// TestQueueShare: nobody holds more than a few places, and strangers are not kept out by
// a stream of the known.
func TestQueueShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHashing()
		release := make(chan struct{})
		go func() { _ = h.do(t.Context(), visitor{}, func() { <-release }) }()
		synctest.Wait()
		var order []string // hashes run one at a time
		for range 20 {
			for _, v := range []visitor{{who: "one"}, {known: true, who: "two"}} {
				go func() { _ = h.do(t.Context(), v, func() { order = append(order, v.who) }) }()
			}
		}
		synctest.Wait()
		if len(h.strangers.waiting) != strangersEach || len(h.known.waiting) != knownEach {
			t.Errorf("%d and %d wait", len(h.strangers.waiting), len(h.known.waiting))
		}
		close(release)
		synctest.Wait()
		if len(order) != strangersEach+knownEach || slices.Index(order, "one") >= strangerTurn {
			t.Errorf("the order is %v", order)
		}
	})
}

// TestWaitingIsGivenUp with the caller's own time, and leaves room for others.
func TestWaitingIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHashing()
		release := make(chan struct{})
		go func() { _ = h.do(t.Context(), visitor{}, func() { <-release }) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := h.do(ctx, visitor{}, func() { t.Error("it runs") })
		want(t, err, nodegate.Timeout, "timed out")
		if !errors.Is(err, context.DeadlineExceeded) || len(h.strangers.waiting) != 0 {
			t.Errorf("got %v; %d hold a place", err, len(h.strangers.waiting))
		}
		close(release)
		synctest.Wait()
		if h.running {
			t.Error("nothing runs, and the next would wait")
		}
	})
}

// TestSignInFlood: many at once take little memory, and all get an answer.
func TestSignInFlood(t *testing.T) {
	full.Slow(t)
	if testing.Short() {
		t.Skip("it hashes tens of passwords")
	}
	d := newDesk(t)
	d.person(t, "a@example.com")
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var all sync.WaitGroup
	var failed, limited atomic.Int64
	start := time.Now()
	for i := range 200 {
		all.Go(func() {
			_, _, err := d.SignIn(context.Background(), Attempt{Email: fmt.Sprintf("u%d@example.com", i), Password: password, From: "192.0.2.1"})
			switch {
			case errors.Is(err, nodegate.SignInFailed):
				failed.Add(1)
			case errors.Is(err, nodegate.RateLimited):
				limited.Add(1)
			default:
				t.Errorf("got %v", err)
			}
		})
	}
	all.Wait()
	runtime.ReadMemStats(&after)
	grown := int64(after.HeapSys-before.HeapSys) >> 20
	t.Logf("200 sign-ins at once: %d hashed, %d sent away, in %v, the heap grew by %d MiB", failed.Load(), limited.Load(), time.Since(start), grown)
	if failed.Load() < 32 || limited.Load() == 0 || grown > 100 {
		t.Errorf("%d hashed, %d sent away, the heap grew by %d MiB", failed.Load(), limited.Load(), grown)
	}
}
