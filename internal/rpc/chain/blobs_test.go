package chain

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
)

// TestBlobsAreRefused: go-ethereum would compute their proofs, which nothing can stop. What
// has no blobs is filled in as go-ethereum does.
func TestBlobsAreRefused(t *testing.T) {
	n := openDevnet(t)
	blob := `"0x` + strings.Repeat("00", 131072) + `"`
	tx := func(more string) string {
		return fmt.Sprintf(`[{"from":"%s","to":"%s",%s}]`, lower(devchain.Accounts()[0].Address), anyone, more)
	}
	for _, name := range []string{"eth_fillTransaction", "eth_sendTransaction"} {
		for _, more := range []string{`"blobs":[` + blob + `]`, `"Blobs":[` + blob + `]`, `"blobs":[` + blob + `,` + blob + `],"commitments":[],"proofs":[]`} {
			_, err := n.Call(t.Context(), name, []byte(tx(more)))
			if e := wantCode(t, err, nodegate.InvalidParams); !strings.Contains(e.Msg, "compute commitments and proofs in the client") || !strings.Contains(e.Msg, "eth_sendRawTransaction") {
				t.Errorf("%s %.40s: %s", name, more, e.Msg)
			}
		}
	}
	for _, more := range []string{`"blobs":null`, `"value":"0x1"`, `"blobVersionedHashes":["0x01` + strings.Repeat("00", 31) + `"]`, `"blobVersionedHashes":[]`} {
		r := request{"eth_fillTransaction", tx(more)}
		want, wantErr := n.unguarded(r)
		got, err := n.Call(t.Context(), r.method, []byte(r.params))
		if outcomeOf(got, err) != outcomeOf(want, wantErr) {
			t.Errorf("%s: %s, want %s", more, outcomeOf(got, err), outcomeOf(want, wantErr))
		}
	}
}
