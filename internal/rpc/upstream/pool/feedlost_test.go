package pool

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodegate/nodegate/internal/rpc/upstream/feed"
	"github.com/nodegate/nodegate/internal/rpc/upstream/heads"
)

// TestFeedsEndWithTheirChain: a chain that was set back ends the subscriptions that
// followed it, and new ones follow it from where it is.
func TestFeedsEndWithTheirChain(t *testing.T) {
	for _, name := range []string{"a", "ws-a"} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				a := newFake(name, 1000)
				a.answer = answerLogs(a)
				p, _ := openFakes(t, nil, a)
				settle()
				news, logs := subscribe(t, p, `["newHeads"]`), subscribe(t, p, `["logs",{}]`)
				a.reorg("bb", 1, 10)
				time.Sleep(heads.ResetAfter + 10*time.Second)
				synctest.Wait()
				for _, c := range []<-chan []byte{news, logs} {
					if got := collect(c); len(got) != 1 || got[0] != "lost" {
						t.Errorf("who followed the old chain got %q", got)
					}
				}
				news, logs = subscribe(t, p, `["newHeads"]`), subscribe(t, p, `["logs",{}]`)
				a.grow("bb", 12)
				settle()
				if got, want := numbers(collect(news)), "bb11 bb12"; got != want {
					t.Errorf("%s, want %s", got, want)
				}
				if got, want := logNumbers(collect(logs)), "bb11/11 bb11/22 bb12/11 bb12/22"; got != want {
					t.Errorf("%s, want %s", got, want)
				}
			})
		})
	}
}

// TestNoStreamWithAGap: where blocks are missing, subscriptions end instead of going on;
// one that begins then is whole.
func TestNoStreamWithAGap(t *testing.T) {
	for name, c := range map[string]struct {
		from, to uint64 // the blocks that come at once
		want     string
	}{
		"more than are fetched":                   {101, 100 + feed.MaxGap + 2, "lost"},
		"below what was followed":                 {90, 102, "lost"},
		"the first that was followed is replaced": {100, 102, "bb100 bb101 bb102"},
		"a plain step":                            {101, 101, "bb101"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				a := newFake("a", 100)
				p, _ := openFakes(t, nil, a)
				settle()
				heads, logs := subscribe(t, p, `["newHeads"]`), subscribe(t, p, `["logs",{}]`)
				a.reorg("bb", c.from, c.to)
				settle()
				if got := numbers(collect(heads)); got != c.want {
					t.Errorf("heads: %s, want %s", got, c.want)
				}
				if got := collect(logs); (len(got) == 1 && got[0] == "lost") != (c.want == "lost") {
					t.Errorf("logs: %q", got)
				}
				next := subscribe(t, p, `["newHeads"]`)
				a.grow("cc", c.to+1)
				settle()
				if got, want := numbers(collect(next)), fmt.Sprintf("cc%d", c.to+1); got != want {
					t.Errorf("a new subscription: %s, want %s", got, want)
				}
			})
		})
	}
}

// TestStoppedFollowerIsStill: the last reader leaves while a node is asked for a missed
// block. The answer is no news to who comes then: its own follower began behind it.
func TestStoppedFollowerIsStill(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := newFake("a", 100)
		p, _ := openFakes(t, nil, a)
		settle()
		held := make(chan struct{})
		a.set(func() {
			a.answer = func(_ context.Context, method string, _ []byte) ([]byte, error) {
				if method == "eth_getBlockByHash" {
					<-held // also when who asked has left: the answer is on its way
				}
				return nil, nil
			}
		})
		ctx, leave := context.WithCancel(t.Context())
		subscribeUntil(t, ctx, p, `["newHeads"]`)
		a.grow(genesisBranch, 102)
		settle()
		if a.count("eth_getBlockByHash") != 1 {
			t.Fatal("the missed block was not asked for")
		}
		leave()
		synctest.Wait()
		next := subscribe(t, p, `["newHeads"]`)
		close(held)
		synctest.Wait()
		a.grow(genesisBranch, 103)
		settle()
		if got, want := numbers(collect(next)), "aa103"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}
