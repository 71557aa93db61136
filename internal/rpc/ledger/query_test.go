package ledger

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/nodegate/nodegate/internal/method"
)

const someHash = "0x1519c7703806266fae5b4dac56609e14d23a3ae917f3759ee6e684c4ebca2525"

// TestQueries: only parameters that every node reads alike are read here.
func TestQueries(t *testing.T) {
	h := `"` + someHash + `"`
	for _, c := range []struct {
		name, params string
		want         string // "" is passed on
	}{
		{"eth_getTransactionByHash", `[` + h + `]`, "transaction"},
		{"eth_getTransactionReceipt", ` [ ` + h + ` ] `, "transaction"},
		{"eth_getTransactionReceipt", `["` + strings.ToUpper(someHash[2:]) + `"]`, ""},
		{"eth_getTransactionReceipt", `["0x` + strings.ToUpper(someHash[2:]) + `"]`, "transaction"},
		{"eth_getTransactionReceipt", `["0X` + someHash[2:] + `"]`, ""},
		{"eth_getTransactionReceipt", `[` + h + `,` + h + `]`, ""},
		{"eth_getTransactionReceipt", `["0x12"]`, ""},
		{"eth_getTransactionReceipt", `[]`, ""},
		{"eth_getTransactionReceipt", ``, ""},
		{"eth_getTransactionReceipt", `[null]`, ""},
		{"eth_getTransactionReceipt", `{"hash":` + h + `}`, ""},
		{"eth_getBlockByHash", `[` + h + `,true]`, "block full"},
		{"eth_getBlockByHash", `[` + h + `,false]`, "block"},
		{"eth_getBlockByHash", `[` + h + `]`, ""},
		{"eth_getBlockByHash", `[` + h + `,1]`, ""},
		{"eth_getBlockByHash", `["0x1",true]`, ""},
		{"eth_getBlockByNumber", `["0x1f",true]`, "number 31 full"},
		{"eth_getBlockByNumber", `["0x1F",false]`, "number 31"},
		{"eth_getBlockByNumber", `["0x0",false]`, "number 0"},
		{"eth_getBlockByNumber", `["0xffffffffffffffff",false]`, "number 18446744073709551615"},
		{"eth_getBlockByNumber", `["0x10000000000000000",false]`, ""},
		{"eth_getBlockByNumber", `["0x01",false]`, ""},
		{"eth_getBlockByNumber", `["0x",false]`, ""},
		{"eth_getBlockByNumber", `["0x+1",false]`, ""},
		{"eth_getBlockByNumber", `["0x1_0",false]`, ""},
		{"eth_getBlockByNumber", `["31",false]`, ""},
		{"eth_getBlockByNumber", `[31,false]`, ""},
		{"eth_getBlockByNumber", `["latest",false]`, ""},
		{"eth_getBlockByNumber", `["pending",false]`, ""},
		{"eth_getBlockByNumber", `[` + h + `,false]`, ""}, // takes no hash
		{"eth_getHeaderByNumber", `["0x5"]`, "number 5"},
		{"eth_getHeaderByHash", `[` + h + `]`, "block"},
		{"eth_getBlockReceipts", `["0x5"]`, "number 5"},
		{"eth_getBlockReceipts", `[` + h + `]`, "block"},
		{"eth_getBlockReceipts", `[{"blockHash":` + h + `}]`, ""},
		{"eth_getTransactionByBlockHashAndIndex", `[` + h + `,"0x2"]`, "block index 2"},
		{"eth_getTransactionByBlockHashAndIndex", `[` + h + `,"0x02"]`, ""},
		{"eth_getTransactionByBlockHashAndIndex", `[` + h + `,2]`, ""},
		{"eth_getTransactionByBlockNumberAndIndex", `["0x5","0x2"]`, "number 5 index 2"},
		{"eth_getTransactionByBlockNumberAndIndex", `["0x5"]`, ""},
		{"eth_getLogs", `[{}]`, ""},
		{"eth_getLogs", `[{"fromBlock":"0x5","toBlock":"0x1f"}]`, "logs 5 to 31"},
		{"eth_getLogs", `[{"fromBlock":"0x5","toBlock":"latest"}]`, ""},
		{"eth_getFilterLogs", `["0x5"]`, ""},
		{"eth_getBlockTransactionCountByNumber", `["0x5"]`, "number 5"},
		{"eth_getBlockTransactionCountByNumber", `["0x05"]`, ""},
		{"eth_getBlockTransactionCountByHash", `[` + h + `]`, "block"},
		{"eth_getUncleCountByBlockNumber", `["0x5"]`, "number 5"},
		{"eth_getUncleCountByBlockNumber", `["0x5","0x5"]`, ""},
		{"eth_getUncleCountByBlockHash", `[` + h + `]`, "block"},
		{"eth_getBalance", `["0x1","0x5"]`, ""},
		{"eth_getProof", `["0x1",[],"0x5"]`, ""},
		{"eth_getRawTransactionByHash", `[` + h + `]`, "transaction"},
		{"eth_getRawTransactionByHash", `["0x5"]`, ""},
		{"eth_getRawTransactionByBlockHashAndIndex", `[` + h + `,"0x2"]`, "block index 2"},
		{"eth_getRawTransactionByBlockHashAndIndex", `["0x5","0x2"]`, ""},
		{"eth_getRawTransactionByBlockNumberAndIndex", `["0x5","0x2"]`, "number 5 index 2"},
		{"eth_getRawTransactionByBlockNumberAndIndex", `["latest","0x2"]`, ""},
		{"eth_getRawTransactionByBlockNumberAndIndex", `[` + h + `,"0x2"]`, ""},
		{"eth_getUncleByBlockNumberAndIndex", `["0x5","0x2"]`, "number 5 index 2"},
		{"eth_getUncleByBlockHashAndIndex", `[` + h + `,"0x2"]`, "block index 2"},
		{"debug_getRawTransaction", `[` + h + `]`, "transaction"},
		{"debug_getRawHeader", `["0x5"]`, "number 5"},
		{"debug_getRawHeader", `[` + h + `]`, "block"},
		{"debug_getRawHeader", `["latest"]`, ""},
		{"debug_getRawBlock", `[` + h + `]`, "block"},
		{"debug_getRawBlock", `[{"blockHash":` + h + `}]`, ""},
		{"debug_getRawReceipts", `["0x5"]`, "number 5"},
		{"debug_getRawReceipts", `["0x5",true]`, ""},
		{"eth_nothing", `[` + h + `]`, ""},
	} {
		var q query
		got := ""
		if q.read(method.Of(c.name), []byte(c.params)) {
			got = q.String()
		}
		if got != c.want {
			t.Errorf("%s %s is read as %q, want %q", c.name, c.params, got, c.want)
		}
	}
}

