package obs

import (
	"testing"
	"time"

	"github.com/nodegate/nodegate"
)

// TestCalls: what clients do wrong is no fault. Neither are endless calls on an embedded network:
// one client could make as many of them as it likes.
func TestCalls(t *testing.T) {
	m := NewMetrics()
	for network, outcomes := range map[string][]nodegate.Code{
		"dev":  {nodegate.Timeout, nodegate.Timeout, nodegate.Reverted, nodegate.Internal},
		"main": {nodegate.Timeout, nodegate.InvalidParams, nodegate.NoNode},
	} {
		calls := m.Method(network, "eth_call")
		calls.Done(nil, time.Millisecond)
		for _, code := range outcomes {
			calls.Done(&nodegate.Error{Code: code}, time.Millisecond)
		}
	}
	all, failed := Calls(m, func(network string) bool { return network == "dev" })
	if all != 9 || failed != 3 {
		t.Errorf("%v of %v calls failed, want 3 of 9", failed, all)
	}
}
