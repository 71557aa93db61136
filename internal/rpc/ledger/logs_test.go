package ledger

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/background"
	"github.com/nodegate/nodegate/internal/fairshare"
	"github.com/nodegate/nodegate/test/full"
)

// logFilter is a query in the words of the tests. A nil value is any.
type logFilter struct {
	from, to uint64
	block    *common.Hash
	address  *common.Address
	topics   []*common.Hash
}

// params are those of the call.
func (f *logFilter) params() map[string]any {
	out := map[string]any{}
	if f.block != nil {
		out["blockHash"] = f.block
	} else {
		out["fromBlock"], out["toBlock"] = hexutil.Uint64(f.from), hexutil.Uint64(f.to)
	}
	if f.address != nil {
		out["address"] = f.address
	}
	if len(f.topics) > 0 {
		out["topics"] = f.topics
	}
	return out
}

// logsOf are the logs that a filter finds in blocks, as nodes show them in receipts.
func (f *logFilter) logsOf(blocks ...*made) []any {
	found := []any{}
	for _, m := range blocks {
		for i, r := range m.receipts {
			shown := m.receiptJSON(i)["logs"].([]any)
			for j, l := range r.Logs {
				match := (f.address == nil || *f.address == l.Address) && len(f.topics) <= len(l.Topics)
				for k := 0; k < len(f.topics) && match; k++ {
					match = f.topics[k] == nil || *f.topics[k] == l.Topics[k]
				}
				if match {
					found = append(found, shown[j])
				}
			}
		}
	}
	return found
}

// checkLogs compares what the ledger finds with what is in the blocks of the chain, and
// returns how many logs that is.
func (r *rig) checkLogs(f *logFilter) int {
	r.t.Helper()
	var blocks []*made
	if f.block != nil {
		r.chain.set(func(c *chain) { blocks = []*made{c.byHash[*f.block]} })
	} else {
		for n := f.from; n <= f.to; n++ {
			blocks = append(blocks, r.chain.at(n))
		}
	}
	want := f.logsOf(blocks...)
	got, ok := r.ask("eth_getLogs", f.params())
	if !ok {
		r.t.Errorf("%v is passed on", f.params())
		return 0
	}
	sameJSON(r.t, fmt.Sprint(f.params()), []byte(got), want)
	return len(want)
}

// TestLogs: ranges of the copy, and single blocks, by address and by topics.
func TestLogs(t *testing.T) {
	full.Slow(t)
	c := newChain()
	c.grow(160)
	run(t, c, 1000, func(r *rig) {
		found := 0
		to, one := common.Address{9}, common.Hash{1}
		queries := rounds(300, 60)
		for range queries {
			f := &logFilter{from: 33 + rand.Uint64N(128)}
			f.to = f.from + rand.Uint64N(161-f.from)
			switch rand.IntN(4) {
			case 0:
				f.address = &to
			case 1:
				f.address = &common.Address{byte(f.from + rand.Uint64N(4))}
			case 2:
				f.topics = []*common.Hash{&one, {byte(rand.IntN(4))}}
			}
			if rand.IntN(4) == 0 {
				f.topics = append(f.topics, nil)
			}
			if rand.IntN(3) == 0 {
				hash := c.at(f.from).Hash()
				f.block = &hash
			}
			found += r.checkLogs(f)
		}
		if 3*found < 10*queries {
			t.Errorf("only %d logs were found", found)
		}
		for _, f := range []logFilter{{from: 32, to: 40}, {from: 0, to: 5}, {from: 100, to: 161}, {from: 161, to: 170}, {block: &common.Hash{5}}} {
			if got, ok := r.ask("eth_getLogs", f.params()); ok {
				t.Errorf("%v is answered: %.80s", f.params(), got)
			}
		}
	})
}

