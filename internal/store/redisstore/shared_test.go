package redisstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/ratelimit"
	"github.com/nodegate/nodegate/test/dbtest"
	"github.com/nodegate/nodegate/test/full"
)

// meters are servers with one shared limiter.
type meters struct {
	t     *testing.T
	list  []*ratelimit.Limiter
	grant *nodegate.Grant
	lost  atomic.Int64 // how often a server had to go on alone
}

// Write sees the log: it warns when Redis does not answer in time.
func (m *meters) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("does not answer")) {
		m.lost.Add(1)
	}
	return len(line), nil
}

// newMeters wait for Redis as long as a busy machine needs.
func newMeters(t *testing.T, r *server, n int, plan nodegate.Plan, settings nodegate.KeySettings) *meters {
	t.Helper()
	return newMetersWith(t, r, n, ratelimit.Config{Patience: time.Minute}, plan, settings)
}

func newMetersWith(t *testing.T, r *server, n int, cfg ratelimit.Config, plan nodegate.Plan, settings nodegate.KeySettings) *meters {
	t.Helper()
	policy := new(atomic.Pointer[nodegate.Policy])
	policy.Store(&nodegate.Policy{Plan: plan, Settings: settings})
	g, _ := nodegate.NewGrant("a", "k", policy)
	m := &meters{t: t, grant: g}
	cfg.Log = slog.New(slog.NewTextHandler(m, nil))
	for range n {
		cfg.Shared = r.open()
		m.list = append(m.list, ratelimit.New(cfg))
	}
	t.Cleanup(m.close)
	return m
}

func (m *meters) close() {
	for _, of := range m.list {
		if err := of.Close(context.Background()); err != nil {
			m.t.Error(err)
		}
	}
	m.list = nil
}

// outcome is what many clients saw.
type outcome struct {
	admitted int64 // credits
	spent    int64 // refusals for the day
	slowest  time.Duration
	passed   time.Duration
}

// run has clients ask every rate limiter for a while, a little apart from each other.
func (m *meters) run(clients int, lasts time.Duration, cost int64) outcome {
	var admitted, spent, slowest atomic.Int64
	var all sync.WaitGroup
	begin := time.Now()
	for i := range clients * len(m.list) {
		of := m.list[i%len(m.list)]
		all.Go(func() {
			for time.Since(begin) < lasts {
				asked := time.Now()
				err := of.Admit(context.Background(), m.grant, cost)
				for took, most := int64(time.Since(asked)), slowest.Load(); took > most && !slowest.CompareAndSwap(most, took); most = slowest.Load() {
				}
				switch {
				case err == nil:
					admitted.Add(cost)
				case errors.Is(err, nodegate.CreditsSpent):
					spent.Add(1)
				case !errors.Is(err, nodegate.RateLimited):
					m.t.Errorf("got %v: neither admitted nor a limit", err)
				}
				time.Sleep(200 * time.Microsecond)
			}
		})
	}
	all.Wait()
	return outcome{admitted.Load(), spent.Load(), time.Duration(slowest.Load()), time.Since(begin)}
}