// TestRows: of all methods, the examples of these are read, and no others.
func TestRows(t *testing.T) {
	ours := []string{
		"eth_getTransactionByHash", "eth_getTransactionByBlockHashAndIndex", "eth_getTransactionByBlockNumberAndIndex", "eth_getTransactionReceipt",
		"eth_getBlockReceipts", "eth_getBlockByNumber", "eth_getBlockByHash", "eth_getHeaderByNumber", "eth_getHeaderByHash", "eth_getLogs",
		"eth_getBlockTransactionCountByNumber", "eth_getBlockTransactionCountByHash", "eth_getUncleCountByBlockNumber", "eth_getUncleCountByBlockHash",
		"eth_getRawTransactionByHash", "eth_getRawTransactionByBlockHashAndIndex", "eth_getRawTransactionByBlockNumberAndIndex",
		"eth_getUncleByBlockNumberAndIndex", "eth_getUncleByBlockHashAndIndex",
		"debug_getRawTransaction", "debug_getRawHeader", "debug_getRawBlock", "debug_getRawReceipts",
	}
	for _, row := range method.All() {
		var q query
		if got := q.read(row, []byte(row.Example.Params)); got != slices.Contains(ours, row.Name) {
			t.Errorf("%s %s is read: %v", row.Name, row.Example.Params, got)
		}
	}
}

// String says what was read.
func (q *query) String() string {
	if q.logs != nil {
		return fmt.Sprintf("logs %d to %d", q.logs.From, q.logs.To)
	}
	text := [...]string{byNumber: fmt.Sprint("number ", q.number), byBlock: "block", byTransaction: "transaction"}[q.by]
	if q.by != byNumber && common.Hash(q.hash) != common.HexToHash(someHash) {
		text += fmt.Sprintf(" %x", q.hash)
	}
	if q.full {
		text += " full"
	}
	switch q.answer {
	case method.AtHashAnswer, method.AtNumberAnswer, method.RawAtAnswer, method.UncleAnswer:
		text += fmt.Sprint(" index ", q.index)
	}
	return text
}

