package upstream_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
	"github.com/nodegate/nodegate/internal/rpc/chain/lane"
	"github.com/nodegate/nodegate/internal/rpc/chain/native"
	"github.com/nodegate/nodegate/internal/rpc/proven"
	"github.com/nodegate/nodegate/internal/rpc/upstream/pool"
	"github.com/nodegate/nodegate/test/full"
	"github.com/nodegate/nodegate/test/harness"
)

// proxy stands before a node and changes its answers.
type proxy struct {
	next  string
	lie   func(method, result string) string
	begun *atomic.Bool // it lies from now on
	told  *atomic.Int64
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	resp, err := http.Post(p.next, "application/json", bytes.NewReader(body))
	if err != nil {
		http.Error(w, "next", http.StatusBadGateway)
		return
	}
	answer, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(p.changed(body, answer))
}

// changed is an answer with the lie. The looks at a node's head are answered truly.
func (p *proxy) changed(body, answer []byte) []byte {
	var call struct {
		Method string
		Params []any
	}
	var said struct{ ID, Result json.RawMessage }
	if p.lie == nil || !p.begun.Load() || json.Unmarshal(body, &call) != nil || json.Unmarshal(answer, &said) != nil || said.Result == nil {
		return answer
	}
	if len(call.Params) > 0 && strings.Contains("latest safe finalized", fmt.Sprint(call.Params[0])) {
		return answer
	}
	lie := p.lie(call.Method, string(said.Result))
	if lie == string(said.Result) {
		return answer
	}
	p.told.Add(1)
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, said.ID, lie)
}

// swapOf replaces the value of the first member of a name in the answers to a method.
func swapOf(method, name, by string) func(string, string) string {
	return func(asked, result string) string {
		before, after, ok := strings.Cut(result, `"`+name+`":"`)
		if asked != method || !ok {
			return result
		}
		_, rest, _ := strings.Cut(after, `"`)
		return before + `"` + name + `":"` + by + `"` + rest
	}
}

// instead answers a method with something else.
func instead(method, by string) func(string, string) string {
	return func(asked, result string) string {
		if asked == method {
			return by
		}
		return result
	}
}

// The accounts and the block of the built-in chain that are asked for.
const (
	sender = `"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"`
	token  = `"0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9"`
	absent = `"0xabababababababababababababababababababab"`
	slot0  = `"0x0000000000000000000000000000000000000000000000000000000000000000"`
)

// Calls of that chain: the balance of the sender, the first slot and the time of the block, and
// one that writes the slot.
const (
	balanceCode = `{"gas":"0x2faf080","input":"0x73f39fd6e51aad88f6f4ce6ab8827279cfffb922663160005260206000f3"}`
	valueCall   = `{"to":` + token + `,"gas":"0x2faf080","input":"0x3fa4f245"}`
	timeCode    = `{"gas":"0x2faf080","input":"0x4260005260206000f3"}`
	setCall     = `{"to":` + token + `,"input":"0x552410770000000000000000000000000000000000000000000000000000000000000009"}`
)

