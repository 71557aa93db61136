package nodes_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/credential"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
	"github.com/nodegate/nodegate/test/full"
)

// stateCalls are reads of what accounts hold: of every account of the built-in chain that a
// transaction names and of some others, in blocks that are named in every way.
func stateCalls(t *testing.T, node *front, network string) (list []lookup) {
	t.Helper()
	last := height(t, node, network)
	seen := map[string]bool{"0x0000000000000000000000000000000000000001": true, "0xabababababababababababababababababababab": true}
	blocks := []string{`"latest"`, `"earliest"`, `"finalized"`, `"pending"`, "null", `"0xffffff"`, `"0x05"`, `"` + "0x" + strings.Repeat("ab", 32) + `"`, `{"blockNumber":"0x4"}`}
	for n := last - min(last, 12); n <= last; n++ {
		var b struct {
			Hash, Miner  string
			Transactions []struct{ From, To string }
		}
		raw := node.call(t, network, "eth_getBlockByNumber", fmt.Sprintf(`["%#x",true]`, n)).result
		if err := json.Unmarshal([]byte(raw), &b); err != nil {
			t.Fatal(err)
		}
		blocks = append(blocks, fmt.Sprintf(`"%#x"`, n), `"`+b.Hash+`"`)
		if n%4 == 0 {
			blocks = append(blocks, `{"blockHash":"`+b.Hash+`"}`, `{"blockHash":"`+b.Hash+`","requireCanonical":true}`)
		}
		seen[b.Miner] = true
		for _, tx := range b.Transactions {
			seen[tx.From] = true
			if tx.To != "" {
				seen[tx.To] = true
			}
		}
	}
	for account := range seen {
		a := `"` + account + `"`
		for i, block := range blocks {
			slot := fmt.Sprintf(`"0x%064x"`, i%4)
			list = append(list, lookup{"eth_getBalance", `[` + a + `,` + block + `]`}, lookup{"eth_getTransactionCount", `[` + a + `,` + block + `]`},
				lookup{"eth_getCode", `[` + a + `,` + block + `]`}, lookup{"eth_getStorageAt", `[` + a + `,` + slot + `,` + block + `]`},
				lookup{"eth_getStorageAt", `[` + a + `,"0x1",` + block + `]`},
				lookup{"eth_getStorageValues", `[{` + a + `:[` + slot + `]},` + block + `]`}, lookup{"eth_getProof", `[` + a + `,[` + slot + `,"0x2"],` + block + `]`})
		}
		list = append(list, lookup{"eth_getBalance", `[` + a + `]`}, lookup{"eth_getStorageAt", `[` + a + `,"0x0"]`}, lookup{"eth_getCode", `[` + a + `,"latest","more"]`})
	}
	return append(list, lookup{"eth_getBalance", `[]`}, lookup{"eth_getBalance", `["0x12","latest"]`}, lookup{"eth_getCode", `[{},"latest"]`},
		lookup{"eth_getStorageValues", `[{},"latest"]`}, lookup{"eth_getStorageValues", `[{"0x12":[]},"latest"]`})
}

// proven tells whether the answer to a call has to be: all are, but of the pending block.
func (l lookup) proven() bool {
	return !strings.Contains(l.params, "pending") || l.method == "eth_getProof"
}

// valuesIn counts the calls for a value, which proofs stand for.
func valuesIn(calls map[string]int) (n int) {
	for call := range calls {
		switch name, _, _ := strings.Cut(call, " "); name {
		case "eth_getBalance", "eth_getTransactionCount", "eth_getStorageAt", "eth_getStorageValues":
			n++
		}
	}
	return n
}

// proofsIn counts the calls for proofs and for code.
func proofsIn(calls map[string]int) (n int) {
	for call, times := range calls {
		if name, _, _ := strings.Cut(call, " "); name == "eth_getProof" || name == "eth_getCode" {
			n += times
		}
	}
	return n
}