// TestLogsOfTheNewest: a query of a block that is being fetched waits for it, by number and
// by hash.
func TestLogsOfTheNewest(t *testing.T) {
	c := newChain()
	c.grow(50)
	run(t, c, 1000, func(r *rig) {
		c.set(func(c *chain) { c.delay = 20 * time.Millisecond })
		c.grow(1)
		r.checkLogs(&logFilter{from: 45, to: 51})
		c.grow(1)
		hash := c.at(52).Hash()
		r.checkLogs(&logFilter{block: &hash})
	})
}

// TestLogsWithoutNodes: what is final, or named by its hash, is found while no node is there.
func TestLogsWithoutNodes(t *testing.T) {
	c := newChain()
	c.grow(60)
	run(t, c, 1000, func(r *rig) {
		c.set(func(c *chain) { c.away = true })
		hash := c.at(58).Hash()
		r.checkLogs(&logFilter{from: 10, to: 40})
		r.checkLogs(&logFilter{block: &hash})
		if _, ok := r.ask("eth_getLogs", (&logFilter{from: 10, to: 41}).params()); ok {
			t.Error("a block that may be taken back is searched")
		}
	})
}

// TestLogsOfAnotherBranch: a store that moved on to another branch is not searched before
// the view shows it, although the view holds for the head.
func TestLogsOfAnotherBranch(t *testing.T) {
	c := newChain()
	c.grow(60)
	run(t, c, 1000, func(r *rig) {
		f := &logFilter{from: 30, to: 50}
		r.checkLogs(f)
		v := *r.view.Load()
		v.hash = [32]byte{1}
		r.view.Store(&v)
		if _, ok := r.ask("eth_getLogs", f.params()); ok {
			t.Error("blocks of another branch than the view's are searched")
		}
		hash := c.at(50).Hash()
		r.checkLogs(&logFilter{block: &hash})
	})
}

// TestLogsInReorgs: while the chain is reorganized again and again, every answer is of one
// branch, which was the chain at some moment of the query.
func TestLogsInReorgs(t *testing.T) {
	full.Slow(t)
	c := newChain()
	c.grow(60)
	run(t, c, 1000, func(r *rig) {
		var mu sync.Mutex
		var branches []string // the logs of the range, of each branch that was the chain
		f := &logFilter{from: 40, to: 60, address: &common.Address{9}}
		note := func() {
			var blocks []*made
			for n := f.from; n <= f.to; n++ {
				blocks = append(blocks, c.at(n))
			}
			raw, err := json.Marshal(f.logsOf(blocks...))
			if err != nil {
				t.Error(err)
			}
			branches = append(branches, ordered(raw))
		}
		note()
		ctx, cancel := context.WithCancel(r.t.Context())
		var all sync.WaitGroup
		ours := 0
		for range 3 {
			all.Go(func() {
				for ctx.Err() == nil {
					mu.Lock()
					first := len(branches) - 1
					mu.Unlock()
					got, ok := r.ask("eth_getLogs", f.params())
					mu.Lock()
					if ok {
						ours++
						if !slices.Contains(branches[first:], ordered([]byte(got))) {
							t.Errorf("the answer is of none of the branches: %.200s", got)
						}
					}
					mu.Unlock()
					time.Sleep(7 * time.Millisecond)
				}
			})
		}
		for salt := range int64(rounds(40, 10)) {
			mu.Lock() // what the head tells of is noted before an answer is compared
			depth := 1 + rand.IntN(12)
			c.reorg(depth, depth, salt+1)
			note()
			mu.Unlock()
			time.Sleep(time.Duration(rand.IntN(300)) * time.Millisecond)
		}
		cancel()
		all.Wait()
		if ours < 100 {
			t.Errorf("only %d queries were answered by the ledger", ours)
		}
	})
}

// ordered is a JSON value with the members of its objects in order, or nothing if it is none.
func ordered(raw []byte) string {
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return ""
	}
	out, _ := json.Marshal(value)
	return string(out)
}

