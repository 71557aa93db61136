package edge_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/requestlog"
	"github.com/nodegate/nodegate/internal/rpc/edge"
)

// TestPaidWhileMade: a call that takes more calls to nodes than its price includes pays for
// them, and what it paid is not given back. An account that can't pay gets an error that says
// what to do, and pays for what was done until then.
func TestPaidWhileMade(t *testing.T) {
	h := buildWith(t, traced, func(c *edge.Config) { c.Methods = []string{"echo", "eth_call"} })
	h.policy = nodegate.Policy{Plan: nodegate.Plan{CreditsPerDay: 1000}}
	more := []int{2, 3}
	h.answer = func(ctx context.Context, method string) ([]byte, error) {
		pay := nodegate.TraceFrom(ctx).Pay
		if method != "eth_call" {
			if pay != nil {
				t.Errorf("%s may pay", method)
			}
			return []byte(`"ok"`), nil
		}
		if nodegate.TraceFrom(ctx).Hold == nil {
			t.Error("what it fetches is not counted as memory")
		}
		for _, calls := range more {
			if err := pay("eth_getProof", calls); err != nil {
				return nil, err
			}
		}
		return []byte(`"0x"`), nil
	}
	spent := func() (credits int64, outcome string) {
		e := h.kept.Latest("account of "+goodKey, goodKey, requestlog.Filter{}).Entries[0]
		return e.Credits, e.Outcome
	}
	h.post(t, goodKey, rpcCall("echo", 8)) // 10 credits
	if res, text := h.post(t, goodKey, rpcCall("eth_call", 8)); res.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", res.StatusCode, text)
	}
	if credits, outcome := spent(); credits != 6*80 || outcome != nodegate.OutcomeOK {
		t.Errorf("recorded as %s for %d credits", outcome, credits)
	}
	more = []int{2, 100}
	res, text := h.post(t, goodKey, rpcCall("eth_call", 8))
	if res.StatusCode != http.StatusPaymentRequired || !strings.Contains(text, "100 more eth_getProof from nodes, which cost 8000 credits. Split it into smaller calls") {
		t.Errorf("%d %s", res.StatusCode, text)
	}
	if credits, outcome := spent(); credits != 3*80 || outcome != nodegate.CreditsSpent.String() {
		t.Errorf("recorded as %s for %d credits", outcome, credits)
	}
	more = []int{3} // 1000 - 10 - 480 - 240 = 270 are left: too few for 80 + 240
	if res, text := h.post(t, goodKey, "["+rpcCall("eth_call", 8)+","+rpcCall("echo", 8)+"]"); res.StatusCode != http.StatusOK || !strings.Contains(text, "-32042") || !strings.Contains(text, `"ok"`) {
		t.Errorf("a batch: %d %s", res.StatusCode, text)
	}
}
