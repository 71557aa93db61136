package cache

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodegate/nodegate"
)

const later = time.Second

// slow answers after a while, or when its context ends.
func slow(text string, err error) func(context.Context, string, string) (string, error) {
	return func(ctx context.Context, _, _ string) (string, error) {
		select {
		case <-ctx.Done():
			return "", nodegate.ErrTimeout("test", context.Cause(ctx))
		case <-time.After(later):
			return text, err
		}
	}
}

// caller is one call beside the test.
type caller struct {
	result []byte
	err    error
	trace  nodegate.Trace
	took   time.Duration
}

// start makes a call on a goroutine of its own and waits until it waits.
func start(ctx context.Context, all *sync.WaitGroup, c *Cache, name, params string) *caller {
	got := new(caller)
	all.Go(func() {
		begin := time.Now()
		got.result, got.err = c.Call(nodegate.WithTrace(ctx, &got.trace), name, []byte(params))
		got.took = time.Since(begin)
	})
	synctest.Wait()
	return got
}

const receipt = "eth_getTransactionReceipt"

// TestShared: identical reads at the same time ask the node once, null included.
func TestShared(t *testing.T) {
	for _, answer := range []string{`{"blockHash":` + hashA + `,"blockNumber":"0x1"}`, "null"} {
		synctest.Test(t, func(t *testing.T) {
			node := answering("")
			node.answer = slow(answer, nil)
			c := New(node, Config{Bytes: 1 << 20})
			var all sync.WaitGroup
			var callers []*caller
			for range 50 {
				callers = append(callers, start(t.Context(), &all, c, receipt, `[`+hashA+`]`))
			}
			other := start(t.Context(), &all, c, receipt, `[`+hashB+`]`)
			all.Wait()
			for i, got := range callers {
				want := "shared"
				if i == 0 {
					want = "miss"
				}
				if string(got.result) != answer || got.err != nil || got.trace.Cache.String() != want || got.trace.Node != "n1" || got.took != later {
					t.Errorf("caller %d: %s, %v, %+v after %v", i, got.result, got.err, got.trace, got.took)
				}
			}
			if other.trace.Cache != nodegate.CacheMiss || node.count() != 2 {
				t.Errorf("the other call: %+v; the node was asked %d times", other.trace, node.count())
			}
			if _, trace := ask(t, c, receipt, `[`+hashA+`]`); (trace.Cache == nodegate.CacheHit) != (answer != "null") {
				t.Errorf("%s afterwards: %q", answer, outcome(trace))
			}
		})
	}
}

// TestFirstLeaves: the others still get the answer, and a new one may join.
func TestFirstLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := answering("")
		node.answer = slow(`"0x1"`, nil)
		c := New(node, Config{Bytes: 1 << 20})
		var all sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		first := start(ctx, &all, c, "eth_call", `[{},"0x1"]`)
		second := start(t.Context(), &all, c, "eth_call", `[{},"0x1"]`)
		time.Sleep(later / 2)
		cancel()
		synctest.Wait()
		third := start(t.Context(), &all, c, "eth_call", `[{},"0x1"]`)
		all.Wait()
		if !errors.Is(first.err, nodegate.Timeout) || first.took != later/2 || first.trace.Waited != later/2 {
			t.Errorf("the first: %v after %v, %+v", first.err, first.took, first.trace)
		}
		for _, got := range []*caller{second, third} {
			if string(got.result) != `"0x1"` || got.err != nil || got.trace.Cache != nodegate.CacheShared || got.trace.Waited != got.took {
				t.Errorf("%s, %v, %+v after %v", got.result, got.err, got.trace, got.took)
			}
		}
		if second.took != later || third.took != later/2 || node.count() != 1 {
			t.Errorf("took %v and %v; the node was asked %d times", second.took, third.took, node.count())
		}
	})
}

