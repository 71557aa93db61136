package pool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/upstream/client"
	"github.com/nodegate/nodegate/internal/rpc/upstream/logrange"
	"github.com/nodegate/nodegate/test/full"
)

// logsOf are the made-up chain's logs: three in every seventh block, and one in each block
// from 500 to 600.
func logsOf(s logrange.Span) []byte {
	text := []byte{'['}
	for n := s.From; n <= s.To; n++ {
		for _, log := range logsAt(n) {
			text = append(append(text, log...), ',')
		}
	}
	return append(bytes.TrimSuffix(text, []byte{','}), ']')
}

// madeLogs are the logs of the made-up chain's first blocks: fakes are asked for them many times.
var madeLogs = sync.OnceValue(func() (blocks [][]string) {
	for n := range uint64(1100) {
		blocks = append(blocks, makeLogs(n))
	}
	return blocks
})

func logsAt(n uint64) []string {
	if blocks := madeLogs(); n < uint64(len(blocks)) {
		return blocks[n]
	}
	return makeLogs(n)
}

func makeLogs(n uint64) (list []string) {
	count := 0
	if n%7 == 0 {
		count = 3
	}
	if n >= 500 && n <= 600 {
		count++
	}
	for i := range count {
		list = append(list, fmt.Sprintf(`{"address":"0x%040x","topics":[],"data":"0x","blockHash":"0x%064x","blockNumber":"0x%x","transactionHash":"0x%064x","transactionIndex":"0x0","logIndex":"0x%x","removed":false}`, 1, n, n, n, i))
	}
	return list
}

// refusal is what a node says to a query that finds so many logs; nil if it answers.
type refusal func(s logrange.Span, found int) *client.CallError

// blockCap refuses more than a number of blocks.
func blockCap(most uint64, code int, text string) refusal {
	return func(s logrange.Span, _ int) *client.CallError {
		if s.Width() <= most {
			return nil
		}
		return &client.CallError{Code: code, Message: text}
	}
}

// resultCap refuses more than a number of logs. An %s in the text is a range that works.
func resultCap(most, code int, text string) refusal {
	return func(s logrange.Span, found int) *client.CallError {
		if found <= most {
			return nil
		}
		e := &client.CallError{Code: code, Message: text}
		if strings.Contains(text, "%x") {
			to := s.To
			for ; to > s.From && found > most; to-- {
				found -= len(logsAt(to))
			}
			e.Message = fmt.Sprintf(text, s.From, to)
		}
		return e
	}
}

// caps are eight ways to refuse a query, in the words of nodes and providers.
var caps = map[string]refusal{
	"Alchemy":    resultCap(40, -32602, "Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and no limit on the response size, or you can request any block range with a cap of 10K logs in the response. Based on your parameters and the response size limit, this block range should work: [0x%x, 0x%x]"),
	"Infura":     resultCap(40, -32005, "query returned more than 10000 results. Try with this block range [0x%x, 0x%x]."),
	"QuickNode":  blockCap(100, -32614, "eth_getLogs is limited to a 100 range"),
	"Ankr":       blockCap(100, -32600, "block range is too wide"),
	"dRPC":       blockCap(100, 35, "ranges over 100 blocks are not supported on freetier"),
	"Geth":       blockCap(101, -32602, "exceed maximum block range 100"),
	"Besu":       blockCap(100, -32005, "Requested range exceeds maximum RPC range limit"),
	"Nethermind": resultCap(40, -32005, "Too many logs requested. Max logs per response is 40."),
}

// logNode makes a fake answer log queries, and note their widths.
func logNode(f *fake, refuse refusal) *widths {
	w := new(widths)
	f.answer = func(_ context.Context, name string, params []byte) ([]byte, error) {
		filter, ok := logrange.Read(params)
		if name != "eth_getLogs" || !ok {
			return nil, nil
		}
		result := logsOf(filter.Span)
		refused := (*client.CallError)(nil)
		if refuse != nil {
			refused = refuse(filter.Span, strings.Count(string(result), "{"))
		}
		w.add(filter.Width(), refused != nil)
		if refused != nil {
			return nil, refused
		}
		return result, nil
	}
	return w
}

// widths counts what a node was asked.
type widths struct {
	mu             sync.Mutex
	asked, refused int
	widest         uint64
}