// TestLogsOfHoles: a range with a block without receipts is passed on, whatever is asked for.
func TestLogsOfHoles(t *testing.T) {
	c := newChain()
	c.grow(49)
	run(t, c, 1000, func(r *rig) {
		c.set(func(c *chain) { c.failReceipts = &nodegate.Error{Code: nodegate.MethodNotFound} })
		c.grow(1)
		r.settle()
		c.set(func(c *chain) { c.failReceipts = nil })
		c.grow(3)
		r.settle()
		hole := c.at(50).Hash()
		for _, f := range []logFilter{{from: 45, to: 53}, {from: 50, to: 50, address: &common.Address{0xee}}, {from: 45, to: 50, address: &common.Address{9}}, {block: &hole}} {
			if got, ok := r.ask("eth_getLogs", f.params()); ok {
				t.Errorf("%v over a hole is answered: %.80s", f.params(), got)
			}
		}
		r.checkLogs(&logFilter{from: 30, to: 49})
		r.checkLogs(&logFilter{from: 51, to: 53})
	})
}

// TestLogsOutsideTheRoots: a block with a transaction that its roots leave out, as Polygon's
// have, may have logs that are not stored.
func TestLogsOutsideTheRoots(t *testing.T) {
	c := newChain()
	c.grow(20)
	c.lie = func(kind string, o map[string]any) {
		if kind != "block" || o["number"] != "0x12" {
			return
		}
		number := binary.BigEndian.AppendUint64(nil, 0x12)
		block := common.HexToHash(fmt.Sprint(o["hash"]))
		list := o["transactions"].([]any)
		o["transactions"] = append(list, map[string]any{
			"hash": crypto.Keccak256Hash([]byte("matic-bor-receipt-"), number, block[:]), "type": "0x0", "blockHash": block, "blockNumber": "0x12",
			"transactionIndex": hexutil.Uint64(len(list)), "from": common.Address{}, "to": common.Address{}, "gas": "0x0", "gasPrice": "0x0", "input": "0x",
			"nonce": "0x0", "value": "0x0", "v": "0x0", "r": "0x0", "s": "0x0",
		})
	}
	run(t, c, 1000, func(r *rig) {
		block := c.at(0x12).Hash()
		for _, f := range []logFilter{{from: 10, to: 20}, {from: 0x12, to: 0x12, address: &common.Address{0xee}}, {block: &block}} {
			if got, ok := r.ask("eth_getLogs", f.params()); ok {
				t.Errorf("%v is answered: %.80s", f.params(), got)
			}
		}
		r.checkLogs(&logFilter{from: 1, to: 17})
		if _, ok := r.ask("eth_getTransactionReceipt", c.at(0x12).Transactions()[0].Hash()); !ok {
			t.Error("a receipt of the block is passed on")
		}
	})
}

// TestLogLimits: a list ends where the layers above refuse it, and one that is too large
// is refused at once. Nodes are asked for neither.
func TestLogLimits(t *testing.T) {
	c := newChain()
	c.grow(60)
	run(t, c, 1000, func(r *rig) {
		f := &logFilter{from: 20, to: 50}
		raw, err := json.Marshal([]any{f.params()})
		if err != nil {
			t.Fatal(err)
		}
		call := func(most, bytes int) ([]byte, error) {
			r.cfg.MaxAnswer = bytes
			return r.Call(nodegate.WithTrace(r.t.Context(), &nodegate.Trace{MostLogs: most}), "eth_getLogs", raw)
		}
		all, err := call(0, 0)
		if err != nil {
			t.Fatal(err)
		}
		total := r.checkLogs(f)
		for _, most := range []int{1, 7, total, total + 1} {
			got, err := call(most, 0)
			if err != nil || strings.Count(string(got), `"logIndex"`) != min(most, total) || !strings.HasPrefix(string(all), strings.TrimSuffix(string(got), "]")) {
				t.Errorf("at most %d logs: %.80s, %v", most, got, err)
			}
		}
		if got, err := call(0, len(all)); err != nil || len(got) != len(all) {
			t.Errorf("within the bound: %d bytes, %v", len(got), err)
		}
		for _, bytes := range []int{len(all) - 1, 1000, 1} {
			if got, err := call(0, bytes); !errors.Is(err, nodegate.ResponseTooLarge) {
				t.Errorf("with %d of %d bytes: %.80s, %v", bytes, len(all), got, err)
			}
		}
		if n := r.next.(*below).asked; n != 0 {
			t.Errorf("%d calls were passed on", n)
		}
	})
}

