package chain

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
	"github.com/nodegate/nodegate/internal/rpc/chain/lane"
	"github.com/nodegate/nodegate/test/full"
)

// TestModestAccount: endless calls of many accounts, by each way a call is executed, delay the
// heavy calls of another account by about a second each, and their results are the same.
func TestModestAccount(t *testing.T) {
	full.Slow(t)
	cfg := presetConfig(devchain.Devnet(), "")
	cfg.CallTimeout, cfg.Lanes = 20*time.Second, lane.New(1, 2)
	n := openTemp(t, cfg)
	rounds := modestRounds(t, n)
	as := func(ctx context.Context, account string) context.Context {
		return nodegate.WithGrant(ctx, &nodegate.Grant{AccountID: account})
	}
	ctx, leave := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for i := range 4 {
		endless := `{"gas":"0xba43b7400","input":"0x5b5f56"}`
		for _, params := range []string{`[` + endless + `,"latest"]`, `[` + endless + `,"latest",{"` + anyone + `":{"balance":"0x1"}}]`} {
			all.Go(func() {
				for ctx.Err() == nil {
					_, _ = n.Call(as(ctx, fmt.Sprint("greedy", i)), "eth_call", []byte(params))
				}
			})
		}
	}
	defer all.Wait()
	defer leave()
	time.Sleep(5 * time.Second) // each account has used some time
	s := callShape{to: blake, gas: "0x2faf080", input: blakeInput(rounds)}
	for _, r := range append(s.both(`"latest"`), proof(devchain.DemoAddress(), manyKeys(200), `"latest"`)) {
		want, wantErr := n.unguarded(r)
		begun := time.Now()
		got, err := n.Call(as(t.Context(), "modest"), r.method, []byte(r.params))
		if outcomeOf(got, err) != outcomeOf(want, wantErr) {
			t.Errorf("%s: %s, want %s", r.method, outcomeOf(got, err), outcomeOf(want, wantErr))
		}
		took := time.Since(begun)
		t.Logf("%s took %v", r.method, took)
		if took > 10*time.Second { // a second, on a machine that does nothing else
			t.Errorf("%s took %v", r.method, took)
		}
	}
}

// modestRounds is how many BLAKE2 rounds take a third of a second here. Under the race detector
// a fixed number takes so long that the account isn't modest.
func modestRounds(t *testing.T, n *Node) uint32 {
	t.Helper()
	const few = 200_000
	r := callShape{to: blake, gas: "0x2faf080", input: blakeInput(few)}.both(`"latest"`)[0]
	begun := time.Now()
	call(t, n, r.method, r.params)
	return uint32(min(few*(time.Second/3)/time.Since(begun), 3_000_000))
}