func (w *widths) add(width uint64, refused bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked++
	if refused {
		w.refused++
	}
	w.widest = max(w.widest, width)
}

func (w *widths) counts() (asked, refused int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked, w.refused
}

func logQuery(s logrange.Span) []byte {
	return fmt.Appendf(nil, `[{"fromBlock":"0x%x","toBlock":"0x%x","address":"0x0000000000000000000000000000000000000001"}]`, s.From, s.To)
}

// varied are ranges of the made-up chain, wide and narrow.
func varied(count int) []logrange.Span {
	list := []logrange.Span{{From: 0, To: 1000}, {From: 7, To: 7}, {From: 490, To: 610}, {From: 999, To: 1000}}
	draw := rand.New(rand.NewPCG(1, 2))
	for len(list) < count {
		from := draw.Uint64N(1000)
		list = append(list, logrange.Span{From: from, To: from + draw.Uint64N(1001-from)})
	}
	return list[:count]
}

// askLogs makes a call and compares its answer with what the chain has.
func askLogs(t *testing.T, p *Pool, s logrange.Span) (failed bool) {
	t.Helper()
	result, err := p.Call(t.Context(), "eth_getLogs", logQuery(s))
	if err == nil && string(result) != string(logsOf(s)) {
		t.Errorf("blocks %d to %d: another answer: %s", s.From, s.To, result)
	}
	if err != nil {
		t.Logf("blocks %d to %d: %v", s.From, s.To, err)
	}
	return err != nil
}

// TestCappedLogs: two of three nodes, and all of them, refuse wide queries, each provider in its own words. Every call is
// answered as the node without a cap would.
func TestCappedLogs(t *testing.T) {
	full.Slow(t)
	for _, uncapped := range []int{1, 0} {
		calls, failed := 0, 0
		for who, refuse := range caps {
			bubble(t, func(t *testing.T) {
				fakes := []*fake{newFake("a", 1000), newFake("b", 1000), newFake("c", 1000)}
				for i, f := range fakes {
					if i < uncapped {
						logNode(f, nil)
					} else {
						logNode(f, refuse)
					}
				}
				p, logs := openFakes(t, nil, fakes...)
				settle()
				for _, s := range varied(15) {
					calls++
					if askLogs(t, p, s) {
						failed++
						t.Logf("%s, %d without a cap", who, uncapped)
					}
				}
				for _, n := range p.Status() {
					if !n.Healthy || n.ErrorRate != 0 || n.Ejections != 0 {
						t.Errorf("%s: a cap counts as a fault: %+v", who, n)
					}
				}
				if strings.Contains(logs.String(), "ejected") {
					t.Error(logs)
				}
			})
		}
		if failed > 0 {
			t.Errorf("%d of %d calls failed with %d nodes without a cap", failed, calls, uncapped)
		}
	}
}

// TestLearnedCap: a limit of blocks is learned from one refusal, and tried again an hour later.
func TestLearnedCap(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFake("a", 1000)
		asked := logNode(f, caps["QuickNode"])
		p, _ := openFakes(t, nil, f)
		settle()
		for range 5 {
			askLogs(t, p, logrange.Span{From: 0, To: 999})
		}
		if total, refused := asked.counts(); total != 51 || refused != 1 {
			t.Errorf("%d requests, %d refused", total, refused)
		}
		if known := p.Status()[0].LogRange; known != 100 {
			t.Errorf("the status says %d blocks", known)
		}
		time.Sleep(statedFor)
		askLogs(t, p, logrange.Span{From: 0, To: 999})
		if _, refused := asked.counts(); refused != 2 {
			t.Errorf("%d refused", refused)
		}
	})
}

// TestWideNodePreferred: where one node allows the whole range, it gets the wide queries and the others
// share the narrow ones.
func TestWideNodePreferred(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := newFake("a", 1000), newFake("b", 1000)
		wide, narrow := logNode(a, nil), logNode(b, caps["QuickNode"])
		p, _ := openFakes(t, nil, a, b)
		settle()
		for range 20 {
			askLogs(t, p, logrange.Span{From: 0, To: 999})
		}
		if total, _ := wide.counts(); total != 20 {
			t.Errorf("the wide node was asked %d times", total)
		}
		if total, _ := narrow.counts(); total > 1 {
			t.Errorf("the narrow node was asked %d times", total)
		}
		a.set(func() { a.down = true })
		if askLogs(t, p, logrange.Span{From: 0, To: 999}) {
			t.Error("the narrow node was not asked for parts")
		}
	})
}

