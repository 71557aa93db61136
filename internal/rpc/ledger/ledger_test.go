package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/disk"
	"github.com/nodegate/nodegate/internal/rpc/ledger/store"
	"github.com/nodegate/nodegate/test/full"
)

// passed is what the node below a ledger answers with.
const passed = `"passed on"`

// below is the node below the ledger: it notes what is passed on.
type below struct {
	*chain
	mu    sync.Mutex
	asked int
}

func (b *below) Call(context.Context, string, []byte) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked++
	return []byte(passed), nil
}

// rig is a ledger over a fake chain.
type rig struct {
	*Node
	t     *testing.T
	chain *chain
	store *store.Store
	dir   string
	guard *disk.Guard
}

func asItIs(raw []byte) ([]byte, bool) { return raw, true }

// newRig opens a ledger in a folder. It is closed before the test ends, or a bubble of
// synctest would wait for the database.
func newRig(t *testing.T, c *chain, dir string, blocks uint64) *rig {
	r := &rig{t: t, chain: c, dir: dir}
	r.Node = New(&below{chain: c}, Config{
		Blocks: blocks, Disk: 1 << 40, Answers: NewAnswers(4 << 20), Source: c, Fix: Forms{asItIs, asItIs}, Log: slog.New(slog.DiscardHandler),
		Open: func(_ context.Context, genesis [32]byte) (*store.Store, error) {
			s, err := store.Open(store.Config{Dir: dir, Genesis: genesis, Memory: 4 << 20, Guard: r.guard, Log: slog.New(slog.DiscardHandler)})
			r.store = s
			return s, err
		},
		Release: func() {
			if err := r.store.Close(); err != nil {
				t.Error(err)
			}
		},
	})
	return r
}

// run starts a ledger in a bubble and lets it reach the head.
func run(t *testing.T, c *chain, blocks uint64, test func(r *rig)) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, c, dir, blocks)
		r.Start()
		defer r.Close()
		r.settle()
		test(r)
	})
}

// settle waits until the follower has nothing to do. It looks at the head every 100 ms.
func (r *rig) settle() {
	for range 100 {
		time.Sleep(lookEvery)
		synctest.Wait()
		if v := r.view.Load(); v != nil {
			if h, err := r.chain.Head(context.Background()); err == nil && !v.behind(h) {
				return
			}
		}
	}
	r.t.Fatal("the ledger doesn't reach the head")
}

// ask makes a call and returns the answer, and whether the ledger gave it.
func (r *rig) ask(name string, params ...any) (string, bool) {
	r.t.Helper()
	raw, err := json.Marshal(params)
	if err != nil {
		r.t.Fatal(err)
	}
	trace := &nodegate.Trace{Formed: true, Verified: nodegate.LevelRoots}
	result, err := r.Call(nodegate.WithTrace(r.t.Context(), trace), name, raw)
	if err != nil {
		r.t.Fatal(err)
	}
	ours := string(result) != passed
	if trace.Formed != ours || (trace.Verified == nodegate.LevelRoots) != ours || (trace.Cache == nodegate.CacheLedger) != ours || (trace.Agreed == 1) != ours {
		r.t.Errorf("%s %s is answered with %.40s, and the trace is %+v", name, raw, result, *trace)
	}
	return string(result), ours
}

