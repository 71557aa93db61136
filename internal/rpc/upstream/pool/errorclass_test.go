package pool

import (
	"context"
	"fmt"
	"testing"

	"github.com/nodegate/nodegate/internal/rpc/upstream/client"
)

// nodeErrors are errors that nodes and providers answer with HTTP 200, and that have
// nothing to do with the call.
var nodeErrors = []struct {
	whose string
	code  int
	text  string
}{
	{"Infura", -32005, "daily request count exceeded, request rate limited"},
	{"Infura", -32000, "project ID does not have access to this network"},
	{"Alchemy", -32001, "Unable to complete request at this time."},
	{"Alchemy", -32000, "App is inactive"},
	{"Alchemy", -32600, "Must be authenticated!"},
	{"Alchemy", 429, "Monthly capacity limit exceeded. Visit the dashboard to upgrade your scaling policy."},
	{"QuickNode", -32007, "50/second request limit reached - reduce calls per second or upgrade your account"},
	{"Ankr", -32052, "API key is not allowed to access blockchain"},
	{"dRPC", 19, "Temporary internal error. Please retry"},
	{"dRPC", 30, "Request timeout on the free tier, please upgrade your tier to the paid one"},
	{"Blast", -32603, "Internal error"},
	{"Chainstack", -32005, "You've exceeded the RPS limit available on the current plan."},
	{"Geth", -32603, "method handler crashed"},
	{"Geth", -32002, "request timed out"},
	{"Erigon", -32000, "database closed"},
	{"Pocket", -32000, "application not found"},
	{"Chainstack", -32000, "chain ID is not enabled for this project"},
	{"OP proxyd", -32011, "no backend is currently healthy to serve traffic"},
}

// TestNodeErrors: one of three nodes answers every call with an error of its own. No
// client sees it, and the node is soon left alone.
func TestNodeErrors(t *testing.T) {
	for _, c := range nodeErrors {
		t.Run(c.whose+" "+c.text, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				bad := newFake("bad", 100)
				bad.answer = failing(c.code, c.text)
				p, _ := openFakes(t, nil, bad, newFake("a", 100), newFake("b", 100))
				settle()
				for i := range 40 {
					if _, err := p.Call(t.Context(), "eth_getBalance", fmt.Appendf(nil, `["0x%040x","latest"]`, i)); err != nil {
						t.Fatalf("call %d: %v", i, err)
					}
				}
				if asked := bad.count("eth_getBalance"); asked > 5 {
					t.Errorf("the bad node was asked %d times", asked)
				}
			})
		})
	}
}

// failing answers the health check and nothing else.
func failing(code int, text string) func(context.Context, string, []byte) ([]byte, error) {
	return func(_ context.Context, name string, _ []byte) ([]byte, error) {
		switch name {
		case "eth_chainId", "eth_getBlockByNumber", "eth_syncing", "web3_clientVersion":
			return nil, nil
		}
		return nil, &client.CallError{Code: code, Message: text}
	}
}

// callerErrors are about the call: no other node is asked.
var callerErrors = []struct {
	code int
	text string
}{
	{3, "execution reverted"}, {-32000, "execution reverted"}, {-32015, "VM execution error."}, {-32000, "out of gas"},
	{-32602, "invalid argument 0: hex string without 0x prefix"}, {-32000, "nonce too low"}, {-32010, "Insufficient funds."},
	{-32000, "insufficient funds for gas * price + value: address 0x01 have 0 want 1"}, {-32000, "intrinsic gas too low"},
	{-32000, "gas required exceeds allowance (50000000)"}, {-32003, "transaction underpriced"}, {-32000, "max fee per gas less than block base fee"},
	{-32000, "invalid opcode: INVALID"}, {-32000, "invalid chain id for signer: have 1 want 2"}, {-32000, "filter not found"}, {-32000, "transaction not found"}, {-32005, "exceed max addresses"},
}

func TestCallerErrors(t *testing.T) {
	for _, c := range callerErrors {
		t.Run(c.text, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				a, b := newFake("a", 100), newFake("b", 100)
				a.answer, b.answer = failing(c.code, c.text), failing(c.code, c.text)
				p, _ := openFakes(t, nil, a, b)
				settle()
				_, err := p.Call(t.Context(), "eth_call", []byte(`[{},"latest"]`))
				if err == nil || a.count("eth_call")+b.count("eth_call") != 1 {
					t.Errorf("%v after %d calls", err, a.count("eth_call")+b.count("eth_call"))
				}
			})
		})
	}
}
