package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/index"
)

// newGrant makes a grant whose policy can be replaced.
func newGrant(account, key string, p nodegate.Policy) (*nodegate.Grant, *atomic.Pointer[nodegate.Policy]) {
	policy := new(atomic.Pointer[nodegate.Policy])
	policy.Store(&p)
	g, _ := nodegate.NewGrant(account, key, policy)
	return g, policy
}

func planned(p nodegate.Plan) nodegate.Policy { return nodegate.Policy{Plan: p} }

// inTime runs a test of a rate limiter on a clock of its own, which begins at midnight UTC.
func inTime(t *testing.T, c Config, test func(t *testing.T, m *Limiter)) {
	synctest.Test(t, func(t *testing.T) {
		m := New(c)
		test(t, m)
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func admit(t *testing.T, m *Limiter, g *nodegate.Grant, cost int64, want error) *nodegate.Error {
	t.Helper()
	err := m.Admit(t.Context(), g, cost)
	if want == nil && err != nil || want != nil && !errors.Is(err, want) {
		t.Fatalf("a cost of %d: got %v, want %v", cost, err, want)
	}
	if err == nil {
		return nil
	}
	return nodegate.AsError(err)
}

// TestAccuracy: 10 a second, a bucket of 20, 16 clients, 10 seconds: 120.
func TestAccuracy(t *testing.T) {
	inTime(t, Config{}, func(t *testing.T, m *Limiter) {
		g, _ := newGrant("a", "k", planned(nodegate.Plan{CreditsPerSecond: 10, Burst: 20}))
		var passed atomic.Int64
		var clients sync.WaitGroup
		end := time.Now().Add(10 * time.Second)
		for range 16 {
			clients.Go(func() {
				for ; !time.Now().After(end); time.Sleep(time.Millisecond) {
					if m.Admit(t.Context(), g, 1) == nil {
						passed.Add(1)
					}
				}
			})
		}
		clients.Wait()
		if n := passed.Load(); n != 120 {
			t.Errorf("%d admitted, want 120", n)
		}
	})
}

func TestRefusals(t *testing.T) {
	inTime(t, Config{}, func(t *testing.T, m *Limiter) {
		g, _ := newGrant("a", "k", planned(nodegate.Plan{CreditsPerSecond: 500, Burst: 10_000, CreditsPerDay: 12_000}))
		e := admit(t, m, g, 10_001, nodegate.InvalidRequest)
		if want := "invalid request: it costs 10001 credits and the limit never allows more than 10000 at once"; e.Msg != want {
			t.Errorf("got %q, want %q", e.Msg, want)
		}
		admit(t, m, g, 10_000, nil)
		e = admit(t, m, g, 1001, nodegate.RateLimited)
		if want := `{"rate":{"allowed_credits_per_second":500,"backoff_seconds":3}}`; string(e.Data) != want || e.Msg != "rate limit exceeded" || e.RetryAfter != 3*time.Second {
			t.Errorf("got %q, %s, %v", e.Msg, e.Data, e.RetryAfter)
		}
		time.Sleep(e.RetryAfter)
		admit(t, m, g, 1001, nil)
		e = admit(t, m, g, 1000, nodegate.CreditsSpent)
		if want := `{"limit":12000,"resets_at":"2000-01-02T00:00:00Z"}`; string(e.Data) != want || e.Msg != "daily credit limit reached" || e.RetryAfter != 0 {
			t.Errorf("got %q, %s, %v", e.Msg, e.Data, e.RetryAfter)
		}
		if n := m.SpentToday("a"); n != 11_001 {
			t.Errorf("%d spent, want 11001", n)
		}
		time.Sleep(24 * time.Hour)
		if n := m.SpentToday("a"); n != 0 {
			t.Errorf("%d spent on a new day", n)
		}
		admit(t, m, g, 1000, nil)
	})
}

// TestAllOrNothing: what one limit refuses is not taken from another.
func TestAllOrNothing(t *testing.T) {
	inTime(t, Config{}, func(t *testing.T, m *Limiter) {
		plan := nodegate.Plan{CreditsPerSecond: 100, Burst: 1000, CreditsPerDay: 1000}
		tight, _ := newGrant("a", "tight", nodegate.Policy{Plan: plan, Settings: nodegate.KeySettings{CreditsPerSecond: 1}})
		short, _ := newGrant("a", "short", nodegate.Policy{Plan: plan, Settings: nodegate.KeySettings{CreditsPerDay: 5}})
		open, _ := newGrant("a", "open", planned(plan))
		admit(t, m, tight, 20, nil)
		if e := admit(t, m, tight, 7, nodegate.RateLimited); e.RetryAfter != 7*time.Second {
			t.Errorf("back off %v, want the key's 7s", e.RetryAfter)
		}
		admit(t, m, short, 6, nodegate.CreditsSpent)
		admit(t, m, open, 980, nil)
		admit(t, m, open, 1, nodegate.CreditsSpent)
		if n := m.SpentToday("a"); n != 1000 {
			t.Errorf("%d spent, want 1000", n)
		}
	})
}

// TestChangedPlans: a new plan or setting holds for the next request.
func TestChangedPlans(t *testing.T) {
	inTime(t, Config{}, func(t *testing.T, m *Limiter) {
		g, policy := newGrant("a", "k", planned(nodegate.Plan{CreditsPerSecond: 1_000_000, CreditsPerDay: 2_000_000}))
		admit(t, m, g, 1_000_000, nil)
		policy.Store(&nodegate.Policy{Plan: nodegate.Plan{CreditsPerSecond: 10}})
		if e := admit(t, m, g, 10, nodegate.RateLimited); e.RetryAfter != time.Second {
			t.Errorf("back off %v, want 1s: the debt is one bucket of the new plan at most", e.RetryAfter)
		}
		policy.Store(&nodegate.Policy{})
		admit(t, m, g, 1<<40, nil)
		policy.Store(&nodegate.Policy{Settings: nodegate.KeySettings{CreditsPerDay: 10}})
		admit(t, m, g, 1, nodegate.CreditsSpent)
	})
}

func TestChargeAndRefund(t *testing.T) {
	inTime(t, Config{}, func(t *testing.T, m *Limiter) {
		g, _ := newGrant("a", "k", planned(nodegate.Plan{CreditsPerSecond: 10, Burst: 100, CreditsPerDay: 1000}))
		admit(t, m, g, 100, nil)
		m.Refund(g, 100)
		admit(t, m, g, 98, nil)
		for range 10 {
			m.Charge(g, 5)
		}
		if n := m.SpentToday("a"); n != 148 {
			t.Errorf("%d spent, want 148", n)
		}
		if e := admit(t, m, g, 10, nodegate.RateLimited); e.RetryAfter != time.Second {
			t.Errorf("back off %v, want 1s: charges don't go below an empty bucket", e.RetryAfter)
		}
		m.Refund(g, 1000)
		if n := m.SpentToday("a"); n != 0 {
			t.Errorf("%d spent after all was refunded", n)
		}
		admit(t, m, g, 100, nil)
		admit(t, m, g, 1, nodegate.RateLimited)
	})
}

// TestSpentBefore: a restart does not give the day's credits again.
func TestSpentBefore(t *testing.T) {
	before := &nodegate.Spent{Accounts: map[string]int64{"a": 90, "b": 5}, Keys: map[string]int64{"k": 50}}
	inTime(t, Config{Spent: before}, func(t *testing.T, m *Limiter) {
		g, policy := newGrant("a", "k", planned(nodegate.Plan{CreditsPerDay: 100}))
		admit(t, m, g, 11, nodegate.CreditsSpent)
		admit(t, m, g, 10, nil)
		if a, b := m.SpentToday("a"), m.SpentToday("b"); a != 100 || b != 5 {
			t.Errorf("%d and %d spent, want 100 and 5", a, b)
		}
		policy.Store(&nodegate.Policy{Settings: nodegate.KeySettings{CreditsPerDay: 60}})
		admit(t, m, g, 1, nodegate.CreditsSpent)
		time.Sleep(24 * time.Hour)
		admit(t, m, g, 60, nil)
		if b := m.SpentToday("b"); b != 0 {
			t.Errorf("%d spent on a new day", b)
		}
	})
}

// TestClockSetBack: a day is not begun twice.
func TestClockSetBack(t *testing.T) {
	var of tally
	limit := Limit{PerDay: 10}
	for i, day := range []int64{7, 8, 7, 8, 7} {
		if of.check(&limit, 10, moment{day: day}).verdict == pass {
			if i > 1 {
				t.Fatalf("day %d again", day)
			}
			of.take(&limit, 10)
		}
	}
}

// TestSweep: what is idle is forgotten, what still counts is not.
func TestSweep(t *testing.T) {
	inTime(t, Config{}, func(t *testing.T, m *Limiter) {
		slow, _ := newGrant("slow", "slow", planned(nodegate.Plan{CreditsPerSecond: 1, Burst: 200_000}))
		admit(t, m, slow, 200_000, nil)
		for i := range 1000 {
			g, _ := newGrant(fmt.Sprint("a", i), fmt.Sprint("k", i), planned(nodegate.Plan{CreditsPerSecond: 10}))
			admit(t, m, g, 10, nil)
		}
		time.Sleep(23 * time.Hour)
		if n := entries(m); n != 2002 {
			t.Errorf("%d entries during the day, want 2002", n)
		}
		time.Sleep(2 * time.Hour)
		if n := entries(m); n != 1 { // the slow account: its bucket is full again after 55 hours
			t.Errorf("%d entries after midnight, want 1", n)
		}
		admit(t, m, slow, 200_000, nodegate.RateLimited)
		time.Sleep(48 * time.Hour)
		if n := entries(m); n != 0 {
			t.Errorf("%d entries at the end", n)
		}
	})
}

// TestMidnight: the day begins with its first nanosecond.
func TestMidnight(t *testing.T) {
	inTime(t, Config{}, func(t *testing.T, m *Limiter) {
		g, _ := newGrant("a", "k", planned(nodegate.Plan{CreditsPerDay: 10}))
		for range 3 {
			admit(t, m, g, 10, nil)
			time.Sleep(24*time.Hour - time.Nanosecond)
			admit(t, m, g, 1, nodegate.CreditsSpent)
			time.Sleep(time.Nanosecond)
		}
	})
}

// TestSizes: what a request needs of a key or an account is in one line of memory.
func TestSizes(t *testing.T) {
	if a, k := unsafe.Sizeof(account{}), unsafe.Sizeof(index.Entry[string, key]{}); a != 128 || k != 128 {
		t.Errorf("an account has %d bytes and a key's entry %d, want 128", a, k)
	}
}

func entries(m *Limiter) int {
	n := 0
	m.table.each(func(*account, *tally) { n++ })
	return n
}

// TestSweepMeanwhile: requests during a sweep are counted, each once.
func TestSweepMeanwhile(t *testing.T) {
	m := New(Config{})
	defer func() { _ = m.Close(context.Background()) }()
	g, _ := newGrant("a", "k", planned(nodegate.Plan{}))
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for range 2000 {
				_ = m.Admit(context.Background(), g, 1)
				m.Refund(g, 1)
			}
		})
	}
	for range 200 {
		m.table.sweep(m.now())
	}
	clients.Wait()
	_ = m.Admit(context.Background(), g, 7)
	if n := m.SpentToday("a"); n != 7 {
		t.Errorf("%d spent, want 7", n)
	}
}

