package feed

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
	"github.com/nodegate/nodegate/internal/rpc/upstream/heads"
)

// FuzzHeadEvent: the event of whatever is read as a header is JSON.
func FuzzHeadEvent(f *testing.F) {
	f.Add(string(block(7).Raw))
	f.Add(`{"number":"0x1","number":"0x2"}`)
	f.Fuzz(func(t *testing.T, raw string) {
		_, ok := heads.Read([]byte(raw))
		if _, plain := jsonrpc.Compact(nil, []byte(raw)); !ok || !plain {
			return
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
