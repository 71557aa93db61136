package pool

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
	"github.com/nodegate/nodegate/internal/rpc/upstream/heads"
	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
)

// collect takes all events that are there.
func collect(c <-chan []byte) (list []string) {
	for {
		select {
		case e, open := <-c:
			if !open {
				return append(list, "closed")
			}
			list = append(list, string(e))
		default:
			return list
		}
	}
}

// numbers are the blocks of head events, with their branches.
func numbers(events []string) string {
	var b strings.Builder
	for _, e := range events {
		h, ok := heads.Read([]byte(e))
		if !ok {
			b.WriteString(e + " ")
			continue
		}
		fmt.Fprintf(&b, "%s%d ", h.Hash[3:5], h.Number)
	}
	return strings.TrimSpace(b.String())
}

func subscribe(t *testing.T, p *Pool, params string) <-chan []byte {
	t.Helper()
	return subscribeUntil(t, t.Context(), p, params)
}

// subscribeUntil has the events in a channel, then "lost" if events were lost, or else
// the channel is closed.
func subscribeUntil(t *testing.T, ctx context.Context, p *Pool, params string) <-chan []byte {
	t.Helper()
	c := make(chan []byte, 4096)
	if err := p.Subscribe(ctx, []byte(params), func(event []byte, end nodegate.End) {
		switch end {
		case nodegate.NotEnded:
			c <- event
		case nodegate.EventsLost:
			c <- []byte("lost")
		default:
			close(c)
		}
	}); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestNewHeads: whatever happens to the nodes, each block comes once and in order.
func TestNewHeads(t *testing.T) {
	for _, names := range [][2]string{{"ws-a", "ws-b"}, {"a", "b"}, {"ws-a", "b"}} {
		t.Run(names[0]+" "+names[1], func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				a, b := newFake(names[0], 100), newFake(names[1], 100)
				p, _ := openFakes(t, nil, a, b)
				settle()
				heads, second := subscribe(t, p, `["newHeads"]`), subscribe(t, p, `["newHeads"]`)
				for n := uint64(101); n <= 103; n++ {
					a.grow(genesisBranch, n)
					b.grow(genesisBranch, n)
					settle()
				}
				got := collect(heads)
				if want := "aa101 aa102 aa103"; numbers(got) != want || numbers(collect(second)) != want {
					t.Errorf("%s, want %s", numbers(got), want)
				}
				if strings.Contains(strings.Join(got, ""), "transactions") {
					t.Errorf("a header with its transactions: %s", got)
				}
				a.set(func() { a.down = true })
				a.hangUp(nil)
				b.grow(genesisBranch, 108) // many at once
				time.Sleep(3 * time.Second)
				b.grow(genesisBranch, 109)
				settle()
				if got, want := numbers(collect(heads)), "aa104 aa105 aa106 aa107 aa108 aa109"; got != want {
					t.Errorf("after a node's death: %s, want %s", got, want)
				}
				b.reorg("bb", 108, 110)
				settle()
				if got, want := numbers(collect(heads)), "bb108 bb109 bb110"; got != want {
					t.Errorf("after a reorganization: %s, want %s", got, want)
				}
				a.grow(genesisBranch, 107)
				a.reorg("bb", 108, 111)
				a.set(func() { a.down = false })
				b.grow("bb", 111)
				time.Sleep(2 * time.Minute)
				if got, want := numbers(collect(heads)), "bb111"; got != want {
					t.Errorf("after the node is back: %s, want %s", got, want)
				}
			})
		})
	}
}

// TestEventForms: what subscribers get is brought to one form, once for each event.
func TestEventForms(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := newFake("ws-a", 100)
		a.answer = answerLogs(a)
		mark := func(raw []byte) []byte { return []byte(`{"fixed":` + string(raw) + `}`) }
		p, _ := openFakes(t, func(c *Config) { c.FixHead, c.FixLog = mark, mark }, a)
		settle()
		heads, logs := subscribe(t, p, `["newHeads"]`), subscribe(t, p, `["logs",{}]`)
		a.grow(genesisBranch, 101)
		settle()
		for _, got := range [][]string{collect(heads), collect(logs)} {
			if len(got) == 0 || !strings.HasPrefix(got[0], `{"fixed":{`) {
				t.Errorf("%q", got)
			}
		}
	})
}