// FuzzQuery: whatever is read here, go-ethereum's types read it as the same.
func FuzzQuery(f *testing.F) {
	f.Add(0, `["`+someHash+`"]`)
	f.Add(1, `["0x1f",true]`)
	f.Add(4, `["`+someHash+`","0x0"]`)
	names := []string{"eth_getTransactionByHash", "eth_getBlockByNumber", "eth_getBlockByHash", "eth_getBlockReceipts", "eth_getTransactionByBlockHashAndIndex", "eth_getTransactionByBlockNumberAndIndex", "eth_getHeaderByHash"}
	f.Fuzz(func(t *testing.T, which int, params string) {
		var q query
		name := names[uint(which)%uint(len(names))]
		if !q.read(method.Of(name), []byte(params)) {
			return
		}
		var args []json.RawMessage
		if err := json.Unmarshal([]byte(params), &args); err != nil {
			t.Fatalf("%s %q was read: %v", name, params, err)
		}
		var err error
		if q.by == byNumber {
			var n hexutil.Uint64
			if err = json.Unmarshal(args[0], &n); uint64(n) != q.number {
				t.Fatalf("%s %q is number %d", name, params, q.number)
			}
		} else {
			var h common.Hash
			if err = json.Unmarshal(args[0], &h); h != q.hash {
				t.Fatalf("%s %q is hash %x", name, params, q.hash)
			}
		}
		if err != nil {
			t.Fatalf("%s %q was read: %v", name, params, err)
		}
	})
}

func TestExtras(t *testing.T) {
	for _, c := range []struct{ said, want string }{
		{`{"status":"0x1","l1Fee":"0x5"}`, `"l1Fee":"0x5"`},
		{`{"l1Fee":"0x5","STATUS":"0x0","l1Fee":"0x6","L1fee":"0x7","x_1":{"a":[1]}}`, `"l1Fee":"0x5","x_1":{"a":[1]}`},
		{`{"st\u0061tus":"0x1","a b":1,"":2,"` + "é" + `":3}`, ``},
		{`{"big":"` + strings.Repeat("x", maxExtra) + `","small":1}`, `"small":1`},
	} {
		said, ok := members(nil, []byte(c.said))
		if got := string(extras(said, receiptMembers)); !ok || got != c.want {
			t.Errorf("of %.80s is kept %s, want %s", c.said, got, c.want)
		}
	}
}

func TestContradicted(t *testing.T) {
	for _, c := range []struct{ said, ours, want string }{
		{`{"from":"0xAB","gasUsed":"0x1"}`, `{"from":"0xab","gasUsed":"0x1"}`, ""},
		{`{"from":"0xab","gasUsed":"0x1"}`, `{"from":"0xab","gasUsed":"0x2"}`, "gasUsed"},
		{`{}`, `{"gasUsed":"0x2"}`, ""},
		{`{"to":null}`, `{"to":"0x2"}`, ""},
		{`{"size":"0x5"}`, `{"size":"0x2"}`, ""},
		{`{"logs":[1]}`, `{"logs":[]}`, ""},
	} {
		said, _ := members(nil, []byte(c.said))
		if got := contradicted(said, []byte(c.ours)); got != c.want {
			t.Errorf("%s and %s differ in %q, want %q", c.said, c.ours, got, c.want)
		}
	}
}

// FuzzExtras: what is kept of an object can be appended to another, hides none of its
// members, and the price before it is found again.
func FuzzExtras(f *testing.F) {
	f.Add(`{"l1Fee":"0x5","Status":"0x0"}`, `"0x1"`)
	f.Fuzz(func(t *testing.T, object, price string) {
		said, ok := members(nil, []byte(object))
		if !ok {
			return
		}
		extra := extras(said, receiptMembers)
		if word, ok := priceWord([]byte(price)); ok {
			back, has, rest := cutPrice(withPrice([]byte(price), extra))
			again, _ := priceWord(back)
			if !has || string(back) != price || again != word || string(rest) != string(extra) {
				t.Fatalf("the price %s before %s is read back as %s before %s", price, extra, back, rest)
			}
		}
		if _, has, rest := cutPrice(extra); has || string(rest) != string(extra) {
			t.Fatalf("%s has a price", extra)
		}
		if len(extra) == 0 {
			return
		}
		var out map[string]json.RawMessage
		if err := json.Unmarshal([]byte(`{"status":"0x1",`+string(extra)+`}`), &out); err != nil {
			t.Fatalf("%s: %v", extra, err)
		}
		var status struct{ Status string }
		if err := json.Unmarshal([]byte(`{"status":"0x1",`+string(extra)+`}`), &status); err != nil || status.Status != "0x1" {
			t.Fatalf("%s hides a member: %v", extra, err)
		}
	})
}