// TestAllLeave: then nobody needs the answer, the node's call ends, and the next
// caller begins a new one.
func TestAllLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := answering("")
		ended := 0
		node.answer = func(ctx context.Context, a, b string) (string, error) {
			text, err := slow(`"0x1"`, nil)(ctx, a, b)
			if err != nil {
				ended++
			}
			return text, err
		}
		c := New(node, Config{Bytes: 1 << 20})
		var all sync.WaitGroup
		ctx, cancel := context.WithTimeout(t.Context(), later/2)
		defer cancel()
		for range 3 {
			start(ctx, &all, c, "eth_call", `[{},"0x1"]`)
		}
		all.Wait()
		synctest.Wait()
		if ended != 1 || len(c.flights) != 0 {
			t.Errorf("%d calls ended, %d flights left", ended, len(c.flights))
		}
		if got, trace := ask(t, c, "eth_call", `[{},"0x1"]`); got != `"0x1"` || trace.Cache != nodegate.CacheMiss {
			t.Errorf("afterwards: %s, %q", got, outcome(trace))
		}
	})
}

// TestFailure: an error, a panic or an end of the goroutine reaches those who wait, and
// nobody after them.
func TestFailure(t *testing.T) {
	for name, c := range map[string]struct {
		fail func() (string, error)
		want nodegate.Code
	}{
		"error": {func() (string, error) { return "", &nodegate.Error{Code: nodegate.NoNode} }, nodegate.NoNode},
		"panic": {func() (string, error) { panic("a bug") }, nodegate.Internal},
	} {
		synctest.Test(t, func(t *testing.T) {
			node := answering("")
			node.answer = func(context.Context, string, string) (string, error) {
				time.Sleep(later)
				return c.fail()
			}
			cached := New(node, Config{Bytes: 1 << 20})
			var all sync.WaitGroup
			var callers []*caller
			for range 3 {
				callers = append(callers, start(t.Context(), &all, cached, "eth_call", `[{},"0x1"]`))
			}
			all.Wait()
			for _, got := range callers {
				if !errors.Is(got.err, c.want) || got.result != nil {
					t.Errorf("%s: %s, %v", name, got.result, got.err)
				}
				if c.want == nodegate.Internal && !strings.Contains(got.err.Error(), "a bug") {
					t.Errorf("%s: %v does not tell the cause", name, got.err)
				}
			}
			node.setAnswer(`"0x1"`, nil)
			if got, _ := ask(t, cached, "eth_call", `[{},"0x1"]`); got != `"0x1"` || len(cached.flights) != 0 {
				t.Errorf("%s: then %s, %d flights left", name, got, len(cached.flights))
			}
		})
	}
}

// TestKnowsMore: a caller that has seen a newer head, a reorganization or a sent
// transaction doesn't get the answer of a call that began before.
func TestKnowsMore(t *testing.T) {
	for name, happen := range map[string]func(*testing.T, *script, *Cache){
		"a new block": func(_ *testing.T, n *script, _ *Cache) {
			n.setHead(nodegate.Head{Number: 101, Finalized: 90, Fork: 1})
		},
		"a reorganization": func(_ *testing.T, n *script, _ *Cache) {
			n.setHead(nodegate.Head{Number: 100, Finalized: 90, Fork: 2})
		},
		"a sent transaction": func(t *testing.T, n *script, c *Cache) { ask(t, c, "eth_sendRawTransaction", `["0x"]`) },
	} {
		synctest.Test(t, func(t *testing.T) {
			node := answering("")
			node.answer = slow("null", nil)
			c := New(node, Config{Bytes: 1 << 20})
			var all sync.WaitGroup
			first := start(t.Context(), &all, c, receipt, `[`+hashA+`]`)
			node.setAnswer(`"0x1"`, nil)
			happen(t, node, c)
			answer := `{"blockHash":` + hashA + `,"blockNumber":"0x1"}`
			node.mu.Lock()
			node.answer = slow(answer, nil)
			node.mu.Unlock()
			second := start(t.Context(), &all, c, receipt, `[`+hashA+`]`)
			third := start(t.Context(), &all, c, receipt, `[`+hashA+`]`)
			all.Wait()
			if string(first.result) != "null" || string(second.result) != answer || string(third.result) != answer {
				t.Errorf("%s: %s, %s and %s", name, first.result, second.result, third.result)
			}
			if second.trace.Cache != nodegate.CacheMiss || third.trace.Cache != nodegate.CacheShared {
				t.Errorf("%s: %q, %q", name, outcome(second.trace), outcome(third.trace))
			}
		})
	}
}

