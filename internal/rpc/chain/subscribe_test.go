package chain

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
	"github.com/nodegate/nodegate/test/full"
)

// nextEvent waits for the next one and decodes it.
func nextEvent[T any](t *testing.T, events <-chan []byte) (v T) {
	t.Helper()
	select {
	case ev, ok := <-events:
		if !ok {
			t.Fatal("the subscription ended")
		}
		if err := json.Unmarshal(ev, &v); err != nil {
			t.Fatalf("%v: %s", err, ev)
		}
	case <-time.After(patience):
		t.Fatal("no event came")
	}
	return v
}

// ended waits until the channel is closed and counts what still came out of it.
func ended(t *testing.T, events <-chan []byte) (count int) {
	t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case _, ok := <-events:
			if !ok {
				return count
			}
			count++
		case <-timeout:
			t.Fatalf("the subscription never ended; %d events came", count)
		}
	}
}

// subscribe has the events in a channel that is closed at the end.
func subscribe(t *testing.T, ctx context.Context, n *Node, params string) <-chan []byte {
	t.Helper()
	events := make(chan []byte, 2*logsPerCreation)
	if err := n.Subscribe(ctx, []byte(params), func(event []byte, end nodegate.End) {
		if end != nodegate.NotEnded {
			close(events)
			return
		}
		events <- event
	}); err != nil {
		t.Fatal(err)
	}
	return events
}

type headEvent struct {
	Number hexutil.Uint64 `json:"number"`
	Hash   common.Hash    `json:"hash"`
}

func TestSubscribeNewHeads(t *testing.T) {
	n := openDevnet(t)
	events := subscribe(t, t.Context(), n, `["newHeads"]`)
	for want := uint64(11); want <= 13; want++ {
		call(t, n, "evm_mine", "[]")
		got := nextEvent[headEvent](t, events)
		if uint64(got.Number) != want || got.Hash != n.engine.eth.BlockChain().GetCanonicalHash(want) {
			t.Errorf("head %d %s, want %d", got.Number, got.Hash, want)
		}
		if h := head(t, n); h < want { // an event tells of what can be asked for
			t.Errorf("head is %d after the event of %d", h, want)
		}
	}
}

func TestSubscribeLogs(t *testing.T) {
	n := openDevnet(t)
	demo := lower(devchain.DemoAddress())
	all := subscribe(t, t.Context(), n, `["logs",{"address":"`+demo+`"}]`)
	none := subscribe(t, t.Context(), n, `["logs",{"address":"0x00000000000000000000000000000000000000aa"}]`)
	hash := send(t, n, newSender(n, 0).setValue(77))
	got := nextEvent[struct {
		Address common.Address `json:"address"`
		TxHash  common.Hash    `json:"transactionHash"`
		Data    hexutil.Bytes  `json:"data"`
	}](t, all)
	if got.TxHash != hash || got.Address != devchain.DemoAddress() || got.Data[31] != 77 {
		t.Errorf("%+v", got)
	}
	select {
	case ev := <-none:
		t.Errorf("a log of another address: %s", ev)
	case <-time.After(50 * time.Millisecond):
	}
}

// A revert is a reorg to whoever reads logs, and the next head has a lower number.
func TestSubscribersSeeRevert(t *testing.T) {
	n := openDevnet(t)
	type event struct {
		TransactionHash common.Hash
		Removed         bool
	}
	logs := subscribe(t, t.Context(), n, `["logs",{"address":"`+lower(devchain.DemoAddress())+`"}]`)
	heads := subscribe(t, t.Context(), n, `["newHeads"]`)
	snapshot := call(t, n, "evm_snapshot", "[]")
	s := newSender(n, 0)
	var h history
	for v := range int64(2) {
		h.mine(t, n, s, v)
		if got := nextEvent[event](t, logs); got != (event{h.txs[v], false}) {
			t.Errorf("mined: %+v", got)
		}
		nextEvent[headEvent](t, heads)
	}
	call(t, n, "evm_revert", "["+snapshot+"]")
	for i := 1; i >= 0; i-- {
		if got := nextEvent[event](t, logs); got != (event{h.txs[i], true}) {
			t.Errorf("reverted: %+v, want %s", got, h.txs[i])
		}
	}
	call(t, n, "evm_mine", "[]")
	if got := nextEvent[headEvent](t, heads); got.Number != 11 {
		t.Errorf("the next head is %d", got.Number)
	}
}