// check asks for everything of a block, and compares it with what the chain has. By number
// and by transaction it must be ours or not, as said.
func (r *rig) check(m *made, ours bool) {
	r.t.Helper()
	number, hash := fmt.Sprintf("%#x", m.NumberU64()), m.Hash()
	one := func(want any, must bool, name string, params ...any) {
		r.t.Helper()
		got, ok := r.ask(name, params...)
		if ok != must {
			r.t.Errorf("%s %v: answered by the ledger %v, want %v", name, params, ok, must)
		}
		if ok {
			sameJSON(r.t, name, []byte(got), want)
		}
	}
	for _, full := range []bool{true, false} {
		block := m.answer(fmt.Sprint("block ", full), func() any { return m.json(full) })
		one(json.RawMessage(block), ours, "eth_getBlockByNumber", number, full)
		one(json.RawMessage(block), true, "eth_getBlockByHash", hash, full)
	}
	receipts := json.RawMessage(m.answer("receipts", func() any { return m.receiptsJSON() }))
	header := object(m.Header())
	one(header, ours, "eth_getHeaderByNumber", number)
	one(header, true, "eth_getHeaderByHash", hash)
	one(receipts, ours, "eth_getBlockReceipts", number)
	one(receipts, true, "eth_getBlockReceipts", hash)
	count := hexutil.Uint64(len(m.Transactions()))
	one(count, ours, "eth_getBlockTransactionCountByNumber", number)
	one(count, true, "eth_getBlockTransactionCountByHash", hash)
	one("0x0", ours, "eth_getUncleCountByBlockNumber", number)
	one("0x0", true, "eth_getUncleCountByBlockHash", hash)
	one(nil, ours, "eth_getUncleByBlockNumberAndIndex", number, "0x0")
	one(nil, true, "eth_getUncleByBlockHashAndIndex", hash, "0x0")
	r.checkRaw(m, ours, one)
	for i, tx := range m.Transactions() {
		index := fmt.Sprintf("%#x", i)
		one(m.txJSON(i), ours, "eth_getTransactionByHash", tx.Hash())
		one(m.receiptJSON(i), ours, "eth_getTransactionReceipt", tx.Hash())
		raw, err := tx.MarshalBinary()
		if err != nil {
			r.t.Fatal(err)
		}
		one(hexutil.Bytes(raw), ours, "eth_getRawTransactionByHash", tx.Hash())
		one(hexutil.Bytes(raw), ours, "eth_getRawTransactionByBlockNumberAndIndex", number, index)
		one(hexutil.Bytes(raw), true, "eth_getRawTransactionByBlockHashAndIndex", hash, index)
		one(m.txJSON(i), ours, "eth_getTransactionByBlockNumberAndIndex", number, index)
		one(m.txJSON(i), true, "eth_getTransactionByBlockHashAndIndex", hash, index)
	}
}

// checkRaw is check for encoded blocks.
func (r *rig) checkRaw(m *made, ours bool, one func(want any, must bool, name string, params ...any)) {
	r.t.Helper()
	block, err := rlp.EncodeToBytes(m.Block)
	if err != nil {
		r.t.Fatal(err)
	}
	header, err := rlp.EncodeToBytes(m.Header())
	if err != nil {
		r.t.Fatal(err)
	}
	receipts := []hexutil.Bytes{}
	for _, receipt := range m.receipts {
		raw, err := receipt.MarshalBinary()
		if err != nil {
			r.t.Fatal(err)
		}
		receipts = append(receipts, raw)
	}
	number := fmt.Sprintf("%#x", m.NumberU64())
	for at, must := range map[string]bool{number: ours, m.Hash().Hex(): true} {
		one(hexutil.Bytes(block), must, "debug_getRawBlock", at)
		one(hexutil.Bytes(header), must, "debug_getRawHeader", at)
		one(receipts, must, "debug_getRawReceipts", at)
	}
	for i, tx := range m.Transactions() {
		raw, err := tx.MarshalBinary()
		if err != nil {
			r.t.Fatal(err)
		}
		if one(hexutil.Bytes(raw), ours, "debug_getRawTransaction", tx.Hash()); i == 0 {
			one(nil, false, "debug_getRawTransaction", tx.Hash(), true)
		}
	}
}

// TestLookups: everything of the first 128 blocks and of those that follow is answered as
// the nodes would, and the nodes are asked for each block and for its receipts once.
func TestLookups(t *testing.T) {
	c := newChain()
	c.grow(200)
	run(t, c, 1000, func(r *rig) {
		first, tip, ok := r.store.Tip()
		if !ok || first.Number != 200-127 || tip.Number != 200 {
			t.Fatalf("the copy has blocks %d to %d", first.Number, tip.Number)
		}
		if all, by := c.called(); by["eth_getBlockByNumber"] != 1+128 || by["eth_getBlockReceipts"] != 96 || all != 1+128+96 {
			t.Errorf("the nodes were asked %v", by) // a block of four has no transactions, and no receipts to ask for
		}
		for range 30 {
			c.grow(1)
			r.settle()
		}
		if all, by := c.called(); by["eth_getBlockByNumber"] != 30 || all > 60 {
			t.Errorf("30 blocks took %v", by)
		}
		for n := first.Number; n <= 230; n += uint64(rounds(1, 5)) {
			r.check(c.at(n), true)
		}
		if all, by := c.called(); all != 0 {
			t.Errorf("lookups took %v", by)
		}
		for _, n := range []uint64{0, 10, 72, 231} {
			if got, ok := r.ask("eth_getBlockByNumber", fmt.Sprintf("%#x", n), true); ok {
				t.Errorf("block %d is answered: %.60s", n, got)
			}
		}
		if got, ok := r.ask("eth_getTransactionReceipt", c.at(70).Transactions()[0].Hash()); ok {
			t.Errorf("a receipt of a block that isn't stored: %s", got)
		}
	})
}