// TestVerifyState: with verify: state every read of what accounts hold has the bytes, or the
// error, that the nodes answer with, in every dialect, and its level. No node is asked for a
// value, and no read takes more than a proof and the code.
func TestVerifyState(t *testing.T) {
	node := presets(t)
	for _, dialect := range []string{"spec", "strict", "standard"} {
		t.Run(dialect, func(t *testing.T) {
			c := countCalls(t, node.URL("dev", key))
			of := "    dialect: " + dialect + "\n"
			f := startFront(t, "networks:\n"+network("main", of+"    verify: state\n", c.url)+network("plain", of, node.URL("dev", key)))
			f.ready(t)
			f.await(t, "/readyz/main")
			f.await(t, "/readyz/plain")
			calls := stateCalls(t, node, "dev")
			c.take()
			compared, asked := 0, 0
			step := 1
			if dialect != "spec" { // all reads in one dialect, and some in the others
				step = full.Rounds(1, 5)
			}
			for i := 0; i < len(calls); i += step {
				l := calls[i]
				want, got := f.call(t, "plain", l.method, l.params), f.call(t, "main", l.method, l.params)
				if got.result != want.result || got.error != want.error {
					t.Fatalf("%s %s\nis   %.300s %s\nwant %.300s %s", l.method, l.params, got.result, got.error, want.result, want.error)
				}
				if level := got.header.Get("X-Verified"); (level == "roots; agreed=1") != (got.result != "" && l.proven()) {
					t.Fatalf("%s %s is answered with X-Verified %q: %.100s %s", l.method, l.params, level, got.result, got.error)
				}
				took, _ := c.take()
				if asked += len(took); got.result != "" && l.proven() && (valuesIn(took) > 0 || proofsIn(took) > 2) {
					t.Errorf("%s %s took %v", l.method, l.params, took)
				}
				compared++
			}
			t.Logf("%d answers are those of the node; it was asked %d times", compared, asked)
		})
	}
}

// TestVerifyStateRequired: a network that gives verified answers only gives what it proves.
func TestVerifyStateRequired(t *testing.T) {
	node := presets(t)
	f := startFront(t, "networks:\n"+network("main", withLedger+"    verify: state\n    require_verified: roots\n", node.URL("dev", key))+
		network("proofs", withLedger+"    require_verified: roots\n", node.URL("dev", key)))
	f.ready(t)
	last := height(t, node, "dev")
	f.untilLedger(t, "main", last)
	f.untilLedger(t, "proofs", last)
	account := `"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"`
	balance, proof := `[`+account+`,"latest"]`, `[`+account+`,[],"latest"]`
	for _, c := range []struct {
		network, method, params string
		given                   bool
	}{
		{"main", "eth_getBalance", balance, true}, {"main", "eth_getProof", proof, true}, {"proofs", "eth_getProof", proof, true},
		{"main", "eth_getBalance", `[` + account + `,"pending"]`, false}, {"main", "eth_call", `[{"to":` + account + `},"latest"]`, false},
		{"proofs", "eth_getBalance", balance, false},
	} {
		got := f.call(t, c.network, c.method, c.params)
		if c.given {
			if want := node.call(t, "dev", c.method, c.params); got.result != want.result || got.header.Get("X-Verified") != "roots; agreed=1" {
				t.Errorf("%s on %s is %+v, want %s", c.method, c.network, got, want.result)
			}
		} else if !strings.HasPrefix(got.error, "this network only returns verified responses") {
			t.Errorf("%s on %s is %+v", c.method, c.network, got)
		}
	}
	_, metrics := get(t, f.Admin+"/metrics")
	if want := `nodegate_verified_total{level="roots",method="eth_getBalance",network="main"} 1`; !strings.Contains(metrics, want) {
		t.Errorf("the metrics lack %s", want)
	}
}

