package pool

import (
	"context"
	"testing"
	"time"

	"github.com/nodegate/nodegate/internal/rpc/upstream/client"
)

// hangs makes a fake hold its answers to reads of balances for a while.
func (f *fake) hangs(wait time.Duration) {
	f.set(func() {
		f.answer = func(ctx context.Context, m string, _ []byte) ([]byte, error) {
			if m != "eth_getBalance" {
				return nil, nil
			}
			select {
			case <-time.After(wait):
				return []byte(`"0x1"`), nil
			case <-ctx.Done():
				return nil, &client.Fault{Sent: true, Err: ctx.Err()}
			}
		}
	})
}

// slowest asks until a node has been asked so often, with pauses, and returns the longest call.
func slowest(t *testing.T, p *Pool, f *fake, times int, pause time.Duration) (longest time.Duration) {
	t.Helper()
	for i := 0; f.count("eth_getBalance") < times; i++ {
		if i == 1000 {
			t.Fatalf("%s was asked only %d times", f.name, f.count("eth_getBalance"))
		}
		start := time.Now()
		if _, err := p.Call(t.Context(), "eth_getBalance", []byte(balance)); err != nil {
			t.Fatal(err)
		}
		longest = max(longest, time.Since(start))
		time.Sleep(pause)
	}
	return longest
}

// TestHedgeOnAQuietServer: the very first reads have a second node too, though nothing is
// known yet of how long reads take.
func TestHedgeOnAQuietServer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := newFake("a", 100), newFake("b", 100)
		a.hangs(5 * time.Second)
		p, _ := openFakes(t, nil, a, b)
		settle()
		if took := slowest(t, p, a, 3, 20*time.Second); took > time.Second {
			t.Errorf("a read took %v beside a node that is well", took)
		}
	})
}

// TestHedgeSettings: hedging can be turned off, and its delay set.
func TestHedgeSettings(t *testing.T) {
	for name, c := range map[string]struct {
		hedge       Hedge
		least, most time.Duration
	}{
		"off":   {Hedge{Off: true}, 3 * time.Second, 3 * time.Second},
		"early": {Hedge{Delay: 20 * time.Millisecond}, 20 * time.Millisecond, 20 * time.Millisecond},
		"late":  {Hedge{Delay: 2 * time.Second}, 2 * time.Second, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				a, b := newFake("a", 100), newFake("b", 100)
				a.hangs(3 * time.Second)
				p, _ := openFakes(t, func(cfg *Config) { cfg.Hedge = c.hedge }, a, b)
				settle()
				if took := slowest(t, p, a, 1, time.Millisecond); took < c.least || took > c.most {
					t.Errorf("a read took %v", took)
				}
			})
		})
	}
}

// TestRetrySettings: how many nodes a call is sent to is a setting.
func TestRetrySettings(t *testing.T) {
	for _, attempts := range []int{1, 2, 5} {
		bubble(t, func(t *testing.T) {
			fakes := []*fake{newFake("a", 100), newFake("b", 100), newFake("c", 100), newFake("d", 100), newFake("e", 100), newFake("f", 100)}
			for _, f := range fakes {
				f.answers("eth_getBalance", "", &client.Fault{Err: errRefused})
			}
			p, _ := openFakes(t, func(cfg *Config) { cfg.Retry.Attempts = attempts }, fakes...)
			settle()
			if _, err := p.Call(t.Context(), "eth_getBalance", []byte(balance)); err == nil {
				t.Fatal("answered by nobody")
			}
			if asked := countAll(fakes, "eth_getBalance"); asked != attempts {
				t.Errorf("%d nodes were asked, want %d", asked, attempts)
			}
		})
	}
}

// TestRetryBudgetSetting: the share of retries is a setting.
func TestRetryBudgetSetting(t *testing.T) {
	bubble(t, func(t *testing.T) {
		fakes := []*fake{newFake("a", 60), newFake("b", 60)}
		for _, f := range fakes {
			f.answers("eth_getBalance", "", callError(-32000, "header not found"))
		}
		p, _ := openFakes(t, func(cfg *Config) { cfg.Retry.Percent = 50 }, fakes...)
		settle()
		const calls = 1000
		for range calls {
			_, _ = p.Call(t.Context(), "eth_getBalance", []byte(balance))
		}
		if asked := countAll(fakes, "eth_getBalance"); asked > calls*3/2+3 || asked < calls*14/10 {
			t.Errorf("%d calls became %d requests", calls, asked)
		}
	})
}
