package eth

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// answersOf are the transactions of a chain by type, with their receipts' hashes.
type minedTx struct {
	kind, hash, block, index string
}

// everyType finds one transaction of each type on devnet; legacy ones with and
// without a chain id.
func everyType(t *testing.T) []minedTx {
	t.Helper()
	node := New(devnet(), limits(Standard))
	seen := map[string]bool{}
	var list []minedTx
	for i := range 11 {
		var receipts []struct {
			Type  string `json:"type"`
			Hash  string `json:"transactionHash"`
			Block string `json:"blockHash"`
			Index string `json:"transactionIndex"`
		}
		if err := json.Unmarshal([]byte(ask(t, node, "eth_getBlockReceipts", fmt.Sprintf("[%d]", i))), &receipts); err != nil {
			t.Fatal(err)
		}
		for _, r := range receipts {
			_, protected := members(t, ask(t, node, "eth_getTransactionByHash", `["`+r.Hash+`"]`))["chainId"]
			kind := fmt.Sprintf("%s %v", r.Type, protected)
			if !seen[kind] {
				seen[kind] = true
				list = append(list, minedTx{r.Type, r.Hash, r.Block, r.Index})
			}
		}
	}
	if len(list) != 6 {
		t.Fatalf("found %v", slices.Sorted(maps.Keys(seen)))
	}
	return list
}

func members(t testing.TB, object string) map[string]json.RawMessage {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(object), &m); err != nil {
		t.Fatalf("%v: %s", err, object)
	}
	return m
}

// The rows of the dialects' table that are about transactions.
func TestTransactionShapes(t *testing.T) {
	for _, tx := range everyType(t) {
		standard := members(t, ask(t, New(devnet(), limits(Standard)), "eth_getTransactionByHash", `["`+tx.hash+`"]`))
		for _, d := range dialects {
			node := New(devnet(), limits(d.Dialect))
			byHash := members(t, ask(t, node, "eth_getTransactionByHash", `["`+tx.hash+`"]`))
			byIndex := members(t, ask(t, node, "eth_getTransactionByBlockHashAndIndex", `["`+tx.block+`","`+tx.index+`"]`))
			checkMembers(t, d.Dialect, tx.kind+" by hash", byHash, standard, false)
			checkMembers(t, d.Dialect, tx.kind+" by index", byIndex, standard, true)
		}
	}
}

// checkMembers compares a transaction with the standard's, member by member.
func checkMembers(t *testing.T, d Dialect, what string, got, standard map[string]json.RawMessage, parity bool) {
	t.Helper()
	for name, value := range standard {
		kept := d == Standard || d == Spec || in(transactionMembers, []byte(name))
		if kind := string(standard["type"]); name == "chainId" && d != Standard {
			kept = kind == typeDynamic || (d == Spec && kind != typeLegacy)
		}
		if name == "yParity" && d != Standard {
			kept = parity
		}
		switch v, ok := got[name]; {
		case ok != kept:
			t.Errorf("dialect %d, %s: %s is there: %v", d, what, name, ok)
		case ok && d == Strict && string(v) != string(padded([]byte(name), value)), ok && d != Strict && string(v) != string(value):
			t.Errorf("dialect %d, %s: %s is %s, want %s", d, what, name, v, value)
		}
	}
	for name := range got {
		if _, ok := standard[name]; !ok {
			t.Errorf("dialect %d, %s: %s is new", d, what, name)
		}
	}
}

