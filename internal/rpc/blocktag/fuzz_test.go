package blocktag

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// FuzzResolve holds the rewriting of parameters against a plain one over decoded values.
func FuzzResolve(f *testing.F) {
	names := []string{"eth_call", "eth_getBalance", "eth_getBlockByNumber", "eth_getLogs", "eth_feeHistory", "debug_traceCall"}
	for i := range names {
		f.Add(byte(i), `[{"to":"0x1"},"latest"]`)
		f.Add(byte(i), `["latest",{"blockNumber":"safe"},null]`)
		f.Add(byte(i), `[{"fromBlock":"earliest","topics":[["a\"fromBlock\":"]],"x":{"toBlock":"latest"}}]`)
		f.Add(byte(i), `[{"toBlock":null,"from\u0042lock":"latest"}]`)
	}
	f.Fuzz(func(t *testing.T, which byte, text string) {
		params, ok := jsonrpc.Compact(nil, []byte(text))
		if !ok {
			return
		}
		name := names[int(which)%len(names)]
		node := &script{head: nodegate.Head{Number: 100, Safe: 95, Finalized: 90}}
		if _, err := New(node).Call(t.Context(), name, params); err != nil {
			t.Fatal(err)
		}
		passed := strings.TrimPrefix(node.asked[0], name+" ")
		if want, ok := plain(name, params); ok && !reflect.DeepEqual(decode(t, []byte(passed)), want) {
			t.Errorf("%s %s became %s, want %v", name, params, passed, want)
		}
	})
}

func decode(t *testing.T, params []byte) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(params))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", params, err)
	}
	return v
}

var numbers = map[any]any{"latest": "0x64", "safe": "0x5f", "finalized": "0x5a", "earliest": "0x0"}

// plain resolves decoded parameters. It is silent about filters that say the same thing
// in two places, and about tags that are spelled with escapes.
func plain(name string, params []byte) (want any, ok bool) {
	d := json.NewDecoder(bytes.NewReader(params))
	d.UseNumber()
	if d.Decode(&want) != nil || bytes.IndexByte(params, '\\') >= 0 {
		return nil, false
	}
	list, isList := want.([]any)
	if !isList {
		return want, true
	}
	if name == "eth_getLogs" {
		if bytes.Count(params, []byte(fromBlock)) > 1 || bytes.Count(params, []byte(toBlock)) > 1 {
			return nil, false
		}
		if len(list) == 1 {
			plainFilter(list[0])
		}
		return want, true
	}
	at := method.Of(name).Block
	switch {
	case len(list) < at:
	case len(list) == at && method.Of(name).FillLatest:
		list = append(list, "0x64")
	case len(list) == at:
	case list[at] == nil && method.Of(name).FillLatest:
		list[at] = "0x64"
	default:
		list[at] = plainBlock(list[at], method.Of(name).BlockObject)
	}
	return list, true
}

func plainBlock(v any, objects bool) any {
	if o, ok := v.(map[string]any); ok && objects {
		number, isText := o["blockNumber"].(string)
		_, canonical := o["requireCanonical"]
		if isText && (len(o) == 1 || len(o) == 2 && canonical) {
			return plainBlock(number, false)
		}
		return v
	}
	if text, ok := v.(string); ok && numbers[text] != nil {
		return numbers[text]
	}
	return v
}

func plainFilter(v any) {
	o, ok := v.(map[string]any)
	if _, byHash := o["blockHash"]; !ok || byHash {
		return
	}
	for _, end := range []string{"fromBlock", "toBlock"} {
		if o[end] == nil {
			o[end] = "latest"
		}
		o[end] = plainBlock(o[end], false)
	}
}