// TestShortChain: a chain with fewer blocks is copied from its beginning.
func TestShortChain(t *testing.T) {
	c := newChain()
	c.grow(3)
	run(t, c, 1000, func(r *rig) {
		for n := range uint64(4) {
			r.check(c.at(n), true)
		}
	})
}

// TestReorg: after a reorg of any depth the blocks of the new branch are answered, and
// those of the old one by their hash alone.
func TestReorg(t *testing.T) {
	full.Slow(t)
	c := newChain()
	c.grow(100)
	run(t, c, 1000, func(r *rig) {
		c.set(func(c *chain) { c.head.Finalized = 0 })
		c.grow(1)
		c.set(func(c *chain) { c.head.Finalized = 10 })
		r.settle()
		for i, depth := range []int{1, 2, 3, 17, 64} {
			before := c.at(c.head.Number)
			c.called()
			c.reorg(depth, depth+i%2, int64(i+1)) // of the same length, and longer
			r.settle()
			if all, _ := c.called(); all > 2*(depth+i%2)+2 {
				t.Errorf("a reorg of %d blocks took %d calls", depth, all)
			}
			for n := c.head.Number - uint64(depth) - 3; n <= c.head.Number; n++ {
				r.check(c.at(n), true)
			}
			if _, ok := r.ask("eth_getBlockByHash", before.Hash(), true); !ok {
				t.Errorf("depth %d: a block that was taken back is not answered by its hash", depth)
			}
			for _, tx := range before.Transactions() {
				if got, ok := r.ask("eth_getTransactionReceipt", tx.Hash()); ok {
					t.Errorf("depth %d: a transaction that was taken back has a receipt: %s", depth, got)
				}
			}
		}
	})
}

// TestForkIsBelieved: from the moment the head has another fork, nothing that isn't final is
// answered before the copy is of that fork, and nothing above the head ever is.
func TestForkIsBelieved(t *testing.T) {
	c := newChain()
	c.grow(100)
	run(t, c, 1000, func(r *rig) {
		c.set(func(c *chain) { c.delay = time.Minute })
		old := c.at(100)
		c.reorg(3, 4, 1)
		if got, ok := r.ask("eth_getBlockByNumber", "0x64", false); ok {
			t.Errorf("a block that may be taken back is answered: %s", got)
		}
		if got, ok := r.ask("eth_getBlockByNumber", "0x5f", false); ok {
			t.Errorf("a block below the fork is answered before that is known: %s", got)
		}
		r.check(c.at(80), true) // the newest final one
		if _, ok := r.ask("eth_getBlockByHash", old.Hash(), true); !ok {
			t.Error("what a hash names is true on any fork")
		}
		c.set(func(c *chain) { c.delay = 0 })
		time.Sleep(2 * time.Minute)
		r.settle()
		r.check(c.at(100), true)
		c.set(func(c *chain) { c.head.Number = 90 })
		if got, ok := r.ask("eth_getBlockByHash", c.at(91).Hash(), true); ok {
			t.Errorf("a block above the head is answered: %s", got)
		}
		if got, ok := r.ask("eth_getBlockByNumber", "0x5b", true); ok {
			t.Errorf("a block above the head is answered: %s", got)
		}
		r.check(c.at(90), true)
	})
}

// TestFinalLater: a block of the old branch isn't answered because its height is final now.
func TestFinalLater(t *testing.T) {
	c := newChain()
	c.grow(100)
	run(t, c, 1000, func(r *rig) {
		c.set(func(c *chain) { c.delay = time.Minute })
		c.reorg(10, 11, 1)
		c.set(func(c *chain) { c.head.Finalized = 95 })
		for _, number := range []string{"0x5f", "0x51"} {
			if got, ok := r.ask("eth_getBlockByNumber", number, false); ok {
				t.Errorf("block %s is answered: %.80s", number, got)
			}
		}
		r.check(c.at(80), true)
		c.set(func(c *chain) { c.delay = 0 })
		time.Sleep(2 * time.Minute)
		r.settle()
		r.check(c.at(95), true)
	})
}

