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
		token, a, err := d.SignIn(t.Context(), c.email, c.password, fmt.Sprint(i))
		want(t, err, nodegate.SignInFailed, "wrong e-mail address or password")
		if first == nil {
			first = err
		}
		if token != "" || a != nil || err == nil || err.Error() != first.Error() {
			t.Errorf("%q: %q, %+v, %v", c.email, token, a, err)
		}
	}
	for _, email := range []string{"a@example.com", " A@Example.COM "} {
		token, a, err := d.SignIn(t.Context(), email, password, email)
		if err != nil || len(token) != 64 || a.Email != "a@example.com" {
			t.Errorf("%q: %+v, %v", email, a, err)
		}
	}
}

// TestSignInTime: whether an address is known can't be told from the time.
func TestSignInTime(t *testing.T) {
	if testing.Short() {
		t.Skip("it hashes 42 passwords")
	}
	d := newDesk(t)
	d.person(t, "a@example.com")
	took := map[string][]time.Duration{}
	for i := range 21 {
		for _, email := range []string{"a@example.com", "nobody@example.com"} {
			start := time.Now()
			_, _, err := d.SignIn(t.Context(), email, "wrong horse battery", fmt.Sprint(i))
			took[email] = append(took[email], time.Since(start))
			want(t, err, nodegate.SignInFailed, "")
		}
	}
	median := func(list []time.Duration) time.Duration { slices.Sort(list); return list[len(list)/2] }
	known, unknown := median(took["a@example.com"]), median(took["nobody@example.com"])
	t.Logf("medians: known %v, unknown %v, ratio %.3f", known, unknown, float64(known)/float64(unknown))
	if known > 2*unknown || unknown > 2*known {
		t.Errorf("medians: known %v, unknown %v", known, unknown)
	}
}

func TestTriesPerMinute(t *testing.T) {
	d := newDesk(t)
	d.person(t, "a@example.com")
	for range 5 {
		_, _, err := d.SignIn(t.Context(), "a@example.com", "wrong horse battery", "192.0.2.1")
		want(t, err, nodegate.SignInFailed, "")
	}
	for _, email := range []string{"a@example.com", " A@example.com"} {
		token, _, err := d.SignIn(t.Context(), email, password, "192.0.2.1")
		want(t, err, nodegate.RateLimited, "wait a minute")
		if token != "" || nodegate.AsError(err).RetryAfter <= 0 {
			t.Errorf("%q: a token, or no time to wait", email)
		}
	}
	d.signIn(t, "a@example.com", "192.0.2.2") // another place is not affected
	d.attempts.begin = d.attempts.begin.Add(-time.Minute)
	d.signIn(t, "a@example.com", "192.0.2.1")
}

// TestAttempts: each place has its own count; so many places at once that they
// can't be told apart share one, and known ones keep theirs.
func TestAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l attempts
		for range 3 {
			for i := range 20 {
				if got := l.allow("one", triesOfAccount); got != (i < 5) {
					t.Fatalf("try %d: %v", i, got)
				}
			}
			time.Sleep(time.Minute - 1)
			if l.allow("one", triesOfAccount) || !l.allow("two", triesOfAccount) {
				t.Error("wrong at the end of the minute")
			}
			time.Sleep(time.Nanosecond)
		}
		l.allow("known", triesOfAccount)
		for i := range 2 * attemptPlaces {
			l.allow(fmt.Sprint(i), triesOfAccount)
		}
		if len(l.counts) > attemptPlaces+1 {
			t.Errorf("%d places are held", len(l.counts))
		}
		if !l.allow("known", triesOfAccount) || l.allow("one more", triesOfAccount) {
			t.Error("a known place lost its count, or a new one has its own")
		}
	})
}

// TestAddressTries: whoever tries many accounts from one address has few passwords
// hashed, and others are not held up.
func TestAddressTries(t *testing.T) {
	d := newDesk(t)
	d.person(t, "a@example.com")
	counts := map[nodegate.Code]int{}
	for i := range 500 {
		_, _, err := d.SignIn(t.Context(), fmt.Sprintf("guess%d@example.com", i), "wrong horse battery", "192.0.2.1")
		counts[nodegate.AsError(err).Code]++
	}
	if counts[nodegate.SignInFailed] != triesOfAddress || counts[nodegate.RateLimited] != 500-triesOfAddress {
		t.Errorf("500 tries: %v", counts)
	}
	d.signIn(t, "a@example.com", "192.0.2.2")
}

// TestSignUps: one address makes a bounded number of accounts, each with a password.
func TestSignUps(t *testing.T) {
	d := newDesk(t)
	_, err := d.SignUp(t.Context(), "none@example.com", "", "192.0.2.1")
	want(t, err, nodegate.InvalidInput, "choose a password")
	made := 0
	for i := range signUpsOfPlace + 5 {
		if _, err := d.SignUp(t.Context(), fmt.Sprintf("new%d@example.com", i), password, "192.0.2.1"); err == nil {
			made++
		} else {
			want(t, err, nodegate.RateLimited, "wait a minute")
		}
	}
	if made != signUpsOfPlace {
		t.Errorf("%d accounts were made", made)
	}
	if _, err := d.SignUp(t.Context(), "new0@example.com", password, "192.0.2.2"); !errors.Is(err, nodegate.Conflict) {
		t.Errorf("an address that is taken: %v", err)
	}
}

// TestHashesAtOnce: two run, 32 wait, the rest is sent away at once.
func TestHashesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHashing()
		release := make(chan struct{})
		var running, most, done, refused atomic.Int64
		work := func() {
			n := running.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			<-release
			running.Add(-1)
			done.Add(1)
		}
		const clients = 100
		for range clients {
			go func() {
				if err := h.do(t.Context(), work); err != nil {
					want(t, err, nodegate.RateLimited, "try again")
					refused.Add(1)
				}
			}()
		}
		synctest.Wait()
		if running.Load() != 2 || refused.Load() != clients-2-32 {
			t.Errorf("%d run, %d are refused", running.Load(), refused.Load())
		}
		close(release)
		synctest.Wait()
		if done.Load() != 34 || most.Load() != 2 {
			t.Errorf("%d done, at most %d at once", done.Load(), most.Load())
		}
		if err := h.do(t.Context(), func() {}); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

// TestWaitingIsGivenUp with the caller's own time, and leaves room for others.
func TestWaitingIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHashing()
		release := make(chan struct{})
		for range hashesAtOnce {
			go func() { _ = h.do(t.Context(), func() { <-release }) }()
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := h.do(ctx, func() { t.Error("it runs") })
		want(t, err, nodegate.Timeout, "timed out")
		if !errors.Is(err, context.DeadlineExceeded) || len(h.queue) != hashesAtOnce {
			t.Errorf("got %v; %d hold a place", err, len(h.queue))
		}
		close(release)
	})
}

// TestSignInFlood: many at once take little memory, and all get an answer.
func TestSignInFlood(t *testing.T) {
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
			_, _, err := d.SignIn(context.Background(), fmt.Sprintf("u%d@example.com", i), password, "192.0.2.1")
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