// logOf is a log as a fake answers it.
func logOf(h heads.Header, address, topic string) string {
	return fmt.Sprintf(`{"address":"0x%s","topics":["0x%s"],"blockHash":%s,"blockNumber":"0x%x","removed":false}`,
		strings.Repeat(address, 20), strings.Repeat(topic, 32), h.Hash, h.Number)
}

// answerLogs gives every block two logs, and honors no filter: the pool must.
func answerLogs(f *fake) func(context.Context, string, []byte) ([]byte, error) {
	return func(_ context.Context, m string, params []byte) ([]byte, error) {
		if m != "eth_getLogs" {
			return nil, nil
		}
		list, _ := jsonrpc.Elements(nil, params)
		hash := string(member(list[0], "blockHash"))
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, h := range f.chain {
			if h.Hash == hash {
				return []byte("[" + logOf(h, "11", "aa") + "," + logOf(h, "22", "bb") + "]"), nil
			}
		}
		return nil, callError(-32000, "unknown block")
	}
}

func logNumbers(events []string) string {
	var list []string
	for _, e := range events {
		at, _ := hexjson.Quantity(member([]byte(e), "blockNumber"))
		one := fmt.Sprint(string(member([]byte(e), "blockHash"))[3:5], at, "/", string(member([]byte(e), "address"))[3:5])
		if string(member([]byte(e), "removed")) == "true" {
			one = "-" + one
		}
		list = append(list, one)
	}
	return strings.Join(list, " ")
}

func TestLogs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := newFake("ws-a", 100), newFake("b", 100)
		a.answer, b.answer = answerLogs(a), answerLogs(b)
		p, _ := openFakes(t, nil, a, b)
		settle()
		ones := subscribe(t, p, `["logs",{"address":"0x`+strings.Repeat("11", 20)+`"}]`)
		a.grow(genesisBranch, 101)
		b.grow(genesisBranch, 101)
		settle()
		if got, want := logNumbers(collect(ones)), "aa101/11"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		all := subscribe(t, p, `["logs",{}]`)
		twos := subscribe(t, p, `["logs",{"topics":[["0x`+strings.Repeat("BB", 32)+`"]]}]`)
		before := a.count("eth_getLogs") + b.count("eth_getLogs")
		a.grow(genesisBranch, 103)
		b.grow(genesisBranch, 103)
		settle()
		if n := a.count("eth_getLogs") + b.count("eth_getLogs") - before; n != 2 {
			t.Errorf("%d requests for two blocks and three filters", n)
		}
		a.set(func() { a.down = true })
		a.hangUp(nil)
		b.grow(genesisBranch, 104)
		time.Sleep(4 * time.Second)
		b.reorg("bb", 104, 105)
		settle()
		for c, want := range map[<-chan []byte]string{
			ones: "aa102/11 aa103/11 aa104/11 -aa104/11 bb104/11 bb105/11",
			twos: "aa102/22 aa103/22 aa104/22 -aa104/22 bb104/22 bb105/22",
			all: "aa102/11 aa102/22 aa103/11 aa103/22 aa104/11 aa104/22 -aa104/11 -aa104/22 " +
				"bb104/11 bb104/22 bb105/11 bb105/22",
		} {
			if got := logNumbers(collect(c)); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
	})
}

// TestLogsOfALiar: logs of another block are not passed on.
func TestLogsOfALiar(t *testing.T) {
	bubble(t, func(t *testing.T) {
		liar, honest := newFake("ws-liar", 100), newFake("honest", 100)
		liar.answers("eth_getLogs", "["+logOf(makeBlock("ee", 7, blockHash("ee", 6)), "11", "aa")+"]", nil)
		honest.answer = answerLogs(honest)
		p, _ := openFakes(t, nil, liar, honest)
		settle()
		all := subscribe(t, p, `["logs",{}]`)
		for n := uint64(101); n < 105; n++ {
			liar.grow(genesisBranch, n)
			honest.grow(genesisBranch, n)
			settle()
		}
		time.Sleep(10 * time.Second) // for the attempts that the liar spoils
		if got := logNumbers(collect(all)); got != "aa101/11 aa101/22 aa102/11 aa102/22 aa103/11 aa103/22 aa104/11 aa104/22" {
			t.Errorf("%s", got)
		}
	})
}

