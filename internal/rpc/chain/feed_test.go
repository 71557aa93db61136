package chain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
)

// counts are how many of go-ethereum's subscriptions, streams and readers there are.
func (f *feeds) counts() (sources, streams, readers int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.streams {
		readers += len(s.readers)
	}
	return len(f.sources), len(f.streams), readers
}

func wantCounts(t *testing.T, n *Node, want ...int) {
	t.Helper()
	eventually(t, fmt.Sprint("sources, streams, readers are not ", want), func() bool {
		a, b, c := n.feeds.counts()
		return a == want[0] && b == want[1] && c == want[2]
	})
}

// TestEventsAreShared: go-ethereum has one subscription for each kind, and all readers
// get the very same bytes, whatever their filters are. All of it ends with them.
func TestEventsAreShared(t *testing.T) {
	n := openDevnet(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	demo := lower(devchain.DemoAddress())
	var heads, logs []*sharedEvent
	for range 20 {
		heads = append(heads, keep(t, ctx, n, `["newHeads"]`))
	}
	for _, filter := range []string{"{}", `{"address":"` + demo + `"}`, `{"address":["` + demo + `"]}`, `{"topics":[]}`, `{"fromBlock":"0x1"}`, `{"address":"` + demo + `","topics":[null]}`} {
		logs = append(logs, keep(t, ctx, n, `["logs",`+filter+`]`))
	}
	wantCounts(t, n, 2, 5, 26)
	send(t, n, newSender(n, 0).setValue(77))
	for _, list := range [][]*sharedEvent{heads, logs} {
		first := list[0].next(t)
		for _, other := range list[1:] {
			if other.next(t) != first {
				t.Error("an event was encoded for a reader of its own")
			}
		}
	}
	cancel()
	wantCounts(t, n, 0, 0, 0)
	if len(n.feeds.held) != 0 {
		t.Errorf("accounts are still counted: %v", n.feeds.held)
	}
}

// sharedEvent is a reader that keeps where its last event begins.
type sharedEvent struct{ events chan *byte }

func keep(t *testing.T, ctx context.Context, n *Node, params string) *sharedEvent {
	t.Helper()
	s := &sharedEvent{make(chan *byte, 64)}
	if err := n.Subscribe(ctx, []byte(params), func(event []byte, _ nodegate.End) {
		if event != nil {
			s.events <- &event[0]
		}
	}); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *sharedEvent) next(t *testing.T) *byte {
	t.Helper()
	select {
	case at := <-s.events:
		return at
	case <-time.After(patience):
	}
	t.Fatal("no event came")
	return nil
}

// TestLogFilters holds the filters here to go-ethereum's: a reader of each gets the
// same logs as from a subscription of go-ethereum's own.
func TestLogFilters(t *testing.T) {
	n := openDevnet(t)
	demo := lower(devchain.DemoAddress())
	set := "0xe2b64d6eb95e02b6354c9dad0f0b75f05c8659bc5f2a0f91bc457fc27c55c688"
	who := "0x000000000000000000000000f39fd6e51aad88f6f4ce6ab8827279cfffb92266"
	none := "0x" + strings.Repeat("0", 64)
	type pair struct {
		filter       string
		ours, theirs *atomic.Int64
	}
	var pairs []pair
	for _, filter := range []string{
		`{}`, `{"address":"` + demo + `"}`, `{"address":"0x00000000000000000000000000000000000000aa"}`, `{"address":[]}`,
		`{"topics":["` + set + `"]}`, `{"topics":[null,"` + who + `"]}`, `{"topics":[null,null,null,null]}`, `{"topics":[[null,"` + none + `"]]}`,
		`{"topics":[["` + none + `","` + set + `"]]}`, `{"topics":["` + none + `"]}`, `{"fromBlock":"0xc"}`, `{"fromBlock":"0x1","toBlock":"0xb"}`,
		`{"fromBlock":"latest"}`, `{"fromBlock":"earliest"}`, `{"toBlock":"latest"}`, `{"blockHash":"` + none + `"}`,
	} {
		p := pair{filter, new(atomic.Int64), new(atomic.Int64)}
		mustDo(t, n.Subscribe(t.Context(), []byte(`["logs",`+filter+`]`), func(event []byte, _ nodegate.End) {
			if event != nil {
				p.ours.Add(1)
			}
		}))
		events := make(chan json.RawMessage, 64)
		sub, err := n.feeds.client.EthSubscribe(t.Context(), events, "logs", json.RawMessage(filter))
		mustDo(t, err)
		defer sub.Unsubscribe()
		go func() {
			for range events {
				p.theirs.Add(1)
			}
		}()
		pairs = append(pairs, p)
	}
	s := newSender(n, 0)
	for i := range 3 {
		mined(t, n, send(t, n, s.setValue(int64(i))))
	}
	mined(t, n, send(t, n, s.sign(nil, emitterOf(3))))
	all := pairs[0] // equal counts say nothing before the last log has come
	eventually(t, "not all 6 logs come", func() bool { return all.ours.Load() == 6 && all.theirs.Load() == 6 })
	for _, p := range pairs {
		eventually(t, fmt.Sprintf("%s: the readers differ", p.filter), func() bool {
			return p.ours.Load() == p.theirs.Load()
		})
	}
}

// emitterOf is the code of a creation that logs so many times without topics.
func emitterOf(count byte) []byte {
	return hexutil.MustDecode(fmt.Sprintf("0x60%02x5b5f5fa060019003806002570000", count))
}

// TestStreamsPerAccount: an account reads so many different subscriptions and no more,
// with all its keys together; readers of the same one don't count, and others go on.
func TestStreamsPerAccount(t *testing.T) {
	n := openDevnet(t)
	as := func(account, key string, i int) (func(), error) {
		g, end := nodegate.NewGrant(account, key, nil)
		defer end()
		ctx, cancel := context.WithCancel(nodegate.WithGrant(t.Context(), g))
		return cancel, n.Subscribe(ctx, fmt.Appendf(nil, `["logs",{"address":"0x%040x"}]`, i), func([]byte, nodegate.End) {})
	}
	var last func()
	for i := range maxStreamsPerAccount {
		var err error
		last, err = as("a", fmt.Sprint("key ", i%40), i)
		mustDo(t, err)
	}
	_, err := as("a", "another key", maxStreamsPerAccount)
	if !errors.Is(err, nodegate.AccountBusy) || nodegate.AsError(err).RetryAfter <= 0 {
		t.Errorf("one too many: %v", err)
	}
	wantCounts(t, n, 1, maxStreamsPerAccount, maxStreamsPerAccount)
	if _, err := as("a", "another key", 0); err != nil {
		t.Errorf("one more reader: %v", err)
	}
	if _, err := as("b", "b", maxStreamsPerAccount); err != nil {
		t.Errorf("another account: %v", err)
	}
	last()
	wantCounts(t, n, 1, maxStreamsPerAccount, maxStreamsPerAccount+1)
	if _, err := as("a", "key", maxStreamsPerAccount); err != nil {
		t.Errorf("after one has ended: %v", err)
	}
}

// TestJoinAndLeave has readers come and go while blocks are sealed: each sees a run of
// heads without a gap.
func TestJoinAndLeave(t *testing.T) {
	n := openDevnet(t)
	stop := make(chan struct{})
	var sealed atomic.Int64
	go func() {
		defer close(stop)
		for range 200 {
			if _, err := n.Call(context.Background(), "evm_mine", []byte("[]")); err == nil {
				sealed.Add(1)
			}
		}
	}()
	for done := false; !done; {
		ctx, cancel := context.WithCancel(t.Context())
		events := subscribe(t, ctx, n, `["newHeads"]`)
		var last uint64
		for range 5 {
			select {
			case <-stop:
				done = true
			case ev := <-events:
				var head headEvent
				mustDo(t, json.Unmarshal(ev, &head))
				if last != 0 && uint64(head.Number) != last+1 {
					t.Fatalf("head %d follows %d", head.Number, last)
				}
				last = uint64(head.Number)
			}
		}
		cancel()
	}
	wantCounts(t, n, 0, 0, 0)
	if sealed.Load() != 200 {
		t.Errorf("%d blocks were sealed", sealed.Load())
	}
}
