package chain

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
	"github.com/nodegate/nodegate/internal/rpc/chain/lane"
)

// longKeys are keys that go-ethereum's API takes and the native path hands over to it.
func longKeys(n int) string {
	return `[` + strings.TrimSuffix(strings.Repeat(`"0x123456789abcdef01",`, n), ",") + `]`
}

// takeAllSeats leaves none in the heavy lane.
func takeAllSeats(t *testing.T, n *Node) {
	t.Helper()
	for range lane.Seats() {
		leave, err := n.lanes.Enter(nodegate.WithGrant(t.Context(), &nodegate.Grant{AccountID: "another"}))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(leave)
	}
}

// TestLargeProofsTakeASeat: proofs of many keys run in the heavy lane, whichever path
// answers them, and end with their context. Proofs of a few keys don't wait.
func TestLargeProofsTakeASeat(t *testing.T) {
	n := openDevnet(t)
	demo := devchain.DemoAddress()
	heavy := []request{
		proof(demo, manyKeys(17), `"latest"`), proof(demo, manyKeys(1024), `"latest"`), proof(demo, longKeys(17), `"latest"`), proof(demo, longKeys(1024), `"latest"`),
	}
	for _, r := range heavy {
		want, wantErr := n.unguarded(r)
		got, err := n.Call(t.Context(), r.method, []byte(r.params))
		if wantErr != nil || outcomeOf(got, err) != outcomeOf(want, wantErr) {
			t.Errorf("%.100s: %.200s, want %.200s", r.params, outcomeOf(got, err), outcomeOf(want, wantErr))
		}
	}
	takeAllSeats(t, n)
	call(t, n, "eth_getProof", fmt.Sprintf(`["%s",%s,"latest"]`, lower(demo), manyKeys(16)))
	for _, r := range heavy {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err := n.Call(ctx, r.method, []byte(r.params))
		cancel()
		wantCode(t, err, nodegate.Timeout)
	}
}

// TestTooManyLargeProofs: an account may let only so many of them wait.
func TestTooManyLargeProofs(t *testing.T) {
	n := openDevnet(t)
	takeAllSeats(t, n)
	ctx, cancel := context.WithCancel(nodegate.WithGrant(t.Context(), &nodegate.Grant{AccountID: "one"}))
	r := proof(devchain.DemoAddress(), manyKeys(17), `"latest"`)
	const calls = 65 // one more than may wait
	failed := make(chan error, calls)
	for range calls {
		go func() {
			_, err := n.Call(ctx, r.method, []byte(r.params))
			failed <- err
		}()
	}
	wantCode(t, <-failed, nodegate.AccountBusy)
	cancel()
	for range calls - 1 {
		wantCode(t, <-failed, nodegate.Timeout)
	}
}

// TestLargeProofsTimeOut: a proof ends between two keys when its time is up. Timers may be late
// on a busy machine, so a proof that is given half of what it takes is tried again.
func TestLargeProofsTimeOut(t *testing.T) {
	cfg := presetConfig(devchain.Devnet(), "")
	r := proof(devchain.DemoAddress(), manyKeys(1024), `"latest"`)
	cfg.CallTimeout = takes(t, openTemp(t, cfg), r) / 2
	n := openTemp(t, cfg)
	var err error
	for try := 0; err == nil && try < 100; try++ {
		_, err = n.Call(t.Context(), r.method, []byte(r.params))
	}
	wantCode(t, err, nodegate.Timeout)
}

// takes is the shortest of a few calls.
func takes(t *testing.T, n *Node, r request) time.Duration {
	t.Helper()
	shortest := time.Hour
	for range 5 {
		begun := time.Now()
		call(t, n, r.method, r.params)
		shortest = min(shortest, time.Since(begun))
	}
	return shortest
}