// TestUncles: a block with uncles isn't stored whole, so nodes are asked for it as a whole.
func TestUncles(t *testing.T) {
	c := newChain()
	c.uncles = []*types.Header{{Number: big.NewInt(1), Difficulty: big.NewInt(2)}}
	c.grow(3)
	run(t, c, 1000, func(r *rig) {
		m := c.at(3)
		for _, full := range []bool{true, false} {
			if got, ok := r.ask("eth_getBlockByNumber", "0x3", full); ok {
				t.Errorf("the block is %s", got)
			}
		}
		for _, name := range []string{"eth_getUncleCountByBlockNumber", "eth_getBlockTransactionCountByNumber"} {
			if got, ok := r.ask(name, "0x3"); ok {
				t.Errorf("%s is %s", name, got)
			}
		}
		if got, ok := r.ask("eth_getUncleByBlockHashAndIndex", m.Hash(), "0x0"); ok {
			t.Errorf("the uncle is %s", got)
		}
		got, ok := r.ask("eth_getTransactionReceipt", m.Transactions()[0].Hash())
		if !ok {
			t.Fatal("the receipt is passed on")
		}
		sameJSON(t, "receipt", []byte(got), m.receiptJSON(0))
	})
}

// TestForkWithoutReorg: a fork that turns out to be none costs one call.
func TestForkWithoutReorg(t *testing.T) {
	c := newChain()
	c.grow(50)
	run(t, c, 1000, func(r *rig) {
		c.called()
		c.set(func(c *chain) { c.head.Fork++ })
		r.settle()
		if all, by := c.called(); all != 1 {
			t.Errorf("it took %v", by)
		}
		r.check(c.at(50), true)
	})
}

// TestWait: a lookup of the newest block waits while that is fetched, but not for long.
func TestWait(t *testing.T) {
	c := newChain()
	c.grow(50)
	run(t, c, 1000, func(r *rig) {
		c.set(func(c *chain) { c.delay = 40 * time.Millisecond })
		c.grow(1)
		began := time.Now()
		r.check(c.at(51), true)
		if took := time.Since(began); took > 2*40*time.Millisecond+time.Millisecond {
			t.Errorf("it waited %v for two calls of 40 ms", took) // it doesn't wait for the next look at the head
		}
		c.set(func(c *chain) { c.delay = 10 * time.Second })
		c.grow(1)
		began = time.Now()
		if _, ok := r.ask("eth_getBlockByNumber", "0x34", true); ok || time.Since(began) != maxWait {
			t.Errorf("it waited %v", time.Since(began))
		}
		began = time.Now()
		if _, ok := r.ask("eth_getBlockByNumber", "0x33", true); !ok || time.Since(began) != 0 {
			t.Errorf("what is stored waited %v", time.Since(began))
		}
	})
}

// TestAway: while no node answers, what is final and what a hash names is answered still.
// Nodes are asked less and less often, and the copy goes on when they are back.
func TestAway(t *testing.T) {
	c := newChain()
	c.grow(100)
	run(t, c, 1000, func(r *rig) {
		c.set(func(c *chain) { c.away = true })
		r.check(c.at(80), true)
		r.check(c.at(81), false) // by its hash only
		time.Sleep(10 * time.Minute)
		if all, _ := c.called(); all > 300 {
			t.Errorf("the nodes were asked %d times", all)
		}
		c.set(func(c *chain) { c.away = false })
		c.grow(10)
		time.Sleep(longestWait)
		r.settle()
		r.check(c.at(110), true)
	})
}

// TestLastHead: while no node answers, blocks that are not final are answered as of the last
// head that one reported, with its age; not if that head was of a branch that the copy
// doesn't have.
func TestLastHead(t *testing.T) {
	c := newChain()
	c.grow(100)
	run(t, c, 1000, func(r *rig) {
		age := time.Duration(0)
		r.cfg.Last = func() (nodegate.Head, time.Duration, bool) {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.head, age, true
		}
		r.cfg.ShowAge = 10 * time.Second
		r.checkAge(0)
		c.set(func(c *chain) { c.away = true })
		age = 9 * time.Second
		r.checkAge(0)
		age = time.Hour
		r.checkAge(time.Hour)
		for n := range uint64(101) {
			r.check(c.at(n), true)
		}
		r.checkLogs(&logFilter{from: 10, to: 100})
		c.set(func(c *chain) { c.head.Fork++ })
		r.check(c.at(80), true)
		r.check(c.at(81), false) // by its hash only
	})
}

