package ratelimit

import (
	"flag"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nodegate/nodegate"
)

// model is a bucket in big numbers: billionths of credits that are used up.
type model struct {
	used *big.Int
	at   time.Duration
}

func (m *model) admit(l Limit, cost int64, now time.Duration) bool {
	if now > m.at {
		m.used.Sub(m.used, new(big.Int).Mul(big.NewInt(l.Rate), big.NewInt(int64(now-m.at))))
		m.at = now
	}
	if m.used.Sign() < 0 {
		m.used.SetInt64(0)
	}
	full := new(big.Int).Mul(big.NewInt(l.Burst), big.NewInt(nano))
	if m.used.Cmp(full) > 0 {
		m.used.Set(full)
	}
	after := new(big.Int).Mul(big.NewInt(cost), big.NewInt(nano))
	if after.Add(after, m.used); after.Cmp(full) > 0 {
		return false
	}
	m.used = after
	return true
}

// drawLimit draws small, odd and extreme limits alike.
func drawLimit(t *rapid.T) Limit {
	rate := rapid.OneOf(rapid.Int64Range(1, 20), rapid.Int64Range(1, maxRate), rapid.Just(int64(maxRate)), rapid.Just(int64(maxRate-1))).Draw(t, "rate")
	burst := rapid.OneOf(rapid.Int64Range(1, 50), rapid.Int64Range(1, maxBurst), rapid.Just(int64(maxBurst))).Draw(t, "burst")
	return Limit{Rate: rate, Burst: burst}
}

// TestBucketIsExact: every decision is the reference's, whatever the clock does,
// and while the limits stay nothing beyond rate x time + burst is ever admitted.
func TestBucketIsExact(t *testing.T) {
	sequences(t, "10000")
	rapid.Check(t, func(t *rapid.T) {
		limit := drawLimit(t)
		var of tally
		ref := model{used: new(big.Int)}
		now, since, latest := time.Duration(0), time.Duration(0), time.Duration(0)
		admitted := new(big.Int)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if rapid.IntRange(0, 15).Draw(t, "new plan") == 0 {
				limit, admitted, since = drawLimit(t), new(big.Int), latest
			}
			step := rapid.OneOf(rapid.Int64Range(0, 10), rapid.Int64Range(-int64(time.Second), 3*int64(time.Second)),
				rapid.Int64Range(0, int64(100*24*time.Hour))).Draw(t, "passes")
			now += time.Duration(step)
			latest = max(latest, now)
			cost := rapid.OneOf(rapid.Int64Range(0, 3), rapid.Int64Range(0, limit.Burst)).Draw(t, "cost")
			passed := of.check(&limit, cost, moment{at: now}).verdict == pass
			if passed {
				of.take(&limit, cost)
				admitted.Add(admitted, big.NewInt(cost))
			}
			if want := ref.admit(limit, cost, now); passed != want {
				t.Fatalf("%+v at %v, cost %d: admitted %v, want %v", limit, now, cost, passed, want)
			}
			most := new(big.Int).Mul(big.NewInt(limit.Rate), big.NewInt(int64(latest-since)))
			most.Div(most, big.NewInt(nano)).Add(most, big.NewInt(limit.Burst))
			if admitted.Cmp(most) > 0 {
				t.Fatalf("%+v: %v admitted in %v, at most %v", limit, admitted, latest-since, most)
			}
		}
	})
}

// sequences sets how many rapid draws.
func sequences(t *testing.T, n string) {
	checks := flag.Lookup("rapid.checks")
	before := checks.Value.String()
	if err := checks.Value.Set(n); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = checks.Value.Set(before) })
}

// TestBackoffIsEnough: after the seconds of a refusal the request passes, and a
// second earlier it does not.
func TestBackoffIsEnough(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := drawLimit(t)
		var of tally
		of.take(&limit, rapid.Int64Range(0, limit.Burst).Draw(t, "used"))
		cost := rapid.Int64Range(1, limit.Burst).Draw(t, "cost")
		refused := of.check(&limit, cost, moment{})
		if refused.verdict == pass {
			return
		}
		if refused.seconds > int64(100*365*24*time.Hour/time.Second) {
			return // beyond what a clock holds
		}
		early, late := of, of
		if r := late.check(&limit, cost, moment{at: time.Duration(refused.seconds) * time.Second}); r.verdict != pass {
			t.Fatalf("still refused after %d s", refused.seconds)
		}
		if s := refused.seconds - 1; s > 0 && early.check(&limit, cost, moment{at: time.Duration(s) * time.Second}).verdict == pass {
			t.Fatalf("passes a second before %d s", refused.seconds)
		}
	})
}

func TestLimitsOf(t *testing.T) {
	for _, c := range []struct {
		name      string
		plan      nodegate.Plan
		set       nodegate.KeySettings
		want, own Limit
	}{
		{name: "none"},
		{name: "a plan", plan: nodegate.Plan{CreditsPerSecond: 500, Burst: 10_000, CreditsPerDay: 9}, want: Limit{500, 10_000, 9}},
		{name: "a second's worth without a burst", plan: nodegate.Plan{CreditsPerSecond: 500}, want: Limit{500, 500, 0}},
		{name: "a burst alone is nothing", plan: nodegate.Plan{Burst: 10}, want: Limit{0, 10, 0}},
		{name: "too much is cut", plan: nodegate.Plan{CreditsPerSecond: 1 << 60, Burst: 1 << 60}, want: Limit{maxRate, maxBurst, 0}},
		{
			name: "a key below its plan", plan: nodegate.Plan{CreditsPerSecond: 500, Burst: 10_000, CreditsPerDay: 1000},
			set: nodegate.KeySettings{CreditsPerSecond: 10, CreditsPerDay: 100}, want: Limit{500, 10_000, 1000}, own: Limit{10, 200, 100},
		},
		{
			name: "a key's bucket is not beyond its plan's", plan: nodegate.Plan{CreditsPerSecond: 500, Burst: 1000},
			set: nodegate.KeySettings{CreditsPerSecond: 400}, want: Limit{500, 1000, 0}, own: Limit{400, 1000, 0},
		},
		{
			name: "a key above its plan", plan: nodegate.Plan{CreditsPerSecond: 500, CreditsPerDay: 1000},
			set: nodegate.KeySettings{CreditsPerSecond: 500, CreditsPerDay: 5000}, want: Limit{500, 500, 1000},
		},
		{name: "a key without a limit in its plan", set: nodegate.KeySettings{CreditsPerSecond: 7, CreditsPerDay: 70}, own: Limit{7, 140, 70}},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan, own := limitsOf(&nodegate.Policy{Plan: c.plan, Settings: c.set})
			if plan != c.want || own != c.own {
				t.Errorf("got %+v and %+v, want %+v and %+v", plan, own, c.want, c.own)
			}
		})
	}
}