func TestSubscribePendingTransactions(t *testing.T) {
	n := openDevnet(t)
	events := subscribe(t, t.Context(), n, `["newPendingTransactions"]`)
	hash := send(t, n, newSender(n, 0).setValue(1))
	if got := nextEvent[common.Hash](t, events); got != hash {
		t.Errorf("%s, want %s", got, hash)
	}
}

func TestSubscriptionEndsWithContext(t *testing.T) {
	n := openDevnet(t)
	ctx, cancel := context.WithCancel(t.Context())
	events := subscribe(t, ctx, n, `["newHeads"]`)
	other := subscribe(t, t.Context(), n, `["newHeads"]`)
	cancel()
	ended(t, events)
	call(t, n, "evm_mine", "[]")
	nextEvent[headEvent](t, other) // the others go on
}

func TestSubscriptionEndsWithNode(t *testing.T) {
	n, err := Open(presetConfig(devchain.Devnet(), ""))
	mustDo(t, err)
	events := subscribe(t, t.Context(), n, `["newHeads"]`)
	closeNode(t, n)
	ended(t, events)
}

// TestSubscriptionEnd: whoever leaves and whoever reads a node that is closed has missed
// nothing; whoever reads what go-ethereum ends by itself has.
func TestSubscriptionEnd(t *testing.T) {
	for name, c := range map[string]struct {
		params string
		end    func(n *Node, leave context.CancelFunc)
		want   nodegate.End
	}{
		"the reader leaves":           {`["newHeads"]`, func(_ *Node, leave context.CancelFunc) { leave() }, nodegate.Closed},
		"the node is closed":          {`["newHeads"]`, func(n *Node, _ context.CancelFunc) { n.feeds.close() }, nodegate.Closed},
		"go-ethereum ends it":         {`["newHeads"]`, func(n *Node, _ context.CancelFunc) { n.feeds.client.Close() }, nodegate.EventsLost},
		"the reader of logs leaves":   {`["logs",{}]`, func(_ *Node, leave context.CancelFunc) { leave() }, nodegate.Closed},
		"the node of logs is closed":  {`["logs",{}]`, func(n *Node, _ context.CancelFunc) { n.feeds.close() }, nodegate.Closed},
		"the chain of logs is closed": {`["logs",{}]`, func(n *Node, _ context.CancelFunc) { n.feeds.sources[logsSource].sub.Unsubscribe() }, nodegate.EventsLost},
	} {
		t.Run(name, func(t *testing.T) {
			n := openDevnet(t)
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			ends := make(chan nodegate.End, 2)
			mustDo(t, n.Subscribe(ctx, []byte(c.params), func(_ []byte, end nodegate.End) { ends <- end }))
			c.end(n, leave)
			select {
			case got := <-ends:
				if got != c.want {
					t.Errorf("it ended with %d, want %d", got, c.want)
				}
			case <-time.After(patience):
				t.Fatal("the subscription never ended")
			}
		})
	}
}