// TestThreeServers: together they stay within one limit, and use all of it.
func TestThreeServers(t *testing.T) {
	for _, c := range []struct {
		name     string
		plan     nodegate.Plan
		settings nodegate.KeySettings
		cost     int64
		rate     int64
		burst    int64
	}{
		{"small", nodegate.Plan{CreditsPerSecond: 10, Burst: 20}, nodegate.KeySettings{}, 1, 10, 20},
		{"default", nodegate.Plan{CreditsPerSecond: 500, Burst: 1000, CreditsPerDay: 3_000_000}, nodegate.KeySettings{}, 80, 500, 1000},
		{"key", nodegate.Plan{CreditsPerSecond: 5000, Burst: 1000}, nodegate.KeySettings{CreditsPerSecond: 100}, 5, 100, 1000},
		{"large", nodegate.Plan{CreditsPerSecond: 20_000, Burst: 20_000}, nodegate.KeySettings{}, 80, 20_000, 20_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newMeters(t, startRedis(t), 3, c.plan, c.settings)
			got := m.run(4, 2*time.Second, c.cost)
			most := c.rate*got.passed.Milliseconds()/1000 + 1 + c.burst
			t.Logf("%d of %d credits admitted in %v, slowest %v", got.admitted, most, got.passed, got.slowest)
			if m.lost.Load() > 0 {
				most += 3 * c.rate * got.passed.Milliseconds() / 1000
				t.Log("Redis was lost for a moment: the bound is the one without it")
			}
			if got.admitted > most { // no lease was left from before, so nothing beyond
				t.Errorf("%d credits admitted, at most %d", got.admitted, most)
			}
			if got.admitted < c.burst {
				t.Errorf("only %d credits admitted, the bucket alone holds %d", got.admitted, c.burst)
			}
		})
	}
}

// TestSharedDay: the credits of a day are one count for all, and leases that are
// not used come back at the end.
func TestSharedDay(t *testing.T) {
	full.Slow(t)
	r := startRedis(t)
	m := newMeters(t, r, 3, nodegate.Plan{CreditsPerSecond: 1000, Burst: 100_000, CreditsPerDay: 50_000}, nodegate.KeySettings{})
	got := m.run(4, time.Second, 80)
	for end := time.Now().Add(time.Minute); got.spent == 0 && time.Now().Before(end); {
		more := m.run(4, time.Second, 80)
		got.admitted, got.spent = got.admitted+more.admitted, more.spent
	}
	if got.admitted > 50_000 || got.admitted < 50_000-3*100-80 || got.spent == 0 {
		t.Errorf("%d credits admitted of 50000, %d refusals", got.admitted, got.spent)
	}
	if n := m.list[0].SpentToday("a"); n < got.admitted-300 || n > 50_000 {
		t.Errorf("a server knows of %d credits spent, %d were", n, got.admitted)
	}
	m.close()
	s := r.open()
	if l := take(t, s, ratelimit.Ask{Name: "account:a"}); l.Spent != got.admitted {
		t.Errorf("%d credits counted after all leases came back, %d admitted", l.Spent, got.admitted)
	}
}

// TestChargesAreShared: what one server charges or refunds, the others feel.
func TestChargesAreShared(t *testing.T) {
	r := startRedis(t)
	m := newMeters(t, r, 2, nodegate.Plan{CreditsPerSecond: 1, Burst: 1000, CreditsPerDay: 1000}, nodegate.KeySettings{})
	m.list[0].Charge(m.grant, 500)
	if err := m.list[0].Admit(t.Context(), m.grant, 300); err != nil {
		t.Fatal(err)
	}
	m.list[0].Refund(m.grant, 100)
	m.list[0].Charge(m.grant, 100)
	if err := m.list[1].Admit(t.Context(), m.grant, 400); !errors.Is(err, nodegate.CreditsSpent) {
		t.Errorf("got %v, want the day's limit", err)
	}
	m.close()
	if l := take(t, r.open(), ratelimit.Ask{Name: "account:a"}); l.Spent != 800 {
		t.Errorf("%d credits counted, want 800", l.Spent)
	}
}

// TestUnlimitedAsksNobody: Redis does not hear of accounts without limits.
func TestUnlimitedAsksNobody(t *testing.T) {
	r := startRedis(t)
	m := newMeters(t, r, 1, nodegate.Plan{}, nodegate.KeySettings{})
	m.run(2, 50*time.Millisecond, 80)
	m.close()
	s := r.open()
	if n, err := redis(t, s).Do(t.Context(), redis(t, s).B().Dbsize().Build()).AsInt64(); n != 0 || err != nil {
		t.Errorf("%d names in Redis, %v", n, err)
	}
}

