package upstream_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/upstream/pool"
	"github.com/nodegate/nodegate/test/full"
	"github.com/nodegate/nodegate/test/harness"
)

// deceit changes one thing in the answers to a method. The answers to the pool's own
// questions about heads stay as they are.
type deceit struct {
	name           string
	method, params string
	change         func(result []byte) []byte
}

// swap replaces the value of the first field of a name.
func swap(name, by string) func([]byte) []byte {
	return func(result []byte) []byte {
		at := bytes.Index(result, []byte(`"`+name+`":"`))
		if at < 0 {
			return result
		}
		at += len(name) + len(`"":"`)
		end := at + bytes.IndexByte(result[at:], '"')
		return append(append(bytes.Clone(result[:at]), by...), result[end:]...)
	}
}

func answer(text string) func([]byte) []byte {
	return func([]byte) []byte { return []byte(text) }
}

// deceits are the lies that an answer alone shows, on the built-in chain.
func deceits(tx, block string) []deceit {
	other := "0x" + strings.Repeat("5e", 32)
	address := "0x" + strings.Repeat("ab", 20)
	logs := `[{"fromBlock":"0x6","toBlock":"0x8","address":"0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9"}]`
	proof := `["0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9",["0x0"],"0x7"]`
	return []deceit{
		{"block hash", "eth_getBlockByNumber", `["0x7",false]`, swap("hash", other)},
		{"block by hash: state root", "eth_getBlockByHash", `["` + block + `",false]`, swap("stateRoot", other)},
		{"parent hash", "eth_getBlockByNumber", `["0x7",true]`, swap("parentHash", other)},
		{"value in a block", "eth_getBlockByNumber", `["0x7",true]`, swap("value", "0x5eed")},
		{"another block", "eth_getBlockByNumber", `["0x7",false]`, swap("number", "0x6")},
		{"value", "eth_getTransactionByHash", `["` + tx + `"]`, swap("value", "0x5eed")},
		{"recipient", "eth_getTransactionByHash", `["` + tx + `"]`, swap("to", address)},
		{"a new type", "eth_getTransactionByHash", `["` + tx + `"]`, swap("type", "0x55")},
		{"signature", "eth_getTransactionByHash", `["` + tx + `"]`, swap("r", "0x5eed")},
		{"encoded transaction", "eth_getRawTransactionByHash", `["` + tx + `"]`, answer(`"0x02c0"`)},
		{"another receipt", "eth_getTransactionReceipt", `["` + tx + `"]`, swap("transactionHash", other)},
		{"logs of a receipt", "eth_getTransactionReceipt", `["` + tx + `"]`, swap("logsBloom", "0x"+strings.Repeat("11", 256))},
		{"status in block receipts", "eth_getBlockReceipts", `["0x7"]`, swap("status", "0x0")},
		{"gas in block receipts", "eth_getBlockReceipts", `["0x7"]`, swap("cumulativeGasUsed", "0x1")},
		{"no block receipts", "eth_getBlockReceipts", `["0x7"]`, answer("[]")},
		{"logs of another address", "eth_getLogs", logs, swap("address", address)},
		{"logs of another block", "eth_getLogs", logs, swap("blockNumber", "0x9")},
		{"balance in a proof", "eth_getProof", proof, swap("balance", "0x5eed")},
		{"slot in a proof", "eth_getProof", proof, swap("value", "0x5eed")},
		{"storage root in a proof", "eth_getProof", proof, swap("storageHash", other)},
	}
}

// deceive is a spoiler that tells one lie and counts how often.
func deceive(d deceit, told *atomic.Int64) spoiler {
	return func(w http.ResponseWriter, _ *http.Request, method string, body []byte) {
		var a struct {
			ID     json.RawMessage `json:"id"`
			Result json.RawMessage `json:"result"`
		}
		if method == d.method && json.Unmarshal(body, &a) == nil && a.Result != nil {
			if lie := d.change(a.Result); !bytes.Equal(lie, a.Result) {
				told.Add(1)
				body = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, a.ID, lie)
			}
		}
		_, _ = w.Write(body)
	}
}

// liarPool is a pool with a lying node beside two honest ones.
func liarPool(t *testing.T, s *harness.Service) (*pool.Pool, *hostile, *harness.Buffer) {
	t.Helper()
	var proxies [3]*hostile // the honest ones too, so that all are equally fast
	var nodes []pool.Node
	for i, name := range []string{"bad", "good", "better"} {
		proxies[i] = &hostile{next: s.URL("devnet", harness.KeyA)}
		server := httptest.NewServer(proxies[i])
		t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
		nodes = append(nodes, pool.Node{Name: name, URL: server.URL})
	}
	p, logs := openPool(t, nodes...)
	wait(t, "all nodes", func() bool {
		for _, n := range p.Status() {
			if !n.Healthy {
				return false
			}
		}
		return true
	})
	return p, proxies[0], logs
}

// askMany asks 40 times, and on until the liar was asked.
func askMany(t *testing.T, p *pool.Pool, d deceit, want []byte, told *atomic.Int64) (wrong *atomic.Int64) {
	t.Helper()
	wrong = new(atomic.Int64)
	inFours(told, func() {
		if got, err := p.Call(t.Context(), d.method, []byte(d.params)); err != nil || !bytes.Equal(got, want) {
			t.Logf("%s: got %.200s, %v", d.name, got, err)
			wrong.Add(1)
		}
	})
	return wrong
}

// inFours calls ask 40 times, and on until a lie was told. Four at a time, so that all nodes
// are asked: one at a time may go to the fastest only.
func inFours(told *atomic.Int64, ask func()) {
	for i := 0; i < 40 || told.Load() == 0 && i < 1000; i += 4 {
		var all sync.WaitGroup
		for range 4 {
			all.Go(ask)
		}
		all.Wait()
	}
}