// TestStatedLogRange: a range that the operator has set is never exceeded.
func TestStatedLogRange(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFake("a", 1000)
		asked := logNode(f, caps["Ankr"])
		p, _ := openFakes(t, func(c *Config) { c.Nodes[0].MaxLogRange = 90 }, f)
		settle()
		askLogs(t, p, logrange.Span{From: 0, To: 999})
		if _, refused := asked.counts(); refused != 0 || asked.widest != 90 {
			t.Errorf("%d refused, the widest had %d blocks", refused, asked.widest)
		}
	})
}

// TestBackupForWideLogs: a backup is asked when the primary would need too many parts.
func TestBackupForWideLogs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := newFake("a", 1000), newFake("b!", 1000)
		logNode(a, blockCap(2, -32600, "Under the Free tier plan, you can make eth_getLogs requests with up to a 2 block range."))
		backup := logNode(b, nil)
		p, _ := openFakes(t, nil, a, b)
		settle()
		for _, s := range []logrange.Span{{From: 1, To: 1000}, {From: 1, To: 300}} {
			askLogs(t, p, s)
		}
		if total, _ := backup.counts(); total != 1 {
			t.Errorf("the backup was asked %d times", total)
		}
	})
}

// TestFailedPart: a part that fails on every node fails the call; nobody gets the others alone.
func TestFailedPart(t *testing.T) {
	for name, spoil := range map[string]func() ([]byte, error){
		"an error":     func() ([]byte, error) { return nil, &client.CallError{Code: -32603, Message: "Internal error"} },
		"no answer":    func() ([]byte, error) { return nil, &client.Fault{Sent: true, Err: errRefused} },
		"other blocks": func() ([]byte, error) { return logsOf(logrange.Span{From: 0, To: 1000}), nil },
		"no list":      func() ([]byte, error) { return []byte(`{}`), nil },
		"null":         func() ([]byte, error) { return []byte(`null`), nil },
		"capped itself": func() ([]byte, error) {
			return nil, &client.CallError{Code: -32005, Message: "query returned more than 10000 results"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				a, b := newFake("a", 1000), newFake("b", 1000)
				for _, f := range []*fake{a, b} {
					logNode(f, caps["QuickNode"])
					inner := f.answer
					f.answer = func(ctx context.Context, name string, params []byte) ([]byte, error) {
						if filter, ok := logrange.Read(params); ok && name == "eth_getLogs" && filter.Width() <= 100 && filter.From <= 555 && 555 <= filter.To {
							return spoil()
						}
						return inner(ctx, name, params)
					}
				}
				p, _ := openFakes(t, nil, a, b)
				settle()
				result, err := p.Call(t.Context(), "eth_getLogs", logQuery(logrange.Span{From: 0, To: 1000}))
				if err == nil || result != nil {
					t.Errorf("%d bytes, %v", len(result), err)
				}
				if askLogs(t, p, logrange.Span{From: 600, To: 900}) {
					t.Error("other ranges fail too")
				}
			})
		})
	}
}

// TestTooManyParts: the error names a range that works.
func TestTooManyParts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFake("a", 1000)
		asked := logNode(f, blockCap(4, -32614, "eth_getLogs is limited to a 4 range"))
		p, _ := openFakes(t, nil, f)
		settle()
		_, err := p.Call(t.Context(), "eth_getLogs", logQuery(logrange.Span{From: 0x10, To: 1000}))
		if !errors.Is(err, nodegate.InvalidParams) || !strings.Contains(err.Error(), "try fromBlock 0x10, toBlock 0x32f") {
			t.Error(err)
		}
		if total, _ := asked.counts(); total != 1 {
			t.Errorf("asked %d times", total)
		}
		if askLogs(t, p, logrange.Span{From: 0x10, To: 0x32f}) {
			t.Error("the range that was named does not work")
		}
	})
}

// TestMergedSize: the parts together are bounded as one answer is.
func TestMergedSize(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFake("a", 1000)
		logNode(f, caps["QuickNode"])
		p, _ := openFakes(t, func(c *Config) { c.MaxAnswer = 4000 }, f)
		settle()
		if _, err := p.Call(t.Context(), "eth_getLogs", logQuery(logrange.Span{From: 0, To: 1000})); !errors.Is(err, nodegate.ResponseTooLarge) {
			t.Error(err)
		}
		askLogs(t, p, logrange.Span{From: 0, To: 150})
	})
}