// The table's own words, on transactions whose outcome is known by heart.
func TestDialectTableOfTransactions(t *testing.T) {
	const signed = `{"authorizationList":[{"r":"0x1"}],"r":"0xabc","s":"0x0","type":"0x4"}`
	const legacy, access, dynamic, blob = `{"blockHash":"0x1","blockTimestamp":"0x2","chainId":"0x539","hash":"0x3","type":"0x0","v":"0x25"}`,
		`{"accessList":[],"chainId":"0x539","hash":"0x3","type":"0x1","v":"0x1","yParity":"0x1"}`,
		`{"accessList":[],"blockTimestamp":"0x2","chainId":"0x539","hash":"0x3","type":"0x2","v":"0x1","yParity":"0x1"}`,
		`{"blobVersionedHashes":["0x4"],"chainId":"0x539","hash":"0x3","maxFeePerBlobGas":"0x5","type":"0x3","yParity":"0x0"}`
	for _, c := range []struct {
		in     string
		d      Dialect
		parity bool
		want   string
	}{
		{legacy, Spec, false, `{"blockHash":"0x1","blockTimestamp":"0x2","hash":"0x3","type":"0x0","v":"0x25"}`},
		{legacy, Strict, false, `{"blockHash":"0x1","hash":"0x3","type":"0x0","v":"0x25"}`},
		{legacy, Standard, false, legacy},
		{access, Spec, false, `{"accessList":[],"chainId":"0x539","hash":"0x3","type":"0x1","v":"0x1"}`},
		{access, Spec, true, access},
		{access, Strict, true, `{"accessList":[],"hash":"0x3","type":"0x1","v":"0x1","yParity":"0x1"}`},
		{dynamic, Spec, false, `{"accessList":[],"blockTimestamp":"0x2","chainId":"0x539","hash":"0x3","type":"0x2","v":"0x1"}`},
		{dynamic, Strict, false, `{"accessList":[],"chainId":"0x539","hash":"0x3","type":"0x2","v":"0x1"}`},
		{blob, Spec, false, `{"blobVersionedHashes":["0x4"],"chainId":"0x539","hash":"0x3","maxFeePerBlobGas":"0x5","type":"0x3"}`},
		{blob, Strict, false, `{"hash":"0x3","type":"0x3"}`},
		{blob, Standard, false, blob},
		{"null", Strict, false, "null"},
		{signed, Spec, false, signed},
		{signed, Strict, false, `{"r":"0x` + strings.Repeat("0", 61) + `abc","s":"0x` + strings.Repeat("0", 64) + `","type":"0x4"}`},
		{signed, Standard, false, signed},
	} {
		if got := string(c.d.transaction([]byte(c.in), c.parity)); got != c.want {
			t.Errorf("dialect %d of %s:\n%s, want\n%s", c.d, c.in, got, c.want)
		}
	}
}

func TestReceiptShapes(t *testing.T) {
	const receipt = `{"blobGasPrice":"0x1","blobGasUsed":"0x20000","blockHash":"0x2","logs":[{"address":"0x3","blockTimestamp":"0x4","topics":[],"removed":false}],"status":"0x1","type":"0x3"}`
	const strict = `{"blockHash":"0x2","logs":[{"address":"0x3","topics":[],"removed":false}],"status":"0x1","type":"0x3"}`
	for _, c := range []struct {
		d              Dialect
		receipt, block string
	}{
		{Spec, receipt, `[` + receipt + `,` + receipt + `]`},
		{Standard, receipt, `[` + receipt + `,` + receipt + `]`},
		{Strict, strict, `[` + strict + `,` + strict + `]`},
	} {
		if got := string(c.d.receipt([]byte(receipt))); got != c.receipt {
			t.Errorf("dialect %d: %s", c.d, got)
		}
		if got := string(c.d.receipts([]byte(`[` + receipt + `,` + receipt + `]`))); got != c.block {
			t.Errorf("dialect %d: %s", c.d, got)
		}
		for _, empty := range []string{"null", "[]"} {
			if got := string(c.d.receipts([]byte(empty))); got != empty {
				t.Errorf("dialect %d: %s became %s", c.d, empty, got)
			}
		}
	}
}

// A receipt from before Byzantium keeps its root in every dialect.
func TestReceiptWithRoot(t *testing.T) {
	const old = `{"blockHash":"0x2","logs":[],"root":"0x55","type":"0x0"}`
	for _, d := range dialects {
		if got := string(d.receipt([]byte(old))); got != old {
			t.Errorf("%s: %s", d.name, got)
		}
	}
}

// Answers of the chain are shared between callers: shaping must not touch them.
func TestShapingLeavesTheAnswer(t *testing.T) {
	for _, tx := range everyType(t) {
		for _, method := range []string{"eth_getTransactionByHash", "eth_getTransactionReceipt"} {
			params := `["` + tx.hash + `"]`
			before := ask(t, devnet(), method, params)
			for _, d := range dialects {
				ask(t, New(devnet(), limits(d.Dialect)), method, params)
			}
			if after := ask(t, devnet(), method, params); after != before {
				t.Errorf("%s of %s changed", method, tx.hash)
			}
		}
	}
}

// Every answer in every dialect is JSON of the same kind.
func TestShapedAnswersAreJSON(t *testing.T) {
	demo := strings.ToLower(devchain.DemoAddress().Hex())
	for _, d := range dialects {
		node := New(devnet(), limits(d.Dialect))
		for _, c := range [][2]string{
			{"eth_getBlockReceipts", `["latest"]`}, {"eth_getBlockReceipts", `[0]`}, {"eth_getBlockReceipts", `[999]`},
			{"eth_getProof", `["` + demo + `",["0x0"],"latest"]`}, {"eth_getStorageAt", `["` + demo + `","0x0","latest"]`},
			{"eth_getTransactionByHash", `["` + someHash + `"]`}, {"eth_getTransactionReceipt", `["` + someHash + `"]`},
		} {
			result := ask(t, node, c[0], c[1])
			if _, ok := jsonrpc.Compact(nil, []byte(result)); !ok {
				t.Errorf("%s %s %s: %s", d.name, c[0], c[1], result)
			}
		}
	}
}