// checkAge checks the age of the head that an answer for the newest block shows.
func (r *rig) checkAge(want time.Duration) {
	r.t.Helper()
	var trace nodegate.Trace
	ctx := nodegate.WithTrace(r.t.Context(), &trace)
	result, err := r.Call(ctx, "eth_getBlockByNumber", []byte(`["0x64",false]`))
	if err != nil || string(result) == passed || trace.HeadAge != want {
		r.t.Errorf("%.40s, %v, the head's age is %v, want %v", result, err, trace.HeadAge, want)
	}
}

// TestErrors: a node that fails every call is asked in growing pauses, also if lookups ask
// for the newest block all the time.
func TestErrors(t *testing.T) {
	c := newChain()
	c.grow(50)
	run(t, c, 1000, func(r *rig) {
		c.called()
		c.set(func(c *chain) { c.failReceipts = &nodegate.Error{Code: nodegate.Busy, RetryAfter: 20 * time.Second} })
		c.grow(2)
		for range 600 {
			r.ask("eth_getBlockByNumber", "0x34", true)
			time.Sleep(100 * time.Millisecond)
		}
		if all, by := c.called(); all > 8 {
			t.Errorf("in a minute the nodes were asked %v", by)
		}
		c.set(func(c *chain) { c.failReceipts = nil })
		time.Sleep(longestWait)
		r.settle()
		r.check(c.at(52), true)
	})
}

// TestHoles: without receipts the rest of the block is answered.
func TestHoles(t *testing.T) {
	for _, err := range []error{
		&nodegate.Error{Code: nodegate.MethodNotFound}, &nodegate.Error{Code: nodegate.ResponseTooLarge},
		&nodegate.Error{Code: nodegate.NodeFault, Number: -32601}, &nodegate.Error{Code: nodegate.NodeFault, Number: -32000},
	} {
		t.Run(err.Error(), func(t *testing.T) { testHoles(t, err) })
	}
}

func testHoles(t *testing.T, err error) {
	c := newChain()
	c.grow(48)
	run(t, c, 1000, func(r *rig) {
		c.set(func(c *chain) { c.failReceipts = err })
		c.grow(2)
		time.Sleep(time.Minute)
		r.settle()
		m := c.at(50)
		if _, ok := r.ask("eth_getBlockByNumber", "0x32", true); !ok {
			t.Error("the block is passed on")
		}
		if _, ok := r.ask("eth_getTransactionByHash", m.Transactions()[0].Hash()); !ok {
			t.Error("the transaction is passed on")
		}
		for _, block := range []any{"0x32", m.Hash()} {
			if got, ok := r.ask("eth_getBlockReceipts", block); ok {
				t.Errorf("the receipts are %s", got)
			}
		}
		if got, ok := r.ask("eth_getTransactionReceipt", m.Transactions()[0].Hash()); ok {
			t.Errorf("the receipt is %s", got)
		}
		if got, ok := r.ask("eth_getBlockReceipts", "0x30"); !ok || got != "[]" {
			t.Errorf("the receipts of a block without transactions: %s", got)
		}
	})
}

