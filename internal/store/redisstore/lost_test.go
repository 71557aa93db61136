package redisstore

import (
	"fmt"
	"testing"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/ratelimit"
)

// TestLostRedisAsks: what a server has seen of a count that Redis has lost is added to what was used
// since, once.
func TestLostRedisAsks(t *testing.T) {
	s := startRedis(t).open()
	today := take(t, s, ratelimit.Ask{Name: "probe"}).Day
	limit := ratelimit.Limit{PerDay: 1_000_000}
	lost := ratelimit.Lease{Incarnation: 7}
	now := take(t, s, ratelimit.Ask{Name: "account:a", Limit: limit, Want: 100, Day: today})
	if now.Incarnation == 0 || now.Incarnation == lost.Incarnation {
		t.Fatalf("incarnation %d", now.Incarnation)
	}
	for _, c := range []struct {
		name string
		ask  ratelimit.Ask
		want int64 // spent
	}{
		{"of another day", ratelimit.Ask{Day: today - 1, Seen: 900_000, Incarnation: lost.Incarnation}, 100},
		{"restarted, with what was saved", ratelimit.Ask{Day: today, Spent: 3000}, 3000},
		{"has seen more", ratelimit.Ask{Day: today, Seen: 5000, Owed: 30, Incarnation: lost.Incarnation}, 5130},
		{"says it again", ratelimit.Ask{Day: today, Seen: 5000, Incarnation: lost.Incarnation}, 5130},
		{"refunds", ratelimit.Ask{Owed: -4000, Day: today, Seen: 5130, Incarnation: now.Incarnation}, 1130},
		{"had seen more before the refund", ratelimit.Ask{Day: today, Seen: 5130, Incarnation: now.Incarnation}, 1130},
		{"has seen less", ratelimit.Ask{Day: today, Seen: 4000, Incarnation: lost.Incarnation}, 1130},
		{"has seen the most", ratelimit.Ask{Day: today, Seen: 5500, Incarnation: lost.Incarnation}, 1630},
	} {
		c.ask.Name, c.ask.Limit = "account:a", limit
		if got := take(t, s, c.ask); got.Spent != c.want || got.Incarnation != now.Incarnation {
			t.Errorf("%s: %d spent in incarnation %d, want %d in %d", c.name, got.Spent, got.Incarnation, c.want, now.Incarnation)
		}
	}
}

// TestCountOfAnOlderVersion: a count without an incarnation gets one, and keeps what was spent.
func TestCountOfAnOlderVersion(t *testing.T) {
	s := startRedis(t).open()
	today := take(t, s, ratelimit.Ask{Name: "probe"}).Day
	c := redis(t, s)
	if err := c.Do(t.Context(), c.B().Hset().Key(prefix+"limit:account:a").FieldValue().FieldValue("day", fmt.Sprint(today)).FieldValue("spent", "800").Build()).Error(); err != nil {
		t.Fatal(err)
	}
	ask := ratelimit.Ask{Name: "account:a", Limit: ratelimit.Limit{PerDay: 1_000_000}, Want: 100, Day: today}
	first := take(t, s, ask)
	ask.Seen, ask.Incarnation = 5000, 7
	second := take(t, s, ask)
	if first.Spent != 900 || first.Incarnation == 0 || second.Incarnation != first.Incarnation || second.Spent != 5200 {
		t.Errorf("got %+v, then %+v", first, second)
	}
}

// TestOlderCopy: a Redis that comes back with an older count, of a snapshot or a replica, learns
// what all servers together have used, also when a server asks first that has seen nothing.
func TestOlderCopy(t *testing.T) {
	for name, before := range map[string]int{"the servers ask first": 0, "another server asks first": 3} {
		t.Run(name, func(t *testing.T) {
			r := startRedis(t)
			m := newMeters(t, r, 3, day(1_000_000), nodegate.KeySettings{})
			key, c := prefix+"limit:account:a", redis(t, r.open())
			total := m.use(20, 100)
			copied, err := c.Do(t.Context(), c.B().Dump().Key(key).Build()).ToString()
			if err != nil {
				t.Fatal(err)
			}
			total += m.use(20, 100)
			if err := c.Do(t.Context(), c.B().Restore().Key(key).Ttl(0).SerializedValue(copied).Replace().Build()).Error(); err != nil {
				t.Fatal(err)
			}
			s := r.open()
			for range before {
				take(t, s, ratelimit.Ask{Name: "account:a", Limit: ratelimit.Limit{PerDay: 1_000_000}})
			}
			total += m.use(1, 100)
			m.list[0].Refund(m.grant, 1000)
			total += m.use(2, 100) - 1000
			m.close()
			if n := spentInRedis(t, r); n != total {
				t.Errorf("Redis counts %d credits, %d were used", n, total)
			}
		})
	}
}