// TestLogsEnd: a query ends with its call, with an error and not with a part of the logs.
func TestLogsEnd(t *testing.T) {
	c := newChain()
	c.grow(60)
	run(t, c, 1000, func(r *rig) {
		ctx, cancel := context.WithCancel(r.t.Context())
		cancel()
		raw, err := json.Marshal([]any{(&logFilter{from: 20, to: 50}).params()})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.Call(ctx, "eth_getLogs", raw); !errors.Is(err, nodegate.Timeout) {
			t.Errorf("got %.80s, %v", got, err)
		}
	})
}

// TestOnly: without the node below, what the copy can't answer is an error.
func TestOnly(t *testing.T) {
	c := newChain()
	c.grow(160)
	run(t, c, 1000, func(r *rig) {
		for params, found := range map[string]bool{
			`[{"fromBlock":"0x28","toBlock":"0x64"}]`: true, `[{"fromBlock":"0x1","toBlock":"0x64"}]`: false, `[{"fromBlock":"0x28","toBlock":"latest"}]`: false, `[]`: false,
		} {
			got, err := r.Only().Call(r.t.Context(), "eth_getLogs", []byte(params))
			if found != (err == nil) || !found && !errors.Is(err, nodegate.NotFound) {
				t.Errorf("%s: %.80s, %v", params, got, err)
			}
		}
		if n := r.next.(*below).asked; n != 0 {
			t.Errorf("%d calls were passed on", n)
		}
	})
}

// TestLongSearches: of an account only one goes on at a time, and who waits ends with its
// context.
func TestLongSearches(t *testing.T) {
	long := fairshare.New(4, 1)
	walk := func(ctx context.Context, steps int, then func(p *pace)) {
		background.Apart(func(thread *background.Thread) {
			p := pace{ctx: ctx, thread: thread, long: long}
			defer p.end()
			for range steps {
				p.step()
			}
			then(&p)
		})
	}
	walk(t.Context(), longSearch-1, func(p *pace) {
		if p.placed || long.Used() != 0 {
			t.Error("a short search has a place")
		}
	})
	walk(t.Context(), 3*longSearch, func(p *pace) {
		if !p.placed || long.Used() != 1 {
			t.Errorf("a long search has no place of its own: %d are taken", long.Used())
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		walk(ctx, longSearch, func(p *pace) {
			if p.placed || ctx.Err() == nil {
				t.Error("two long searches of one account go on")
			}
		})
	})
	if !long.Idle() {
		t.Error("places are kept")
	}
}

// TestSearchTime: a search that takes too long ends with an error, and not with a part of
// the logs. It needs a clock that goes on while it works.
func TestSearchTime(t *testing.T) {
	c := newChain()
	c.grow(20)
	r := newRig(t, c, t.TempDir(), 1000)
	r.cfg.SearchTime = time.Nanosecond
	r.Start()
	defer r.Close()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if v := r.view.Load(); v != nil && v.last == 20 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the ledger doesn't reach the head")
		}
	}
	if got, err := r.Call(t.Context(), "eth_getLogs", []byte(`[{"fromBlock":"0x1","toBlock":"0x14"}]`)); !errors.Is(err, nodegate.Timeout) {
		t.Errorf("got %.80s, %v", got, err)
	}
}
