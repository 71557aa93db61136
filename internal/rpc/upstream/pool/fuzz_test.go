package pool

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// FuzzReadHeader holds the reader of headers to encoding/json.
func FuzzReadHeader(f *testing.F) {
	f.Add(string(makeBlock(genesisBranch, 7, blockHash(genesisBranch, 6)).raw))
	f.Add(`{"number":"0x1","number":"0x2"}`)
	f.Add(`{"number":null}`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, raw string) {
		h, ok := readHeader([]byte(raw))
		if _, plain := jsonrpc.Compact(nil, []byte(raw)); !ok || !plain {
			return // members that are there twice are refused by package wire's caller, or mean nothing
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal([]byte(raw), &want); err != nil {
			t.Fatalf("read %q, which is not JSON", raw)
		}
		number, err := strconv.ParseUint(strings.TrimPrefix(strings.Trim(string(want["number"]), `"`), "0x"), 16, 64)
		if err != nil || number != h.number {
			t.Errorf("number %d of %s, want %d, %v", h.number, want["number"], number, err)
		}
		if h.hash != string(want["hash"]) || h.parent != string(want["parentHash"]) {
			t.Errorf("hashes %s %s of %q", h.hash, h.parent, raw)
		}
		if event := headEvent([]byte(raw)); !json.Valid(event) {
			t.Errorf("the event of %q is %q", raw, event)
		}
	})
}

// FuzzFilter: the one form of a filter is JSON that means the same when it is read again.
func FuzzFilter(f *testing.F) {
	f.Add(`{"address":"0x` + strings.Repeat("Ab", 20) + `","topics":[null,["0x` + strings.Repeat("cd", 32) + `"]]}`)
	f.Add(`{"topics":[[null,1]]}`)
	f.Add(`{"address":[]}`)
	f.Add(`null`)
	f.Fuzz(func(t *testing.T, raw string) {
		first, err := readFilter([]byte(raw))
		if err != nil {
			return
		}
		if !json.Valid([]byte(first.canonical)) {
			t.Fatalf("%q became %q", raw, first.canonical)
		}
		second, err := readFilter([]byte(first.canonical))
		if err != nil || second.canonical != first.canonical {
			t.Errorf("%q became %q and that %v, %v", raw, first.canonical, second, err)
		}
	})
}

// FuzzQuery: no parameters upset the reading of what a call is about.
func FuzzQuery(f *testing.F) {
	f.Add("eth_getBlockByNumber", `["0x5",false]`)
	f.Add("eth_getLogs", `[{"fromBlock":"0x1","toBlock":"latest","blockHash":1}]`)
	f.Add("eth_call", `[{},{"blockNumber":{"blockNumber":"0x1"}}]`)
	f.Add("eth_getTransactionReceipt", `["0x`+strings.Repeat("ab", 32)+`"]`)
	f.Fuzz(func(t *testing.T, name, params string) {
		var q query
		q.read(name, []byte(params), 100)
		if q.hash != nil && !isHash(q.hash) || q.tagged && !q.numbered {
			t.Errorf("%s %q: %+v", name, params, q)
		}
		p := new(Pool)
		for _, result := range []string{"null", "{}", "[]", "[1]", "[{}]", `"0x1"`, `"`, params} {
			if result != "" {
				p.fits(&q, []byte(result))
			}
		}
	})
}