// TestPending: one subscription on one node for all readers, moved when it dies.
func TestPending(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := newFake("ws-a", 100), newFake("ws-b", 100)
		p, _ := openFakes(t, nil, a, b)
		settle()
		one, two := subscribe(t, p, `["newPendingTransactions"]`), subscribe(t, p, `["newPendingTransactions"]`)
		synctest.Wait()
		subs := func(f *fake) []chan []byte {
			f.mu.Lock()
			defer f.mu.Unlock()
			return f.feeds
		}
		with, other := a, b
		if len(subs(b)) > 1 {
			with, other = b, a
		}
		if len(subs(with)) != 2 || len(subs(other)) != 1 {
			t.Fatalf("%d and %d subscriptions", len(subs(with)), len(subs(other)))
		}
		subs(with)[1] <- []byte(someHash)
		subs(with)[1] <- []byte(`{"not":"a hash"}`)
		settle()
		if got, again := collect(one), collect(two); len(got) != 1 || got[0] != someHash || len(again) != 1 {
			t.Errorf("%v, %v", got, again)
		}
		with.set(func() { with.down = true })
		with.hangUp(nil)
		time.Sleep(5 * time.Second)
		if len(subs(other)) != 2 {
			t.Fatalf("not moved: %d subscriptions", len(subs(other)))
		}
		subs(other)[1] <- []byte(someHash)
		settle()
		if got := collect(one); len(got) != 1 {
			t.Errorf("after the node's death: %v", got)
		}
	})
}

// TestReaders: all of them share one event; who leaves is told of the end, once.
func TestReaders(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := newFake("ws-a", 100)
		p, _ := openFakes(t, nil, a)
		settle()
		one, other := subscribe(t, p, `["newHeads"]`), subscribe(t, p, `["newHeads"]`)
		ctx, cancel := context.WithCancel(t.Context())
		leaving := subscribeUntil(t, ctx, p, `["newHeads"]`)
		cancel()
		synctest.Wait()
		for n := range uint64(10) {
			a.grow(genesisBranch, 101+n)
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
		}
		if len(one) != 10 || len(other) != 10 {
			t.Fatalf("they got %d and %d events", len(one), len(other))
		}
		for range 10 {
			if mine, yours := <-one, <-other; &mine[0] != &yours[0] {
				t.Fatal("an event was copied")
			}
		}
		if list := collect(leaving); len(list) != 1 || list[0] != "closed" {
			t.Errorf("who left got %v", list)
		}
		p.Close()
		if list := collect(one); len(list) != 1 || list[0] != "closed" {
			t.Errorf("after Close: %v", list)
		}
	})
}

func TestSubscribeParams(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, _ := openFakes(t, nil, newFake("a", 100))
		settle()
		for params, want := range map[string]nodegate.Code{
			`[]`:                                   nodegate.InvalidParams,
			`["syncing"]`:                          nodegate.InvalidParams,
			`["logs",1]`:                           nodegate.InvalidParams,
			`["logs",{"address":"0x1"}]`:           nodegate.InvalidParams,
			`["logs",{"topics":["0x1"]}]`:          nodegate.InvalidParams,
			`["logs",{"topics":[[],[],[],[],[]]}]`: nodegate.InvalidParams,
			`["newHeads",{},{}]`:                   nodegate.InvalidParams,
			`["newPendingTransactions"]`:           nodegate.MethodNotFound,
			`["logs",{"x":"` + strings.Repeat("y", 64<<10) + `"}]`: nodegate.InvalidParams,
		} {
			if err := p.Subscribe(t.Context(), []byte(params), func([]byte, nodegate.End) {}); !errors.Is(err, want) {
				t.Errorf("%.60s: %v, want %v", params, err, want)
			}
		}
	})
}