func TestAdmitAllocatesNothing(t *testing.T) {
	m := New(Config{})
	defer func() { _ = m.Close(context.Background()) }()
	g, _ := newGrant("a", "k", nodegate.Policy{
		Plan:     nodegate.Plan{CreditsPerSecond: 1_000_000_000, Burst: 1_000_000_000, CreditsPerDay: 1 << 50},
		Settings: nodegate.KeySettings{CreditsPerSecond: 900_000_000, CreditsPerDay: 1 << 49},
	})
	ctx := context.Background()
	if n := testing.AllocsPerRun(1000, func() {
		if m.Admit(ctx, g, 80) != nil {
			t.Fatal("refused")
		}
		m.Charge(g, 5)
		m.Refund(g, 80)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkAdmit(b *testing.B) {
	plan := nodegate.Plan{CreditsPerSecond: 1_000_000_000, Burst: maxBurst, CreditsPerDay: 1 << 60}
	for name, settings := range map[string]nodegate.KeySettings{"plan": {}, "key": {CreditsPerSecond: 999_999_999}} {
		b.Run(name, func(b *testing.B) {
			m := New(Config{})
			defer func() { _ = m.Close(context.Background()) }()
			grants := make([]*nodegate.Grant, 10_000)
			for i := range grants {
				grants[i], _ = newGrant(fmt.Sprintf("account-%020d", i), fmt.Sprintf("key-%020d", i), nodegate.Policy{Plan: plan, Settings: settings})
			}
			ctx := context.Background()
			for _, g := range grants {
				_ = m.Admit(ctx, g, 80)
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if err := m.Admit(ctx, grants[i*7919%len(grants)], 80); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
}
