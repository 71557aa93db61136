package chain

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
)

// slots asks for so many slots of a contract.
func slots(n int) request {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf(`"0x%064x"`, i)
	}
	return request{"eth_getStorageValues", fmt.Sprintf(`[{"%s":[%s]},"latest"]`, lower(devchain.DemoAddress()), strings.Join(keys, ","))}
}

// TestBulkReadsTakeASeat: reads of many slots or blocks run in the heavy lane, with the same
// answers. Those of a few don't wait.
func TestBulkReadsTakeASeat(t *testing.T) {
	n := openDevnet(t)
	few := []request{slots(1), slots(20), {"eth_feeHistory", `["0x20","latest",[25,50]]`}, {"eth_feeHistory", `[5,"latest",[]]`}}
	many := []request{slots(100), slots(1024), {"eth_feeHistory", `["0x400","latest",[25,50]]`}, {"eth_feeHistory", `[33,"latest",[]]`}}
	for _, r := range append(few, many...) {
		want, wantErr := n.unguarded(r)
		got, err := n.Call(t.Context(), r.method, []byte(r.params))
		if wantErr != nil || outcomeOf(got, err) != outcomeOf(want, wantErr) {
			t.Errorf("%.100s: %.200s, want %.200s", r.params, outcomeOf(got, err), outcomeOf(want, wantErr))
		}
	}
	takeAllSeats(t, n)
	for _, r := range few {
		call(t, n, r.method, r.params)
	}
	for _, r := range many {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err := n.Call(ctx, r.method, []byte(r.params))
		cancel()
		wantCode(t, err, nodegate.Timeout)
	}
}
