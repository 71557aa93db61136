package pool

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/test/full"
)

// onlyBalances makes calls of clients cost something, and looks nothing.
func onlyBalances(cfg *Config) {
	cfg.Cost = func(name string) int64 {
		if name == "eth_getBalance" {
			return 10
		}
		return 0
	}
}

// TestCreditsPerDay: a node that has used up its day rests until midnight, and the others
// serve meanwhile. The clock of the test begins at midnight of the first of January, and most of
// that day passes before there is anybody to look after nodes.
func TestCreditsPerDay(t *testing.T) {
	full.Slow(t)
	bubble(t, func(t *testing.T) {
		time.Sleep(22 * time.Hour)
		a, b := newFake("a", 100), newFake("b!", 100)
		p, _ := openFakes(t, func(cfg *Config) { onlyBalances(cfg); cfg.Nodes[0].CreditsPerDay = 100 }, a, b)
		settle()
		ask := func(n int) {
			t.Helper()
			for range n {
				if _, err := p.Call(t.Context(), "eth_getBalance", []byte(balance)); err != nil {
					t.Fatal(err)
				}
			}
		}
		ask(30)
		if a.count("eth_getBalance") != 10 || b.count("eth_getBalance") != 20 {
			t.Errorf("%d and %d calls", a.count("eth_getBalance"), b.count("eth_getBalance"))
		}
		if s := p.Status()[0]; s.Healthy || !strings.Contains(s.Why, "not used until 2000-01-02 00:00 UTC") {
			t.Errorf("status %+v", s)
		}
		looks := a.count("eth_getBlockByNumber")
		time.Sleep(time.Hour)
		if a.count("eth_getBlockByNumber") != looks {
			t.Error("a node without credits is polled")
		}
		time.Sleep(time.Hour + time.Minute)
		ask(5)
		if a.count("eth_getBalance") != 15 {
			t.Errorf("%d calls on the next day", a.count("eth_getBalance")-10)
		}
	})
}

// TestCreditsPerMonth: the month outlasts the day, other settings of the node, and the pool.
func TestCreditsPerMonth(t *testing.T) {
	full.Slow(t)
	if testing.Short() {
		t.Skip("a month of health checks takes 3 minutes under the race detector")
	}
	bubble(t, func(t *testing.T) {
		limit := func(cfg *Config) {
			onlyBalances(cfg)
			cfg.Nodes[0].CreditsPerDay, cfg.Nodes[0].CreditsPerMonth = 1000, 50
		}
		a := newFake("a", 100)
		p, _ := openFakes(t, limit, a)
		settle()
		for range 5 {
			if _, err := p.Call(t.Context(), "eth_getBalance", []byte(balance)); err != nil {
				t.Fatal(err)
			}
		}
		refused := func(p *Pool, when string) {
			t.Helper()
			if _, err := p.Call(t.Context(), "eth_getBalance", []byte(balance)); !errors.Is(err, nodegate.NoNode) {
				t.Errorf("%s: %v", when, err)
			}
			if err := p.Ready(); err == nil {
				t.Errorf("%s: ready", when)
			}
		}
		refused(p, "at once")
		time.Sleep(48 * time.Hour)
		refused(p, "on the third day")
		changed := p.nodes.all()[0].cfg
		changed.Weight = 2
		p.Replace([]Node{changed})
		settle()
		refused(p, "with other settings")
		next, _ := openFakes(t, limit, a)
		next.Continue(p.Used())
		settle()
		refused(next, "in the next pool")
		time.Sleep(29*24*time.Hour + time.Minute)
		if _, err := next.Call(t.Context(), "eth_getBalance", []byte(balance)); err != nil {
			t.Errorf("in February: %v", err)
		}
	})
}
