package rollup

import (
	"testing"

	"github.com/nodegate/nodegate"
)

// TestBlobs: an embedded rollup takes no blob transactions, however they are written. What
// remote nodes take is theirs to say.
func TestBlobs(t *testing.T) {
	sent := map[string]any{"eth_sendRawTransaction": `"0x01"`, "eth_sendRawTransactionSync": `{}`, "eth_call": `"0x"`}
	for _, c := range []struct {
		name, params    string
		remote, refused bool
	}{
		{"eth_sendRawTransaction", `["0x03f8"]`, false, true},
		{"eth_sendRawTransaction", `["0X03F8"]`, false, true},
		{"eth_sendRawTransaction", `[ "\u0030x03f8" ]`, false, true},
		{"eth_sendRawTransactionSync", `["0x03f8",1000]`, false, true},
		{"eth_sendRawTransaction", `["0x03f8"]`, true, false},
		{"eth_sendRawTransaction", `["0x02f8"]`, false, false},
		{"eth_sendRawTransaction", `["0xf8"]`, false, false},
		{"eth_sendRawTransaction", `[]`, false, false},
		{"eth_sendRawTransaction", `[3]`, false, false},
		{"eth_call", `["0x03"]`, false, false},
	} {
		next := &script{answers: sent}
		_, err := newNode(t, next, Config{Remote: c.remote}).Call(t.Context(), c.name, []byte(c.params))
		if !c.refused {
			if err != nil || len(next.asked) != 1 {
				t.Errorf("%s %s: %v, asked %q", c.name, c.params, err, next.asked)
			}
			continue
		}
		wantError(t, err, nodegate.ExecutionFailed, "transaction type not supported: ")
		if len(next.asked) != 0 {
			t.Errorf("%s %s reached the node", c.name, c.params)
		}
	}
}
