package nodes_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
	"github.com/nodegate/nodegate/test/dbtest"
)

// TestLedgerServers: three servers on one Redis take fewer calls than three on their own, and
// answer the same bytes as the node. A busy machine may fetch a block twice.
func TestLedgerServers(t *testing.T) {
	redis := dbtest.Redis(t)
	node := presets(t)
	c := countCalls(t, node.URL("dev", key))
	var servers []*front
	for range 3 {
		servers = append(servers, startFront(t, fmt.Sprintf("redis: {url: %q}\nnetworks:\n", "redis://"+redis.Addr)+network("main", withLedger, c.url)))
	}
	before := height(t, node, "dev")
	for _, f := range servers {
		f.ready(t)
		f.untilLedger(t, "main", before)
	}
	c.take()
	p := newPayer(t, servers[0], devchain.Accounts()[1])
	const blocks = 12
	for i := range uint64(blocks) {
		p.setValue(t, int64(i+1))
		for _, f := range servers {
			f.reaches(t, before+i+1)
			f.untilLedger(t, "main", before+i+1)
		}
	}
	calls := 0
	all, _ := c.take()
	for call, n := range all {
		if strings.HasPrefix(call, "eth_getBlockReceipts ") || strings.HasSuffix(call, ",true]") {
			calls += n
		}
	}
	t.Logf("%d blocks of 3 servers took %d calls", blocks, calls)
	if calls >= 2*3*blocks {
		t.Errorf("%d blocks of 3 servers took %d calls", blocks, calls)
	}
	for _, f := range servers {
		f.same(t, "main", node, "dev", before, before+blocks)
	}
}