// TestLies: whatever a node changes in a block or a receipt, nothing of it is answered. When
// it is honest again, the copy goes on.
func TestLies(t *testing.T) {
	full.Slow(t)
	lists := map[string]func(list []any) any{
		"no receipts":         func([]any) any { return nil },
		"an empty list":       func(list []any) any { return list[:0] },
		"a receipt less":      func(list []any) any { return list[1:] },
		"receipts moved":      func(list []any) any { list[0], list[1] = list[1], list[0]; return list },
		"a log less":          inLogs(func(logs []any) []any { return logs[1:] }),
		"a log more":          inLogs(func(logs []any) []any { return append(logs, logs[0]) }),
		"logs moved":          inLogs(func(logs []any) []any { logs[0], logs[1] = logs[1], logs[0]; return logs }),
		"logs numbered again": inLog("logIndex", "0x7"),
		"address of a log":    inLog("address", "0x00000000000000000000000000000000000000ff"),
		"topic of a log":      inLog("topics", []any{common32}),
		"data of a log":       inLog("data", "0x01"),
		"block of a log":      inLog("blockHash", common32),
		"log of another transaction": func(list []any) any {
			first, second := list[0].(map[string]any), list[1].(map[string]any)
			first["logs"], second["logs"] = second["logs"], first["logs"]
			return list
		},
	}
	for name, lie := range lists {
		t.Run(name, func(t *testing.T) {
			lieOnce(t, name, func(c *chain) { c.lieReceipts = lie })
		})
	}
	for name, lie := range map[string]func(kind string, o map[string]any){
		"parent":       func(kind string, o map[string]any) { change(kind, "block", o, "parentHash", common32) },
		"order":        func(kind string, o map[string]any) { swapTxs(kind, o) },
		"signature":    func(kind string, o map[string]any) { inTx(kind, o, "r", "0x123") },
		"withdrawal":   func(kind string, o map[string]any) { change(kind, "block", o, "withdrawals", []any{}) },
		"header field": func(kind string, o map[string]any) { change(kind, "block", o, "stateRoot", common32) },
		"block hash":   func(kind string, o map[string]any) { change(kind, "block", o, "hash", common32) },
		"sender": func(kind string, o map[string]any) {
			inTx(kind, o, "from", "0x00000000000000000000000000000000000000ff")
		},
		"price":          func(kind string, o map[string]any) { inTx(kind, o, "gasPrice", "0x7") },
		"value":          func(kind string, o map[string]any) { inTx(kind, o, "value", "0x123") },
		"transactions":   func(kind string, o map[string]any) { dropTx(kind, o) },
		"status":         func(kind string, o map[string]any) { change(kind, "receipt", o, "status", "0x0") },
		"gas used":       func(kind string, o map[string]any) { change(kind, "receipt", o, "gasUsed", "0x1") },
		"cumulative gas": func(kind string, o map[string]any) { change(kind, "receipt", o, "cumulativeGasUsed", "0x1") },
		"paid":           func(kind string, o map[string]any) { change(kind, "receipt", o, "effectiveGasPrice", "0x1") },
		"contract":       func(kind string, o map[string]any) { lieContract(kind, o) },
		"logs":           func(kind string, o map[string]any) { change(kind, "receipt", o, "logs", []any{}) },
		"bloom": func(kind string, o map[string]any) {
			change(kind, "receipt", o, "logsBloom", "0x"+fmt.Sprintf("%0512d", 0))
		},
	} {
		t.Run(name, func(t *testing.T) {
			lieOnce(t, name, func(c *chain) { c.lie = lie })
		})
	}
}

// lieOnce has the nodes lie about one block, and be honest again.
func lieOnce(t *testing.T, name string, lie func(*chain)) {
	c := newChain()
	c.grow(10)
	run(t, c, 1000, func(r *rig) {
		c.set(lie)
		c.grow(1) // three transactions
		time.Sleep(time.Minute)
		if _, tip, _ := r.store.Tip(); tip.Number != 10 {
			t.Fatalf("the lie is stored as block %d", tip.Number)
		}
		if got, ok := r.ask("eth_getBlockByNumber", "0xb", true); ok {
			t.Errorf("the lie is answered: %s", got)
		}
		r.check(c.at(10), true)
		c.set(func(c *chain) { c.lie, c.lieReceipts = nil, nil })
		time.Sleep(longestWait)
		r.settle()
		r.check(c.at(11), true)
	})
	if !t.Failed() {
		t.Logf("lie: %s | roots | block not kept, nothing of it answered; kept when told truly", name)
	}
}

// inLog changes a member of the first log of a block.
func inLog(name string, value any) func(list []any) any {
	return inLogs(func(logs []any) []any {
		logs[0].(map[string]any)[name] = value
		return logs
	})
}

// inLogs changes the logs of the first receipt of a block.
func inLogs(change func(logs []any) []any) func(list []any) any {
	return func(list []any) any {
		first := list[0].(map[string]any)
		first["logs"] = change(first["logs"].([]any))
		return list
	}
}

// swapTxs changes the order of transactions.
func swapTxs(kind string, o map[string]any) {
	if txs, ok := o["transactions"].([]any); ok && kind == "block" && len(txs) > 1 {
		txs[0], txs[1] = txs[1], txs[0]
	}
}

const common32 = "0x00000000000000000000000000000000000000000000000000000000000000ff"

func change(kind, wanted string, o map[string]any, name string, value any) {
	if kind == wanted {
		o[name] = value
	}
}

func inTx(kind string, o map[string]any, name string, value any) {
	if list, ok := o["transactions"].([]any); ok && kind == "block" && len(list) > 0 {
		if tx, ok := list[0].(map[string]any); ok {
			tx[name] = value
		}
	}
}