// executing are the settings of a network that executes calls by the rules of the built-in chain.
func executing(t *testing.T) string {
	t.Helper()
	genesis := filepath.Join(t.TempDir(), "genesis.json")
	raw, err := json.Marshal(devchain.Devnet().Genesis())
	if err == nil {
		err = os.WriteFile(genesis, raw, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return "    chain_id: 1337\n    verify: execution\n    verify_genesis: " + genesis + "\n"
}

// TestVerifyExecutionPaid: an account pays for the proofs that its calls take beyond the first
// few, until its credits are used up.
func TestVerifyExecutionPaid(t *testing.T) {
	node := presets(t)
	c := countCalls(t, node.URL("dev", key))
	f := startFront(t, "plans:\n  small: {credits_per_day: 10000}\nnetworks:\n"+network("main", executing(t), c.url))
	small := credential.NewKey()
	if err := f.AddKey("small", "small", small, "", nodegate.KeySettings{}); err != nil {
		t.Fatal(err)
	}
	f.ready(t)
	balances := func(first, count int) string {
		code := "6000"
		for i := range count {
			code += fmt.Sprintf("73%040x3101", 0x5eed00000000+first+i)
		}
		return `[{"data":"0x` + code + `60005260206000f3"},"latest"]`
	}
	c.take()
	if got := f.callAs(t, small, "main", "eth_call", balances(0, 30)); got.header.Get("X-Verified") == "" { // it costs 80 and at most 26 x 150
		t.Fatalf("a call of 30 accounts is %+v", got)
	}
	c.take()
	got := f.callAs(t, small, "main", "eth_call", balances(100, 200))
	if got.status != http.StatusPaymentRequired || !strings.Contains(got.error, "eth_getProof from nodes, which cost") || !strings.Contains(got.error, "Split it into smaller calls") {
		t.Errorf("a call of 200 accounts is %+v", got)
	}
	if took, _ := c.take(); proofsIn(took) > 8+(10_000-80-22*150)/150 {
		t.Errorf("the node gave %d proofs", proofsIn(took))
	}
	if got := f.call(t, "main", "eth_call", balances(100, 200)); got.header.Get("X-Verified") == "" {
		t.Errorf("for an account without a limit it is %+v", got)
	}
}

// TestVerifyExecution: with verify: execution calls and estimates are executed here, and have
// the bytes, or the error, that the nodes answer with. What isn't is the word of a node.
func TestVerifyExecution(t *testing.T) {
	node := presets(t)
	c := countCalls(t, node.URL("dev", key))
	of := executing(t)
	f := startFront(t, "networks:\n"+network("main", of, c.url)+network("strict", withLedger+"    require_verified: roots\n"+of, c.url)+network("plain", "", node.URL("dev", key)))
	f.ready(t)
	for _, name := range []string{"main", "plain", "strict"} {
		f.await(t, "/readyz/"+name)
	}
	f.untilLedger(t, "strict", height(t, node, "dev"))
	demo := strings.ToLower(devchain.DemoAddress().Hex())
	balance := fmt.Sprintf(`"to":"%s","data":"0x70a08231000000000000000000000000f39fd6e51aad88f6f4ce6ab8827279cfffb92266"`, demo)
	value, fails := `"to":"`+demo+`","data":"0x3fa4f245"`, `"to":"`+demo+`","data":"0xe7cb5232"`
	for _, l := range []struct {
		call, more string
		proven     bool
	}{
		{balance, `,"latest"`, true}, {value, `,"0x5"`, true}, {value, "", true}, {fails, `,"latest"`, true}, {`"to":"` + demo + `","value":"0x1"`, `,"latest"`, true},
		{`"data":"0x6001600255"`, `,"latest"`, true}, {`"from":"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266","to":"0xabababababababababababababababababababab","value":"0x1"`, `,"latest"`, true},
		{value, `,"pending"`, false}, {value + `,"blobVersionedHashes":[]`, `,"latest"`, false}, {value + `,"gasPrice":"0x0","nonce":"0x1"`, `,"latest"`, true}, {value, `,"latest",{"` + demo + `":{"stateDiff":{"0x` + strings.Repeat("0", 64) + `":"0x` + strings.Repeat("0", 63) + `5"}}}`, true},
		{`"data":"0x4360005260206000f3"`, `,"latest",null,{"number":"0x999"}`, true}, {value, `,"0xffffff"`, false},
	} {
		for _, name := range []string{"eth_call", "eth_estimateGas"} {
			params := `[{` + l.call + `}` + l.more + `]`
			want, got, strict := f.call(t, "plain", name, params), f.call(t, "main", name, params), f.call(t, "strict", name, params)
			if got.result != want.result || got.error != want.error {
				t.Errorf("%s %s is %s %s, want %s %s", name, params, got.result, got.error, want.result, want.error)
			}
			if level := got.header.Get("X-Verified"); got.result != "" && (level == "roots; agreed=1") != l.proven {
				t.Errorf("%s %s is answered with X-Verified %q", name, params, level)
			}
			if refused := strings.HasPrefix(strict.error, "this network only returns verified responses"); refused == l.proven {
				t.Errorf("%s %s where answers must be verified is %s %s", name, params, strict.result, strict.error)
			}
		}
	}
	_, metrics := get(t, f.Admin+"/metrics")
	for _, name := range []string{"eth_call", "eth_estimateGas"} {
		if want := `nodegate_verified_total{level="roots",method="` + name + `",network="main"} `; !strings.Contains(metrics, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	c.take()
	if got := f.call(t, "main", "eth_call", `[{`+balance+`},"latest"]`); got.header.Get("X-Cache") != "hit" {
		t.Errorf("the second time it is %+v", got)
	}
	took, _ := c.take()
	delete(took, "eth_createAccessList") // one that was given up may come late
	if len(took) > 0 {
		t.Errorf("the second time it took %v", took)
	}
}
