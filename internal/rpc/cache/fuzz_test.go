package cache

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// FuzzPlan holds the plans against plain ones over decoded parameters. A plan may be
// shorter than the plain one says, never longer.
func FuzzPlan(f *testing.F) {
	names := []string{"eth_call", "eth_getBlockByNumber", "eth_getLogs", "eth_getStorageAt"}
	for i := range names {
		f.Add(byte(i), `["0x5a",{"blockHash":`+hashA+`}]`)
		f.Add(byte(i), `[{"fromBlock":"0x1","toBlock":"0x64"},{"blockNumber":"0x5b"},"0x5b"]`)
		f.Add(byte(i), `[{"blockHash":`+hashA+`},"latest","pending"]`)
	}
	head := nodegate.Head{Number: 100, Finalized: 90, Fork: 1}
	f.Fuzz(func(t *testing.T, which byte, text string) {
		params, ok := jsonrpc.Compact(nil, []byte(text))
		if !ok {
			return
		}
		name := names[int(which)%len(names)]
		p := planFor(method.Of(name), params, head, true)
		if longest := plainPlan(name, params); p.life > longest {
			t.Errorf("%s %s lives for %d, at most %d", name, params, p.life, longest)
		}
		if (p.life == never) != (p.reason != "") {
			t.Errorf("%s %s: life %d, reason %q", name, params, p.life, p.reason)
		}
	})
}

func plainPlan(name string, params []byte) life {
	var list []json.RawMessage
	if json.Unmarshal(params, &list) != nil {
		return oneBlock // an error will come of it
	}
	if name != "eth_getLogs" {
		at := method.Of(name).Block
		if at >= len(list) {
			return oneBlock
		}
		return plainLife(list[at])
	}
	if len(list) == 0 {
		return never
	}
	var filter map[string]json.RawMessage
	if json.Unmarshal(list[0], &filter) != nil {
		return never
	}
	if _, ok := filter["blockHash"]; ok {
		return byHash
	}
	return min(plainLife(filter["fromBlock"]), plainLife(filter["toBlock"]))
}

func plainLife(raw json.RawMessage) life {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) == nil && object != nil {
		if _, ok := object["blockHash"]; ok && string(object["requireCanonical"]) != "true" {
			return byHash
		}
		return plainLife(object["blockNumber"])
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return oneBlock
	}
	number, ok := new(big.Int).SetString(strings.TrimPrefix(text, "0x"), 16)
	switch {
	case text == "pending":
		return never
	case text == "earliest":
		return always
	case len(text) == hashLength-2:
		return byHash
	case !strings.HasPrefix(text, "0x") || !ok:
		return oneBlock
	case number.Cmp(big.NewInt(100)) > 0:
		return never
	case number.Cmp(big.NewInt(90)) > 0:
		return untilFork
	}
	return always
}