func dropTx(kind string, o map[string]any) {
	if list, ok := o["transactions"].([]any); ok && kind == "block" && len(list) > 0 {
		o["transactions"] = list[1:]
	}
}

func lieContract(kind string, o map[string]any) {
	if kind == "receipt" && o["contractAddress"] != nil {
		o["contractAddress"] = "0x00000000000000000000000000000000000000ff"
	}
}

// TestExtraMembers: a node can't pass a member for one that is proven by other letters.
func TestExtraMembers(t *testing.T) {
	c := newChain()
	c.set(func(c *chain) {
		c.lie = func(kind string, o map[string]any) {
			if kind == "receipt" {
				o["l1Fee"], o["GASUSED"], o["EffectiveGasPrice"], o["a\"b"] = "0x77", "0x1", "0x1", "c"
			}
		}
	})
	c.grow(3)
	run(t, c, 1000, func(r *rig) {
		m := c.at(3)
		want := m.receiptJSON(0)
		want["l1Fee"] = "0x77"
		got, ok := r.ask("eth_getTransactionReceipt", m.Transactions()[0].Hash())
		if !ok {
			t.Fatal("not answered")
		}
		sameJSON(t, "receipt", []byte(got), want)
	})
}

// TestResume: a copy goes on where it was, after a pause of any length, and after a reorg
// that it missed.
func TestResume(t *testing.T) {
	full.Slow(t)
	for name, missed := range map[string]struct {
		change func(c *chain)
		calls  int
		first  uint64
	}{
		"nothing":      {func(*chain) {}, 2, 73},
		"five blocks":  {func(c *chain) { c.grow(5) }, 1 + 2*5, 73},
		"a reorg":      {func(c *chain) { c.reorg(40, 42, 5) }, 1 + 2*42 + 1, 73},
		"500 blocks":   {func(c *chain) { c.grow(500) }, 1 + 2*500, 73},
		"2,000 blocks": {func(c *chain) { c.grow(2000) }, 1 + 2*128, 2200 - 127},
		"set back":     {func(c *chain) { c.reorg(30, 10, 6) }, 1 + 2*10 + 1, 73},
		"far back":     {func(c *chain) { c.reorg(180, 10, 6) }, 1 + 2*31, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if underRace && missed.calls > 100 {
				return
			}
			c := newChain()
			c.grow(200)
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, c, dir, 10_000)
				r.Start()
				r.settle()
				r.Close()
				missed.change(c)
				c.called()
				r = newRig(t, c, dir, 10_000)
				r.Start()
				defer r.Close()
				r.settle()
				if all, by := c.called(); all > missed.calls {
					t.Errorf("it took %v, want at most %d", by, missed.calls)
				}
				first, tip, _ := r.store.Tip()
				if first.Number != missed.first || tip.Number != c.head.Number {
					t.Errorf("the copy has blocks %d to %d", first.Number, tip.Number)
				}
				for n := max(first.Number, tip.Number-min(tip.Number, 45)); n <= tip.Number; n += uint64(rounds(1, 5)) {
					r.check(c.at(n), true)
				}
			})
		})
	}
}

// TestOtherChain: a folder of another chain is emptied.
func TestOtherChain(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		c := newChain()
		c.grow(10)
		r := newRig(t, c, dir, 1000)
		r.Start()
		r.settle()
		r.Close()
		old := c.at(5)
		c.set(func(c *chain) {
			c.blocks = nil
			c.add(99)
		})
		c.grow(20)
		r = newRig(t, c, dir, 1000)
		r.Start()
		defer r.Close()
		r.settle()
		r.check(c.at(5), true)
		if got, ok := r.ask("eth_getBlockByHash", old.Hash(), true); ok {
			t.Errorf("a block of the other chain is answered: %s", got)
		}
	})
}

// TestLost: when final blocks are taken back, nothing of before is answered.
func TestLost(t *testing.T) {
	c := newChain()
	c.grow(100)
	run(t, c, 1000, func(r *rig) {
		old := c.at(50)
		c.set(func(c *chain) { c.delay = time.Minute })
		c.reorg(90, 91, 3)
		c.set(func(c *chain) { c.head.Lost++ })
		for _, ask := range [][]any{{"0x32", true}, {"0x5", true}} {
			if got, ok := r.ask("eth_getBlockByNumber", ask...); ok {
				t.Errorf("%v is answered: %s", ask, got)
			}
		}
		c.set(func(c *chain) { c.delay = 0 })
		time.Sleep(3 * time.Minute)
		r.settle()
		r.check(c.at(50), true)
		if got, ok := r.ask("eth_getBlockByHash", old.Hash(), true); ok {
			t.Errorf("a block that was lost is answered: %s", got)
		}
	})
}