// TestHungRedis: nobody waits long and nobody is failed while Redis hangs; when it
// is back it is told what was used.
func TestHungRedis(t *testing.T) {
	full.Slow(t)
	r := startRedis(t)
	m := newMetersWith(t, r, 3, ratelimit.Config{}, nodegate.Plan{CreditsPerSecond: 2000, Burst: 2000, CreditsPerDay: 1_000_000}, nodegate.KeySettings{})
	total := m.run(4, 300*time.Millisecond, 20).admitted
	r.Pause()
	first := m.run(4, 500*time.Millisecond, 20)
	later := m.run(4, time.Second, 20)
	r.Resume()
	total += first.admitted + later.admitted
	t.Logf("slowest at first %v, then %v", first.slowest, later.slowest)
	if first.slowest > 10*time.Second {
		t.Errorf("a request waited %v", first.slowest)
	}
	if m.lost.Load() == 0 {
		t.Error("no warning in the log")
	}
	// The breaker is open: every server lets its own rate pass.
	if later.admitted < 3*2000/2 {
		t.Errorf("%d credits admitted in %v without Redis", later.admitted, later.passed)
	}
	waitFor(t, func() bool { return spentInRedis(t, r) >= total-3*200 })
	// Within one limit again, and exact: only asks that Redis finished after their
	// time-out are counted beyond what was used, one lease for each server.
	before := m.lost.Load()
	back := m.run(4, time.Second, 20)
	total += back.admitted
	most := 2000*back.passed.Milliseconds()/1000 + 2000 + 3*200 + 1
	if m.lost.Load() > before {
		most += 3 * 2000 * back.passed.Milliseconds() / 1000
		t.Log("this machine stood still for 150 ms: the bound is the one without Redis")
	}
	if back.admitted > most {
		t.Errorf("%d credits admitted after the return, at most %d", back.admitted, most)
	}
	m.close()
	if n := spentInRedis(t, r); n < total || n > total+m.lost.Load()*(200+20*4) {
		t.Errorf("Redis counts %d credits, %d were used", n, total)
	}
}

// TestLostRedis: a Redis that comes back empty learns what the day has seen.
func TestLostRedis(t *testing.T) {
	r := startRedis(t)
	m := newMetersWith(t, r, 1, ratelimit.Config{}, nodegate.Plan{CreditsPerSecond: 100_000, Burst: 100_000, CreditsPerDay: 1_000_000}, nodegate.KeySettings{})
	total := m.run(2, 300*time.Millisecond, 20).admitted
	r.Stop()
	total += m.run(2, 300*time.Millisecond, 20).admitted
	r.Restart()
	waitFor(t, func() bool {
		total += m.run(1, 20*time.Millisecond, 20).admitted
		return spentInRedis(t, r) >= total
	})
	m.close()
	if n := spentInRedis(t, r); n != total {
		t.Errorf("Redis counts %d credits, %d were used", n, total)
	}
}

func spentInRedis(t *testing.T, r *server) int64 {
	t.Helper()
	s, err := Open(t.Context(), "redis://"+r.Addr, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	return take(t, s, ratelimit.Ask{Name: "account:a", Limit: ratelimit.Limit{Rate: 1, Burst: 1 << 40}}).Spent
}

func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if done() {
			return
		}
	}
	t.Fatal("it did not happen within a minute")
}

// day is a plan that only the day limits.
func day(credits int64) nodegate.Plan { return nodegate.Plan{CreditsPerDay: credits} }

// use takes credits of each server, one after the other, and returns how many.
func (m *meters) use(times int, cost int64) (total int64) {
	m.t.Helper()
	for _, of := range m.list {
		for range times {
			if err := of.Admit(m.t.Context(), m.grant, cost); err != nil {
				m.t.Fatal(err)
			}
			total += cost
		}
	}
	return total
}

