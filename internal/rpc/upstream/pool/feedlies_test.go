package pool

import (
	"bytes"
	"encoding/json"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/nodegate/nodegate/internal/rpc/upstream/heads"
)

// realBlock is a block whose header hashes to its hash.
func realBlock(n uint64, parent string) heads.Header {
	var above common.Hash
	_ = json.Unmarshal([]byte(parent), &above)
	raw, err := json.Marshal(&types.Header{
		Number: new(big.Int).SetUint64(n), ParentHash: above, Time: chainStart + n, GasLimit: 30_000_000, Difficulty: new(big.Int), BaseFee: big.NewInt(7),
		UncleHash: types.EmptyUncleHash, TxHash: types.EmptyTxsHash, ReceiptHash: types.EmptyReceiptsHash, WithdrawalsHash: &types.EmptyWithdrawalsHash,
	})
	if err != nil {
		panic(err)
	}
	h, ok := heads.Read(append(raw[:len(raw)-1], `,"transactions":[],"uncles":[]}`...))
	if !ok {
		panic(string(raw))
	}
	return h
}

// realFake is a fake with such blocks.
func realFake(name string, head uint64) *fake {
	f := newFake(name, 0)
	f.chain = []heads.Header{realBlock(0, blockHash("00", 0))}
	f.extend(head, nil)
	return f
}

// extend adds blocks up to a number. Sockets are told of the last one, as a lie has it.
func (f *fake) extend(to uint64, lie func([]byte) []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for n := uint64(len(f.chain)); n <= to; n++ {
		f.chain = append(f.chain, realBlock(n, f.chain[n-1].Hash))
	}
	event := f.chain[to].Raw
	if lie != nil {
		event = lie(event)
	}
	for _, c := range f.feeds {
		c <- event
	}
}

func replace(old, by string) func([]byte) []byte {
	return func(raw []byte) []byte { return bytes.Replace(raw, []byte(old), []byte(by), 1) }
}

// TestLyingHeads: of three nodes one lies about each new block over its WebSocket. Nobody
// gets the lie, the liar is ejected with the reason, and the stream has no gap.
func TestLyingHeads(t *testing.T) {
	other := `"0x` + strings.Repeat("5e", 32) + `"`
	for name, lie := range map[string]func([]byte) []byte{
		"gas limit":    replace(`"gasLimit":"0x1c9c380"`, `"gasLimit":"0x1c9c381"`),
		"coinbase":     replace(`"miner":"0x00`, `"miner":"0x5e`),
		"a hash twice": replace(`"hash":`, `"hash":`+other+`,"hash":`),
		"made up": func(raw []byte) []byte {
			h, _ := heads.Read(raw)
			return replace(`"hash":`+h.Hash, `"hash":`+other)(raw)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				liar, b, c := realFake("ws-liar", 100), realFake("ws-b", 100), realFake("c", 100)
				p, logs := openFakes(t, nil, liar, b, c)
				settle()
				news := subscribe(t, p, `["newHeads"]`)
				for n := uint64(101); n <= 105; n++ {
					if n > 102 {
						liar.extend(n, lie)
					} else {
						liar.extend(n, nil)
					}
					b.extend(n, nil)
					c.extend(n, nil)
					settle()
				}
				got := collect(news)
				for i, e := range got {
					h, ok := heads.Read([]byte(e))
					if !ok || h.Hash != b.chain[101+i].Hash || strings.Contains(e, "5e5e") || strings.Contains(e, "0x1c9c381") || strings.Contains(e, `"miner":"0x5e`) {
						t.Errorf("event %d: %s", i, e)
					}
				}
				if len(got) != 5 {
					t.Errorf("%d events, want 5", len(got))
				}
				if s := p.Status(); s[0].Ejections != 1 || !strings.Contains(s[0].Why, "false answer") || s[1].Ejections+s[2].Ejections > 0 {
					t.Errorf("status %+v\n%s", s, logs)
				}
			})
		})
	}
}