// TestFinalStays: a node's branch without the final block is not followed.
func TestFinalStays(t *testing.T) {
	c := newChain()
	c.grow(100)
	run(t, c, 1000, func(r *rig) {
		final := c.at(80)
		c.reorg(30, 31, 3)
		time.Sleep(time.Minute)
		if m, ok, err := r.store.Canonical(80); !ok || err != nil || m.Hash != final.Hash() {
			t.Errorf("the final block was replaced: %v", err)
		}
		if got, ok := r.ask("eth_getBlockByNumber", "0x55", true); ok {
			t.Errorf("a block of the old branch is answered: %s", got)
		}
	})
}

// TestPassedOver: a block that can't be proven holds the ledger up for a while, not for good.
func TestPassedOver(t *testing.T) {
	c := newChain()
	c.grow(20)
	run(t, c, 1000, func(r *rig) {
		c.set(func(c *chain) {
			c.lie = func(kind string, o map[string]any) {
				if kind == "block" && fmt.Sprint(o["number"]) == "0x15" {
					o["stateRoot"] = common32
				}
			}
		})
		c.grow(10)
		time.Sleep(10 * time.Minute)
		r.settle()
		r.check(c.at(22), true)
		r.check(c.at(30), true)
		if first, _, _ := r.store.Tip(); first.Number != 22 {
			t.Errorf("the copy begins with block %d", first.Number)
		}
		if got, ok := r.ask("eth_getBlockByNumber", "0x15", true); ok {
			t.Errorf("the block is answered: %s", got)
		}
	})
}

// TestPrune: the copy keeps as many blocks as it should, some more, and what is pruned is
// passed on.
func TestPrune(t *testing.T) {
	full.Slow(t)
	c := newChain()
	c.grow(10)
	run(t, c, 50, func(r *rig) {
		for range 300 {
			c.grow(1)
			time.Sleep(lookEvery)
		}
		r.settle()
		first, tip, _ := r.store.Tip()
		if kept := tip.Number - first.Number + 1; kept < 50 || kept > 100 {
			t.Errorf("%d blocks are kept", kept)
		}
		for n := first.Number; n <= tip.Number; n++ {
			r.check(c.at(n), true)
		}
		m := c.at(first.Number - 1)
		if got, ok := r.ask("eth_getBlockByHash", m.Hash(), true); ok {
			t.Errorf("a pruned block is answered: %s", got)
		}
		r.cfg.Disk = 1
		before := first
		for range 100 {
			c.grow(1)
			time.Sleep(lookEvery)
		}
		r.settle()
		if first, tip, _ := r.store.Tip(); tip.Number-first.Number >= 100 || first.Number <= before.Number {
			t.Errorf("blocks %d to %d are kept with a disk that is too small", first.Number, tip.Number)
		}
	})
}

// TestStop: a ledger that was stopped asks for nothing, and one that was closed passes on.
func TestStop(t *testing.T) {
	c := newChain()
	c.grow(10)
	run(t, c, 1000, func(r *rig) {
		c.set(func(c *chain) { c.delay = time.Hour })
		c.grow(1)
		time.Sleep(time.Second) // a call is in progress
		r.Stop()
		c.called()
		time.Sleep(time.Minute)
		if all, _ := c.called(); all != 0 {
			t.Errorf("a stopped ledger made %d calls", all)
		}
		r.check(c.at(10), true)
		r.Close()
		if got, ok := r.ask("eth_getBlockByNumber", "0xa", true); ok {
			t.Errorf("a closed ledger answers: %s", got)
		}
		r.Start() // does nothing
		r.Stop()
	})
	n := New(c, Config{Release: func() { t.Error("released what was not opened") }})
	n.Close()
}

// TestOpenFails: a folder that can't be used now is tried again.
func TestOpenFails(t *testing.T) {
	c := newChain()
	c.grow(10)
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, c, dir, 100)
		open, tries := r.cfg.Open, 0
		r.cfg.Open = func(ctx context.Context, genesis [32]byte) (*store.Store, error) {
			if tries++; tries < 4 {
				return nil, errors.New("in use")
			}
			return open(ctx, genesis)
		}
		r.Start()
		defer r.Close()
		r.settle()
		r.check(c.at(10), true)
	})
}
