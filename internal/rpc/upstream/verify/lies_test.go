package verify

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// token is a hex string in an answer, and the way to it.
type token struct {
	path       string // members only: lists have [] in it
	start, end int    // of its digits
}

// hexTokens finds the hex strings of an answer.
func hexTokens(answer []byte) []token { return walk(answer, 0, "", nil) }

// walk is a small scanner of well-formed compact JSON that knows its position.
func walk(d []byte, base int, path string, list []token) []token {
	switch d[0] {
	case '{':
		at := 1
		jsonrpc.Fields(d, func(name, value []byte) bool {
			at += bytes.Index(d[at:], append([]byte{'"'}, append(bytes.Clone(name), '"', ':')...)) + len(name) + 3
			list = walk(value, base+at, path+"."+string(name), list)
			at += len(value)
			return true
		})
	case '[':
		at := 1
		elements, _ := jsonrpc.Elements(nil, d)
		for _, e := range elements {
			list = walk(e, base+at, path+"[]", list)
			at += len(e) + 1
		}
	case '"':
		if bytes.HasPrefix(d, []byte(`"0x`)) {
			list = append(list, token{path, base + 3, base + len(d) - 1})
		}
	}
	return list
}

// lie changes a token: its last digit, or it is no longer empty.
func lie(answer []byte, t token) []byte {
	out := bytes.Clone(answer)
	if t.start == t.end {
		return slices.Insert(out, t.end, '0', '1')
	}
	c := byte('0')
	if out[t.end-1] == '0' {
		c = '1'
	}
	out[t.end-1] = c
	return out
}

// unshown are the fields whose lies an answer alone doesn't show, for each method. See the
// table in docs/nodes.md.
var unshown = map[string][]string{
	"eth_getBlockByNumber": {
		".size", ".transactions[]", // hashes: their root is made of whole transactions
		".transactions[].from", ".transactions[].gasPrice", ".transactions[].blockTimestamp",
	},
	"eth_getBlockByHash":                      {".size", ".transactions[].from", ".transactions[].gasPrice", ".transactions[].blockTimestamp"},
	"eth_getTransactionByHash":                {".blockHash", ".blockTimestamp", ".from", ".gasPrice", ".transactionIndex"},
	"eth_getTransactionByBlockHashAndIndex":   {".blockTimestamp", ".from", ".gasPrice"},
	"eth_getTransactionByBlockNumberAndIndex": {".blockHash", ".blockTimestamp", ".from", ".gasPrice"},
	"eth_getTransactionReceipt": {
		".blobGasPrice", ".blobGasUsed", ".blockHash", ".contractAddress", ".cumulativeGasUsed", ".effectiveGasPrice", ".from", ".gasUsed",
		".logs[].blockTimestamp", ".logs[].data", ".logs[].logIndex", ".status", ".to", ".transactionIndex", ".type",
	},
	"eth_getBlockReceipts": {
		"[].blobGasPrice", "[].blobGasUsed", "[].contractAddress", "[].effectiveGasPrice", "[].from", "[].gasUsed",
		"[].logs[].blockTimestamp", "[].to", "[].transactionHash",
	},
	"eth_getLogs": {
		"[].blockHash", "[].blockTimestamp", "[].data", "[].logIndex", "[].transactionHash", "[].transactionIndex",
	},
}

// TestLies changes one field of an honest answer after the other. Each lie is found, but for
// those that no answer shows.
func TestLies(t *testing.T) {
	c := New("")
	byNumber := known(t, c)
	missed, tried := map[string]map[string]bool{}, 0
	for _, s := range samples() {
		a := s.ask()
		a.ByNumber = byNumber
		for _, tok := range hexTokens(s.result) {
			tried++
			if _, f := c.Check(a, lie(s.result, tok)); f == nil {
				if missed[s.name] == nil {
					missed[s.name] = map[string]bool{}
				}
				missed[s.name][tok.path] = true
			}
		}
	}
	for name, paths := range missed {
		got := slices.Sorted(maps.Keys(paths))
		want := slices.Sorted(slices.Values(unshown[name]))
		if !slices.Equal(got, want) {
			t.Errorf("%s: lies about %v are not found, want %v", name, got, want)
		}
	}
	if tried < 1000 {
		t.Errorf("only %d lies were tried", tried)
	}
}

// TestLyingLists leaves out, adds, swaps and repeats elements of honest lists.
func TestLyingLists(t *testing.T) {
	c := New("")
	byNumber := known(t, c)
	for _, s := range samples() {
		a := s.ask()
		a.ByNumber = byNumber
		for what, result := range lyingLists(s) {
			if _, f := c.Check(a, result); f == nil {
				t.Errorf("%s: %s is not found", s.String(), what)
			}
		}
	}
}

func lyingLists(s sample) map[string][]byte {
	lies := map[string][]byte{}
	put := func(what string, list [][]byte) {
		whole := slices.Concat([]byte("["), bytes.Join(list, []byte(",")), []byte("]"))
		if s.name == "eth_getBlockByHash" { // with whole transactions
			old, _ := members(s.result, "transactions")
			whole = bytes.Replace(s.result, old[0], whole, 1)
		}
		lies[what] = whole
	}
	raw := s.result
	switch s.name {
	case "eth_getBlockByHash":
		old, _ := members(s.result, "transactions")
		raw = old[0]
	case "eth_getBlockReceipts", "eth_getLogs":
	default:
		return nil
	}
	list, _ := jsonrpc.Elements(nil, raw)
	if len(list) == 0 {
		return nil
	}
	put("the first twice", append([][]byte{list[0]}, list...))
	if len(list) > 1 {
		put("the first two swapped", append([][]byte{list[1], list[0]}, list[2:]...))
	}
	if s.name != "eth_getLogs" {
		put("nothing", nil)
		put("the last left out", list[:len(list)-1])
		put("the first left out", list[1:])
	}
	return lies
}

// TestDisguises: a field that is there twice, also in other letters or escaped, is found.
func TestDisguises(t *testing.T) {
	c := New("")
	for _, s := range samples() {
		if s.result[0] != '{' || s.name == "eth_getProof" {
			continue
		}
		for _, name := range []string{"hash", "blockHash", "transactionHash"} {
			if !bytes.Contains(s.result, []byte(`"`+name+`":"0x`)) || s.name == "eth_getHeaderByNumber" && name != "hash" {
				continue
			}
			if _, top := members(s.result, name); !top {
				continue
			}
			for _, again := range []string{name, strings.ToUpper(name), `\u00` + fmt.Sprintf("%02x", name[0]) + name[1:]} {
				v, _ := members(s.result, name)
				if v[0] == nil {
					continue
				}
				result := slices.Concat(s.result[:len(s.result)-1], []byte(`,"`+again+`":"0x00"}`))
				if _, f := c.Check(s.ask(), result); f == nil {
					t.Errorf("%s: %s is not found", s.String(), again)
				}
			}
		}
	}
}
