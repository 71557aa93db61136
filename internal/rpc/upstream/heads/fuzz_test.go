package heads

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// FuzzRead holds the reader of headers to encoding/json.
func FuzzRead(f *testing.F) {
	f.Add(`{"number":"0x7","hash":` + blockHash("aa", 7) + `,"parentHash":` + blockHash("aa", 6) + `,"timestamp":"0x5","gasLimit":"0x1c9c380"}`)
	f.Add(`{"number":"0x1","number":"0x2"}`)
	f.Add(`{"number":null}`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, raw string) {
		h, ok := Read([]byte(raw))
		if _, plain := jsonrpc.Compact(nil, []byte(raw)); !ok || !plain {
			return // members that are there twice are refused by package wire's caller, or mean nothing
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal([]byte(raw), &want); err != nil {
			t.Fatalf("read %q, which is not JSON", raw)
		}
		number, err := strconv.ParseUint(strings.TrimPrefix(strings.Trim(string(want["number"]), `"`), "0x"), 16, 64)
		if err != nil || number != h.Number {
			t.Errorf("number %d of %s, want %d, %v", h.Number, want["number"], number, err)
		}
		if h.Hash != string(want["hash"]) || h.Parent != string(want["parentHash"]) {
			t.Errorf("hashes %s %s of %q", h.Hash, h.Parent, raw)
		}
	})
}