// TestLostRedisOfMany: a Redis that comes back empty learns what all servers together have used,
// though each of them only served a part of it.
func TestLostRedisOfMany(t *testing.T) {
	t.Run("used alone meanwhile", func(t *testing.T) {
		r := startRedis(t)
		m := newMetersWith(t, r, 3, ratelimit.Config{}, day(1_000_000), nodegate.KeySettings{})
		total := m.use(50, 100)
		r.Stop()
		total += m.use(10, 100)
		r.Restart()
		m.wantCounted(r, total)
	})
	t.Run("a server that has seen nothing asks first", func(t *testing.T) {
		r := startRedis(t)
		m := newMeters(t, r, 3, day(1_000_000), nodegate.KeySettings{})
		total := m.use(50, 100)
		r.Stop()
		r.Restart()
		old := m.list
		m.list = []*ratelimit.Limiter{ratelimit.New(ratelimit.Config{Shared: r.open(), Patience: time.Minute, Log: slog.New(slog.DiscardHandler)})}
		total += m.use(10, 100)
		m.list = append(m.list, old...)
		m.wantCounted(r, total)
	})
}

// wantCounted wants Redis to count all credits that were used, soon and after all servers have
// given back what they didn't use.
func (m *meters) wantCounted(r *server, total int64) {
	m.t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		total += m.use(1, 100)
		if spentInRedis(m.t, r) >= total || time.Now().After(end) {
			break
		}
	}
	m.close()
	if n := spentInRedis(m.t, r); n < total || n > total+m.lost.Load()*200 {
		m.t.Errorf("Redis counts %d credits, %d were used", n, total)
	}
}

// TestRefundAfterLostRedis: what is refunded after Redis has lost its memory stays refunded.
func TestRefundAfterLostRedis(t *testing.T) {
	r := startRedis(t)
	m := newMeters(t, r, 2, day(1_000_000), nodegate.KeySettings{})
	before := m.use(20, 100)
	r.Stop()
	r.Restart()
	total := before
	waitFor(t, func() bool { total += m.use(1, 100); return spentInRedis(t, r) >= before })
	for range 50 {
		if err := m.list[0].Admit(t.Context(), m.grant, 100); err != nil {
			t.Fatal(err)
		}
	}
	total += m.use(2, 100) // the other server sees it
	for range 50 {
		m.list[0].Refund(m.grant, 100)
	}
	total += m.use(3, 100)
	m.close()
	if n := spentInRedis(t, r); n != total {
		t.Errorf("Redis counts %d credits, %d were used and not refunded", n, total)
	}
}

// TestSpentDayWithoutRedis: the day's credits that all servers have used up together stay used up
// while Redis is away.
func TestSpentDayWithoutRedis(t *testing.T) {
	full.Slow(t)
	r := startRedis(t)
	m := newMeters(t, r, 3, day(3050), nodegate.KeySettings{})
	m.use(10, 100)
	m.wantSpent()
	r.Stop()
	waitFor(t, func() bool { m.wantSpent(); return m.lost.Load() >= 3 })
	m.wantSpent()
	r.Restart()
}

// wantSpent wants every server to refuse for the day.
func (m *meters) wantSpent() {
	m.t.Helper()
	for i, of := range m.list {
		if err := of.Admit(m.t.Context(), m.grant, 100); !errors.Is(err, nodegate.CreditsSpent) {
			m.t.Fatalf("server %d: got %v, want the day's limit", i, err)
		}
	}
}

// BenchmarkTake is how many leases one Redis gives: docs/fleet.md computes with it.
func BenchmarkTake(b *testing.B) {
	r := dbtest.Redis(b)
	s, err := Open(b.Context(), "redis://"+r.Addr, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	var names atomic.Int64
	limit := ratelimit.Limit{Rate: 1_000_000, Burst: 1_000_000, PerDay: 1 << 40}
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		name := fmt.Sprint("account:", names.Add(1))
		for pb.Next() {
			if _, err := s.Take(b.Context(), ratelimit.Ask{Name: name, Limit: limit, Need: 80, Want: 200}); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
