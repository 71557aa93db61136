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

// TestModestAccount: among endless calls of many accounts, the heavy calls of others have the
// results that they have alone, by each way a call is executed, and take their turns in the
// heavy lane under the names of their own accounts. How long a turn takes to come is tested in
// package lane, on a fake clock.
func TestModestAccount(t *testing.T) {
	full.Slow(t)
	cfg := presetConfig(devchain.Devnet(), "")
	cfg.CallTimeout, cfg.Lanes = time.Minute, lane.New(1, 2)
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
	for i, r := range append(s.both(`"latest"`), proof(devchain.DemoAddress(), manyKeys(200), `"latest"`)) {
		account := as(t.Context(), fmt.Sprint("modest", i))
		want, wantErr := n.unguarded(r)
		begun := time.Now()
		got, err := n.Call(account, r.method, []byte(r.params))
		t.Logf("%s took %v", r.method, time.Since(begun))
		if outcomeOf(got, err) != outcomeOf(want, wantErr) {
			t.Errorf("%s: %s, want %s", r.method, outcomeOf(got, err), outcomeOf(want, wantErr))
		}
		light := cfg.Lanes.Light(account)
		if light.End(); !light.Brief {
			t.Errorf("%s was not in the heavy lane as a call of its account", r.method)
		}
	}
}

// modestRounds is how many BLAKE2 rounds take about a third of a second here: more than a call
// may take outside the heavy lane.
func modestRounds(t *testing.T, n *Node) uint32 {
	t.Helper()
	const few = 200_000
	r := callShape{to: blake, gas: "0x2faf080", input: blakeInput(few)}.both(`"latest"`)[0]
	begun := time.Now()
	call(t, n, r.method, r.params)
	return uint32(min(few*(time.Second/3)/time.Since(begun), 3_000_000))
}
