package pool

import (
	"strings"
	"testing"

	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
)

// FuzzQuery: no parameters upset the reading of what a call is about.
func FuzzQuery(f *testing.F) {
	f.Add("eth_getBlockByNumber", `["0x5",false]`)
	f.Add("eth_getLogs", `[{"fromBlock":"0x1","toBlock":"latest","blockHash":1}]`)
	f.Add("eth_call", `[{},{"blockNumber":{"blockNumber":"0x1"}}]`)
	f.Add("eth_getTransactionReceipt", `["0x`+strings.Repeat("ab", 32)+`"]`)
	f.Fuzz(func(t *testing.T, name, params string) {
		var q query
		q.read(name, []byte(params), 100)
		if q.hash != nil && !hexjson.IsHash(q.hash) || q.tagged && !q.numbered {
			t.Errorf("%s %q: %+v", name, params, q)
		}
		j := judge{identity: new(identity)}
		for _, result := range []string{"null", "{}", "[]", "[1]", "[{}]", `"0x1"`, `"`, params} {
			if result != "" {
				j.fits(&q, []byte(result))
			}
		}
	})
}