// A call that was given up leaves subscriptions alone.
func TestSubscriptionOutlivesTimeouts(t *testing.T) {
	n := openDevnet(t)
	events := subscribe(t, t.Context(), n, `["newHeads"]`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := n.Call(ctx, "eth_getBlockByNumber", []byte(`["latest",true]`))
	if err != nil && !errors.Is(err, nodegate.Timeout) {
		t.Errorf("a call that was given up: %v", err)
	}
	call(t, n, "evm_mine", "[]")
	nextEvent[headEvent](t, events)
}

// A reader gets every event, however many a block has.
func TestManyEvents(t *testing.T) {
	n := openDevnet(t)
	events := subscribe(t, t.Context(), n, `["logs",{}]`)
	sent := emitLogs(t, n, logsPerCreation)
	for range sent {
		nextEvent[json.RawMessage](t, events)
	}
}

// TestBlockOfManyLogs: tens of thousands of logs in a block end no subscription, neither of
// those who read them nor of others, although the disk takes its time. Anybody can send such a
// block.
func TestBlockOfManyLogs(t *testing.T) {
	full.Slow(t)
	n := openDevnet(t)
	synced := make(chan struct{})
	n.feeds.await = func() error { <-synced; return nil }
	all := subscribe(t, t.Context(), n, `["logs",{}]`)
	other := subscribe(t, t.Context(), n, `["logs",{"address":"`+lower(devchain.DemoAddress())+`"}]`)
	const many = 30_000
	var code [2]byte
	binary.BigEndian.PutUint16(code[:], many)
	creation := append([]byte{0x61}, append(code[:], emitter[3:]...)...)
	s := newSender(n, 0)
	if r := mined(t, n, send(t, n, s.signGas(16_000_000, nil, creation))); r.Status != 1 {
		t.Fatal("the creation failed")
	}
	hash := send(t, n, s.setValue(78))
	mined(t, n, hash)
	time.Sleep(time.Second) // whatever is between the chain and the readers has to hold them meanwhile
	close(synced)
	for range many {
		nextEvent[json.RawMessage](t, all)
	}
	for _, events := range []<-chan []byte{all, other} {
		if got := nextEvent[struct{ TransactionHash common.Hash }](t, events); got.TransactionHash != hash {
			t.Errorf("the log after them is of %s, not %s", got.TransactionHash, hash)
		}
	}
}

// TestLogQueueIsBounded: readers who fall behind take so much memory and no more. One block
// always fits.
func TestLogQueueIsBounded(t *testing.T) {
	q := newLogQueue()
	large := []*types.Log{{Data: make([]byte, maxWaitingLogs)}}
	small := []*types.Log{{Topics: make([]common.Hash, 4)}}
	if !q.put(1, large) || q.put(2, small) {
		t.Error("one block doesn't fit, or a second does")
	}
	if b, ok := q.next(); !ok || b.step != 1 {
		t.Errorf("next is %d, %v", b.step, ok)
	}
	if !q.put(3, small) || q.bytes == 0 {
		t.Error("what was taken still counts")
	}
	if b, ok := q.next(); !ok || b.step != 3 || q.bytes != 0 {
		t.Errorf("next is %d, %v; %d bytes are left", b.step, ok, q.bytes)
	}
	if _, ok := q.next(); ok {
		t.Error("it is not empty")
	}
}

// logsPerCreation is what emitter logs: a loop of LOG0 in the code of a creation.
const logsPerCreation = 2000

var emitter = hexutil.MustDecode("0x6107d05b5f5fa0600190038060035700")

// emitLogs mines at least that many logs.
func emitLogs(t *testing.T, n *Node, count int) (sent int) {
	t.Helper()
	s := newSender(n, 0)
	for sent < count {
		if r := mined(t, n, send(t, n, s.sign(nil, emitter))); r.Status != 1 {
			t.Fatal("the creation failed")
		}
		sent += logsPerCreation
	}
	return sent
}

func TestSubscribeErrors(t *testing.T) {
	n := shared(t, sharedDevnet)
	for _, params := range []string{"", "[]", `["nope"]`, `[5]`, `{}`, `["logs",5]`, `["logs",{"address":"0x12"}]`, `["newHeads","x","y"]`} {
		err := n.Subscribe(t.Context(), request{"", params}.raw(), func([]byte, nodegate.End) {})
		if err == nil {
			t.Errorf("%s: a subscription", params)
			continue
		}
		if code := outcomeOf(nil, err).code; code != nodegate.InvalidParams && code != nodegate.MethodNotFound && code != nodegate.ExecutionFailed {
			t.Errorf("%s: %v", params, err)
		}
	}
}
