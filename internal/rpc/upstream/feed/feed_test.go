package feed

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/upstream/heads"
)

// quiet is a feed of one node that reports only what a test has it report.
func quiet(t *testing.T) (f *Feed, report func(number uint64)) {
	ctx, stop := context.WithCancel(context.Background())
	log := slog.New(slog.DiscardHandler)
	tracker := heads.New(heads.Config{Log: log, Changed: func() { f.Poke() }, Reset: func() { f.Reset() }})
	asIs := func(raw []byte) []byte { return raw }
	f = New(ctx, Config{
		Heads: tracker, Log: log, FixHead: asIs, FixLog: asIs,
		Ask: func(context.Context, *heads.Node, string, string) ([]byte, error) { return nil, errGap },
		Logs: func(context.Context, *heads.Node, uint64, string) ([]byte, error) {
			return []byte("[]"), nil
		},
		Receipts: receiptsOf, FixReceipt: asIs,
		HasLink: func() bool { return false },
		Link:    func() Subscriber { return nil },
	})
	t.Cleanup(func() { stop(); f.Close() })
	n := &heads.Node{Name: "a", Aside: func() bool { return false }, SetWhy: func(string) {}}
	n.Checked.Store(true)
	tracker.Follow([]*heads.Node{n})
	tracker.Settled()
	report = func(number uint64) { tracker.Report(n, block(number)) }
	report(100)
	return f, report
}

// block is a block of a made-up chain.
func block(number uint64) heads.Header {
	h, ok := heads.Read(fmt.Appendf(nil, `{"number":"0x%x","hash":"0x%064x","parentHash":"0x%064x","timestamp":"0x%x","transactions":[]}`,
		number, number, number-1, time.Now().Unix()))
	if !ok {
		panic("the block can't be read")
	}
	return h
}

// subscribe has the events in a channel, then "lost" if events were lost, or else
// the channel is closed.
func subscribe(t *testing.T, ctx context.Context, f *Feed, params string) <-chan []byte {
	t.Helper()
	c := make(chan []byte, 4096)
	if err := f.Subscribe(ctx, []byte(params), func(event []byte, end nodegate.End) {
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

// TestStreams: readers of the same kind share a stream, and the last one ends it and
// the follower.
func TestStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, report := quiet(t)
		ctx, leave := context.WithCancel(t.Context())
		one, other := subscribe(t, ctx, f, `["newHeads"]`), subscribe(t, ctx, f, `["newHeads"]`)
		logs := subscribe(t, ctx, f, `["logs",{}]`)
		if len(f.streams) != 2 || len(f.streams[kindHeads].readers) != 2 || f.stop == nil {
			t.Errorf("streams %v", f.streams)
		}
		synctest.Wait()
		report(101)
		synctest.Wait()
		if len(collect(one)) != 1 || len(collect(other)) != 1 {
			t.Error("a reader has missed a head")
		}
		leave()
		synctest.Wait()
		for _, c := range []<-chan []byte{one, other, logs} {
			if got := collect(c); len(got) != 1 || got[0] != "closed" {
				t.Errorf("who left got %q", got)
			}
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		if len(f.streams) != 0 || f.stop != nil {
			t.Errorf("streams %v are left", f.streams)
		}
	})
}

// TestNoLogsAfterALostStep: a step that finds no room ends the readers of logs before
// any later step can be queued.
func TestNoLogsAfterALostStep(t *testing.T) {
	f, _ := quiet(t)
	logs, news := subscribe(t, t.Context(), f, `["logs",{}]`), subscribe(t, t.Context(), f, `["newHeads"]`)
	f.mu.Lock()
	defer f.mu.Unlock()
	k := newLogKeeper(f) // that nobody runs: the nodes are too slow
	for range maxSteps {
		k.put(step{})
	}
	if got := collect(logs); len(got) != 0 {
		t.Fatalf("%q while there was room", got)
	}
	k.put(step{})
	if got := collect(logs); len(got) != 1 || got[0] != "lost" {
		t.Errorf("readers of logs got %q", got)
	}
	<-k.queue
	k.put(step{})
	if len(k.queue) != maxSteps-1 {
		t.Error("a step after the lost one was queued")
	}
	if got := collect(news); len(got) != 0 {
		t.Errorf("readers of heads got %q", got)
	}
}

// TestOneFormOfAFilter: filters that mean the same are one stream.
func TestOneFormOfAFilter(t *testing.T) {
	addr, topic := `"0x`+strings.Repeat("Ab", 20)+`"`, `"0x`+strings.Repeat("Cd", 32)+`"`
	form := ""
	for _, raw := range []string{
		`{"address":` + addr + `,"topics":[null,` + topic + `]}`,
		`{"topics":[[],[` + topic + `,` + strings.ToLower(topic) + `]],"address":[` + strings.ToLower(addr) + `]}`,
		`{"topics":[[null],` + topic + `],"address":[` + addr + `,` + addr + `],"fromBlock":"0x1"}`,
	} {
		f, err := readFilter([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		if form == "" {
			form = f.canonical
		}
		if f.canonical != form {
			t.Errorf("%s is %s, want %s", raw, f.canonical, form)
		}
	}
	if f, err := readFilter(nil); err != nil || f.canonical != "{}" {
		t.Errorf("no filter: %v, %v", f, err)
	}
}