// TestThinHeads: a node whose events leave out a field is no liar. Subscribers get the
// whole header.
func TestThinHeads(t *testing.T) {
	thin := func(raw []byte) []byte {
		return replace(`"withdrawalsRoot":"`+types.EmptyWithdrawalsHash.Hex()+`",`, "")(raw)
	}
	bubble(t, func(t *testing.T) {
		a, b, c := realFake("ws-a", 100), realFake("b", 100), realFake("c", 100)
		p, logs := openFakes(t, nil, a, b, c)
		settle()
		news := subscribe(t, p, `["newHeads"]`)
		for n := uint64(101); n <= 103; n++ {
			a.extend(n, thin)
			time.Sleep(100 * time.Millisecond)
			b.extend(n, nil)
			c.extend(n, nil)
			settle()
		}
		got := collect(news)
		if len(got) != 3 || strings.Count(strings.Join(got, ""), "withdrawalsRoot") != 3 {
			t.Errorf("%q", got)
		}
		if strings.Contains(logs.String(), "false answer") {
			t.Error(logs)
		}
	})
}

// TestLyingHeadsByPoll: what a node without a WebSocket says of its newest block is checked
// too, and so are the blocks between.
func TestLyingHeadsByPoll(t *testing.T) {
	for _, method := range []string{"eth_getBlockByNumber", "eth_getBlockByHash"} {
		t.Run(method, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				liar, b, c := realFake("liar", 100), realFake("b", 100), realFake("c", 100)
				p, logs := openFakes(t, nil, liar, b, c)
				settle()
				news := subscribe(t, p, `["newHeads"]`)
				lie := replace(`"miner":"0x00`, `"miner":"0x5e`)
				liar.extend(105, nil)
				liar.answers(method, string(lie(liar.chain[104].Raw)), nil)
				time.Sleep(3 * time.Second) // so that the liar leads
				b.extend(105, nil)
				c.extend(105, nil)
				time.Sleep(5 * time.Second)
				got := collect(news)
				if len(got) != 5 || strings.Contains(strings.Join(got, ""), `"miner":"0x5e`) {
					t.Errorf("%d events: %q", len(got), got)
				}
				if !strings.Contains(logs.String(), "node ejected for a false answer") {
					t.Error(logs)
				}
			})
		})
	}
}

// TestLyingLogs: the node that reports a block invents a log of it. Nobody gets the log.
func TestLyingLogs(t *testing.T) {
	addr := `"0x` + strings.Repeat("11", 20) + `"`
	for name, c := range map[string]struct {
		address, number string
		ejected         bool
	}{
		"of another address": {`"0x` + strings.Repeat("22", 20) + `"`, `"0x65"`, true},
		"of another number":  {addr, `"0x64"`, false}, // dropped: no other node's logs have passed this check yet
		"not in the bloom":   {addr, `"0x65"`, false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				liar, b, other := realFake("ws-liar", 100), realFake("b", 100), realFake("c", 100)
				p, _ := openFakes(t, nil, liar, b, other)
				settle()
				logs := subscribe(t, p, `["logs",{"address":`+addr+`}]`)
				next := realBlock(101, liar.chain[100].Hash)
				liar.answers("eth_getLogs", `[{"address":`+c.address+`,"topics":[],"data":"0x","blockHash":`+next.Hash+`,"blockNumber":`+c.number+
					`,"transactionHash":`+someHash+`,"transactionIndex":"0x0","logIndex":"0x0","removed":false}]`, nil)
				liar.extend(101, nil)
				time.Sleep(100 * time.Millisecond)
				b.extend(101, nil)
				other.extend(101, nil)
				time.Sleep(10 * time.Second)
				if got := collect(logs); len(got) != 0 || liar.count("eth_getLogs") == 0 {
					t.Errorf("%q after %d lies", got, liar.count("eth_getLogs"))
				}
				if n := p.Status()[0].Ejections; (n > 0) != c.ejected {
					t.Errorf("ejected %d times", n)
				}
			})
		})
	}
}