// of is a caller's context with its account.
func of(t *testing.T, account string) context.Context {
	return nodegate.WithGrant(t.Context(), &nodegate.Grant{AccountID: account})
}

// refusing refuses one account late and answers all others.
func refusing(account string, refusal error) func(context.Context, string, string) (string, error) {
	return func(ctx context.Context, _, _ string) (string, error) {
		time.Sleep(later)
		if nodegate.GrantFrom(ctx).AccountID == account {
			return "", refusal
		}
		return `"0x1"`, nil
	}
}

// TestOwnRefusal: an error about the account of the first caller isn't the answer to others.
// They ask by themselves, and share that call.
func TestOwnRefusal(t *testing.T) {
	for name, refusal := range map[string]error{
		"busy":      &nodegate.Error{Code: nodegate.AccountBusy, Msg: "too many heavy calls of this account"},
		"limited":   &nodegate.Error{Code: nodegate.RateLimited},
		"spent":     &nodegate.Error{Code: nodegate.CreditsSpent},
		"forbidden": &nodegate.Error{Code: nodegate.Forbidden},
		"wrapped":   fmt.Errorf("below: %w", &nodegate.Error{Code: nodegate.AccountBusy}),
		"cancelled": nodegate.ErrTimeout("test", context.Canceled),
	} {
		synctest.Test(t, func(t *testing.T) {
			node := answering("")
			node.answer = refusing("greedy", refusal)
			c := New(node, Config{Bytes: 1 << 20})
			var all sync.WaitGroup
			greedy := []*caller{start(of(t, "greedy"), &all, c, "eth_call", `[{},"0x1"]`), start(of(t, "greedy"), &all, c, "eth_call", `[{},"0x1"]`)}
			var others []*caller
			for _, account := range []string{"a", "b", "b"} {
				others = append(others, start(of(t, account), &all, c, "eth_call", `[{},"0x1"]`))
			}
			all.Wait()
			for _, got := range greedy {
				if nodegate.AsError(got.err).Code != nodegate.AsError(refusal).Code || got.took != later {
					t.Errorf("%s: the refused account: %s, %v after %v", name, got.result, got.err, got.took)
				}
			}
			for _, got := range others {
				if string(got.result) != `"0x1"` || got.err != nil || got.took != 2*later {
					t.Errorf("%s: another account: %s, %v after %v", name, got.result, got.err, got.took)
				}
			}
			if node.count() != 2 || len(c.flights) != 0 {
				t.Errorf("%s: the node was asked %d times, %d flights left", name, node.count(), len(c.flights))
			}
		})
	}
}

// TestRefusedTwice: a caller that joined the calls of two refused accounts joins no third one.
func TestRefusedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := answering("")
		node.answer = func(ctx context.Context, _, _ string) (string, error) {
			if time.Sleep(later); nodegate.GrantFrom(ctx).AccountID == "victim" {
				return `"0x1"`, nil
			}
			return "", &nodegate.Error{Code: nodegate.AccountBusy}
		}
		c := New(node, Config{Bytes: 1 << 20})
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				for range 20 {
					_, err := c.Call(of(t, fmt.Sprint("greedy", i)), "eth_call", []byte(`[{},"0x1"]`))
					if err != nil && !errors.Is(err, nodegate.AccountBusy) {
						t.Error(err)
					}
				}
			})
		}
		synctest.Wait()
		victim := start(of(t, "victim"), &all, c, "eth_call", `[{},"0x1"]`)
		all.Wait()
		if victim.err != nil || victim.took > 3*later {
			t.Errorf("%s, %v after %v", victim.result, victim.err, victim.took)
		}
	})
}