// TestLies is row 58: of three nodes one lies in one field, and none of 40 calls gets the
// lie. The liar is ejected, and its reason is told.
func TestLies(t *testing.T) {
	full.Slow(t)
	s := startChain(t)
	const tx = "0x5e24293602a11146e1bd055dc58d81919f221743496b5d1229c483b83d6f8c33"
	var block struct{ BlockHash string }
	honest, _ := openPool(t, pool.Node{Name: "a", URL: s.URL("devnet", harness.KeyA)})
	raw, err := honest.Call(t.Context(), "eth_getTransactionByHash", []byte(`["`+tx+`"]`))
	if err != nil || json.Unmarshal(raw, &block) != nil {
		t.Fatal(err)
	}
	for _, d := range deceits(tx, block.BlockHash) {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			want, err := honest.Call(t.Context(), d.method, []byte(d.params))
			if err != nil {
				t.Fatal(err)
			}
			p, bad, logs := liarPool(t, s)
			var told atomic.Int64
			bad.spoil.Store(deceive(d, &told))
			wrong := askMany(t, p, d, want, &told)
			status := p.Status()[0]
			if wrong.Load() > 0 || told.Load() == 0 || status.Ejections == 0 {
				t.Errorf("%d of 40 answers are wrong, %d lies, status %+v", wrong.Load(), told.Load(), status)
			}
			t.Logf("row 58: %s: %d of 40 answers wrong, %d lies told", d.name, wrong.Load(), told.Load())
			if !strings.Contains(status.Why, "false answer") || !strings.Contains(logs.String(), "false answer") {
				t.Errorf("the reason is not told: %q\n%s", status.Why, logs)
			}
			for _, n := range p.Status()[1:] {
				if n.Ejections > 0 {
					t.Errorf("an honest node was ejected: %+v", n)
				}
			}
		})
	}
}

// TestLiesAgreed: of three nodes one lies about what an answer alone doesn't show. Where two must
// agree, none of 40 calls gets the lie, at the level that says so.
func TestLiesAgreed(t *testing.T) {
	full.Slow(t)
	s := startChain(t)
	const tx = "0x5e24293602a11146e1bd055dc58d81919f221743496b5d1229c483b83d6f8c33"
	const demo = `"0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9"`
	honest, _ := openPool(t, pool.Node{Name: "a", URL: s.URL("devnet", harness.KeyA)})
	for _, d := range []deceit{
		{"balance", "eth_getBalance", `[` + demo + `,"0x7"]`, answer(`"0x5eed"`)},
		{"nonce", "eth_getTransactionCount", `[` + demo + `,"0x7"]`, answer(`"0x5eed"`)},
		{"code", "eth_getCode", `[` + demo + `,"0x7"]`, answer(`"0x60016002"`)},
		{"slot", "eth_getStorageAt", `[` + demo + `,"0x0","0x7"]`, answer(`"0x` + strings.Repeat("5e", 32) + `"`)},
		{"result of a call", "eth_call", `[{"to":` + demo + `,"input":"0x3fa4f245"},"0x7"]`, answer(`"0x` + strings.Repeat("5e", 32) + `"`)},
		{"gas estimate", "eth_estimateGas", `[{"to":` + demo + `,"input":"0x3fa4f245"},"0x7"]`, answer(`"0x5eed"`)},
		{"null for an existing transaction", "eth_getTransactionByHash", `["` + tx + `"]`, answer("null")},
		{"null for an existing receipt", "eth_getTransactionReceipt", `["` + tx + `"]`, answer("null")},
		{"status of a receipt", "eth_getTransactionReceipt", `["` + tx + `"]`, swap("status", "0x0")},
		{"empty logs", "eth_getLogs", `[{"fromBlock":"0x6","toBlock":"0x8","address":` + demo + `}]`, answer("[]")},
		{"data of a log", "eth_getLogs", `[{"fromBlock":"0x6","toBlock":"0x8","address":` + demo + `}]`, swap("data", "0x5eed")},
		{"count of transactions", "eth_getBlockTransactionCountByNumber", `["0x7"]`, answer(`"0x5e"`)},
	} {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			want, err := honest.Call(t.Context(), d.method, []byte(d.params))
			if err != nil {
				t.Fatal(err)
			}
			p, bad, _ := liarPool(t, s)
			var told atomic.Int64
			bad.spoil.Store(deceive(d, &told))
			wrong, refused := askAgreeing(t, p, d, want, &told)
			if wrong > 0 || told.Load() == 0 || refused > 0 {
				t.Errorf("%d answers are wrong and %d refused, %d lies", wrong, refused, told.Load())
			}
			t.Logf("lie: %s | agreed | %d of 40 answers wrong, %d refused, %d lies told", d.name, wrong, refused, told.Load())
		})
	}
}

// askAgreeing is askMany for answers that two nodes agree on.
func askAgreeing(t *testing.T, p *pool.Pool, d deceit, want []byte, told *atomic.Int64) (wrong, refused int64) {
	t.Helper()
	var wrongs, refusals atomic.Int64
	inFours(told, func() {
		var trace nodegate.Trace
		got, err := p.Agreeing(2).Call(nodegate.WithTrace(t.Context(), &trace), d.method, []byte(d.params))
		switch {
		case errors.Is(err, nodegate.Unverified):
			refusals.Add(1)
		case err != nil || !bytes.Equal(got, want) || trace.Verified != nodegate.LevelAgreed || trace.Agreed != 2:
			wrongs.Add(1)
			t.Logf("%.100s, %v with %+v", got, err, trace)
		}
	})
	return wrongs.Load(), refusals.Load()
}