// TestPartsNeedTheirBlocks: a node that is behind a part's blocks does not answer it.
func TestPartsNeedTheirBlocks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		late, other := newFake("late", 997), newFake("other", 1000)
		for _, f := range []*fake{late, other} {
			logNode(f, caps["QuickNode"])
		}
		inner := late.answer
		late.answer = func(ctx context.Context, name string, params []byte) ([]byte, error) {
			if filter, ok := logrange.Read(params); ok && name == "eth_getLogs" && filter.To > 997 {
				return []byte("[]"), nil // as clients do that don't know the block
			}
			return inner(ctx, name, params)
		}
		p, _ := openFakes(t, nil, late, other)
		settle()
		for range 10 {
			if askLogs(t, p, logrange.Span{From: 501, To: 1000}) {
				t.Error("failed")
			}
		}
	})
}

// TestWideNodeIsLate: a node without a cap that lacks the last blocks is not asked for them, not even
// where the others would need too many parts.
func TestWideNodeIsLate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		late, narrow := newFake("late", 998), newFake("narrow", 1000)
		lateAsked := logNode(late, nil)
		logNode(narrow, blockCap(4, -32614, "eth_getLogs is limited to a 4 range"))
		p, _ := openFakes(t, nil, late, narrow)
		settle()
		for range 5 {
			if _, err := p.Call(t.Context(), "eth_getLogs", logQuery(logrange.Span{From: 0, To: 1000})); !errors.Is(err, nodegate.InvalidParams) {
				t.Error(err)
			}
		}
		if total, _ := lateAsked.counts(); total > 0 {
			t.Errorf("it was asked %d times", total)
		}
		askLogs(t, p, logrange.Span{From: 500, To: 1000})
	})
}

// TestReorgBetweenParts: parts from before and after a reorg are never merged.
func TestReorgBetweenParts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFake("a", 1000)
		asked := logNode(f, caps["QuickNode"])
		inner, once := f.answer, sync.Once{}
		f.answer = func(ctx context.Context, name string, params []byte) ([]byte, error) {
			if filter, ok := logrange.Read(params); ok && name == "eth_getLogs" && filter.To == 1000 && filter.Width() <= 100 {
				once.Do(func() {
					f.reorg("bb", 995, 1001)
					time.Sleep(3 * time.Second)
				})
			}
			return inner(ctx, name, params)
		}
		p, _ := openFakes(t, nil, f)
		settle()
		askLogs(t, p, logrange.Span{From: 801, To: 1000})
		if total, _ := asked.counts(); total != 1+2+2 {
			t.Errorf("asked %d times", total)
		}
	})
}

// TestPartsWaitForCredits: a node's rate bounds the parts of a call too, which wait for it.
func TestPartsWaitForCredits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFake("a", 1000)
		logNode(f, caps["QuickNode"])
		p, _ := openFakes(t, func(c *Config) { c.Nodes[0].CreditsPerSecond = 4 }, f)
		settle()
		start := time.Now()
		if askLogs(t, p, logrange.Span{From: 1, To: 1000}) || time.Since(start) < time.Second {
			t.Errorf("done after %v", time.Since(start))
		}
	})
}

// TestLogDeadline: the time of the call covers all of its parts.
func TestLogDeadline(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFake("a", 1000)
		logNode(f, caps["QuickNode"])
		inner := f.answer
		f.answer = func(ctx context.Context, name string, params []byte) ([]byte, error) {
			if name == "eth_getLogs" {
				select {
				case <-time.After(4 * time.Second):
				case <-ctx.Done():
					return nil, &client.Fault{Sent: true, Err: ctx.Err()}
				}
			}
			return inner(ctx, name, params)
		}
		p, _ := openFakes(t, nil, f)
		settle()
		start := time.Now()
		_, err := p.Call(t.Context(), "eth_getLogs", logQuery(logrange.Span{From: 1, To: 1000}))
		if took := time.Since(start); !errors.Is(err, nodegate.Timeout) || took > 10100*time.Millisecond {
			t.Errorf("%v after %v", err, took)
		}
	})
}