// devMachine executes by the rules of the built-in chain.
func devMachine(t *testing.T) *native.Machine {
	t.Helper()
	genesis, err := json.Marshal(devchain.Devnet().Genesis())
	if err != nil {
		t.Fatal(err)
	}
	m, err := native.NewMachine(1337, genesis, native.Config{CallTimeout: time.Minute, Lanes: lane.New(2, 2)})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// three is a pool of three nodes over one chain, of which the first lies. The others are its
// backups, so that it is asked first.
func three(t *testing.T, chain string, lie func(method, result string) string) (p *pool.Pool, told *atomic.Int64) {
	t.Helper()
	told = new(atomic.Int64)
	begun := new(atomic.Bool)
	var nodes []pool.Node
	for i, name := range []string{"liar", "good", "better"} {
		h := &proxy{next: chain, begun: begun, told: told}
		if i == 0 {
			h.lie = lie
		}
		s := httptest.NewServer(h)
		t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
		nodes = append(nodes, pool.Node{Name: name, URL: s.URL, Backup: i > 0})
	}
	p = pool.Open(pool.Config{Network: "dev", Nodes: nodes, ChainID: 1337, Poll: 50 * time.Millisecond, Timeout: 20 * time.Second, MaxAnswer: 1 << 20, Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(p.Close)
	healthy := func() bool {
		for _, s := range p.Status() {
			if !s.Healthy {
				return false
			}
		}
		return true
	}
	for end := time.Now().Add(time.Minute); !healthy(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the nodes are not in use: %+v", p.Status())
		}
	}
	begun.Store(true) // all of them are in use
	return p, told
}

// TestLiesAboutState: of three nodes one lies about an account, its storage, its code, the header of
// the block, or forges the proof. Nobody gets the lie, and the node is ejected.
func TestLiesAboutState(t *testing.T) {
	full.Slow(t)
	s := harness.Start(t, func(c *config.Config) { c.Networks[0].Cache = 0 })
	chain := s.URL("devnet", harness.KeyA)
	honest, _ := three(t, chain, nil)
	machine := devMachine(t)
	node := func(p *pool.Pool) *proven.Node {
		return proven.New(p, proven.Config{Values: true, Source: p, Hash: p.Hash, Bytes: 4 << 20, Machine: machine})
	}
	other := "0x" + strings.Repeat("5e", 32)
	true7, err := honest.Call(t.Context(), "eth_getProof", []byte(`[`+token+`,[`+slot0+`],"0x7"]`))
	if err != nil {
		t.Fatal(err)
	}
	block3, err := honest.Call(t.Context(), "eth_getBlockByNumber", []byte(`["0x3",false]`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, method, params string
		lie                  func(method, result string) string
	}{
		{"balance", "eth_getBalance", `[` + sender + `,"0x7"]`, swapOf("eth_getProof", "balance", "0x5eed")},
		{"nonce", "eth_getTransactionCount", `[` + sender + `,"0x7"]`, swapOf("eth_getProof", "nonce", "0x5eed")},
		{"code", "eth_getCode", `[` + token + `,"0x7"]`, instead("eth_getCode", `"0x60016002"`)},
		{"no code", "eth_getCode", `[` + token + `,"0x7"]`, instead("eth_getCode", `"0x"`)},
		{"hash of code", "eth_getCode", `[` + token + `,"0x7"]`, swapOf("eth_getProof", "codeHash", other)},
		{"slot", "eth_getStorageAt", `[` + token + `,` + slot0 + `,"0x7"]`, swapOf("eth_getProof", "value", "0x5eed")},
		{"slots", "eth_getStorageValues", `[{` + token + `:[` + slot0 + `]},"0x7"]`, swapOf("eth_getProof", "value", "0x5eed")},
		{"root of storage", "eth_getStorageAt", `[` + token + `,` + slot0 + `,"0x7"]`, swapOf("eth_getProof", "storageHash", other)},
		{"balance of an absent account", "eth_getBalance", `[` + absent + `,"0x7"]`, swapOf("eth_getProof", "balance", "0x5eed")},
		{"an account as absent", "eth_getBalance", `[` + sender + `,"0x7"]`, instead("eth_getProof",
			`{"address":`+sender+`,"accountProof":[],"balance":"0x0","nonce":"0x0","codeHash":`+slot0+`,"storageHash":`+slot0+`,"storageProof":[]}`)},
		{"the proof of another account", "eth_getBalance", `[` + sender + `,"0x7"]`, instead("eth_getProof", strings.Replace(string(true7), token, sender, 1))},
		{"the proof of another block", "eth_getBalance", `[` + sender + `,"0x9"]`, instead("eth_getProof", string(true7))},
		{"a forged proof", "eth_getBalance", `[` + sender + `,"0x7"]`, forge},
		{"another header", "eth_getBalance", `[` + sender + `,"0x7"]`, func(method, result string) string {
			if method == "eth_getBlockByNumber" && strings.Contains(result, `"number":"0x7"`) {
				return string(block3)
			}
			return result
		}},
		{"another newest header", "eth_getBalance", `[` + sender + `,"latest"]`, instead("eth_getBlockByHash", string(block3))},
		{"state root", "eth_getBalance", `[` + sender + `,"0x7"]`, swapOf("eth_getBlockByNumber", "stateRoot", other)},
		{"newest state root", "eth_getBalance", `[` + sender + `,"latest"]`, swapOf("eth_getBlockByHash", "stateRoot", other)},
		{"balance for a call", "eth_call", `[` + balanceCode + `,"0x7"]`, swapOf("eth_getProof", "balance", "0x5eed")},
		{"slot for a call", "eth_call", `[` + valueCall + `,"0x7"]`, swapOf("eth_getProof", "value", "0x5eed")},
		{"code for a call", "eth_call", `[` + valueCall + `,"0x7"]`, instead("eth_getCode", `"0x60016002"`)},
		{"no code for a call", "eth_call", `[` + valueCall + `,"latest"]`, instead("eth_getCode", `"0x"`)},
		{"the proof of another account for a call", "eth_call", `[` + valueCall + `,"0x7"]`, instead("eth_getProof", strings.Replace(string(true7), token, sender, 1))},
		{"header of a call", "eth_call", `[` + timeCode + `,"0x7"]`, swapOf("eth_getBlockByNumber", "timestamp", "0x1")},
		{"newest header of a call", "eth_call", `[` + timeCode + `,"latest"]`, swapOf("eth_getBlockByHash", "timestamp", "0x1")},
		{"state root of a call", "eth_call", `[` + valueCall + `,"latest"]`, swapOf("eth_getBlockByHash", "stateRoot", other)},
		{"slot for an estimate", "eth_estimateGas", `[` + setCall + `,"0x7"]`, swapOf("eth_getProof", "value", "0x5eed")},
		{"code for an estimate", "eth_estimateGas", `[` + setCall + `,"latest"]`, instead("eth_getCode", `"0x60016002"`)},
		{"a proof for the client", "eth_getProof", `[` + token + `,[` + slot0 + `],"0x7"]`, swapOf("eth_getProof", "balance", "0x5eed")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			want, err := honest.Call(t.Context(), c.method, []byte(c.params))
			if err != nil {
				t.Fatal(err)
			}
			p, told := three(t, chain, c.lie)
			wrong := 0
			for range 10 {
				var trace nodegate.Trace
				got, err := node(p).Call(nodegate.WithTrace(t.Context(), &trace), c.method, []byte(c.params))
				if err != nil || !bytes.Equal(got, want) || trace.Verified != nodegate.LevelRoots {
					wrong++
					t.Logf("%.100s, %v with %+v", got, err, trace)
				}
			}
			if wrong > 0 || told.Load() == 0 {
				t.Errorf("%d answers are wrong after %d lies", wrong, told.Load())
			}
			t.Logf("lie: %s | roots | %d of 10 answers wrong, %d lies told", c.name, wrong, told.Load())
			for i, s := range p.Status() {
				if (s.Ejections > 0) != (i == 0) {
					t.Errorf("the status is %+v", s)
				}
			}
		})
	}
}

// forge changes the last node of an account's proof, and the balance with it.
func forge(method, result string) string {
	var p map[string]any
	if method != "eth_getProof" || json.Unmarshal([]byte(result), &p) != nil {
		return result
	}
	list := p["accountProof"].([]any)
	last := list[len(list)-1].(string)
	list[len(list)-1] = last[:len(last)-2] + "00"
	out, err := json.Marshal(p)
	if err != nil {
		return result
	}
	return string(out)
}
