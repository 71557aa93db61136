package proven

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/nodegate/nodegate"
)

// balances is a call that adds up the balances of so many accounts.
func balances(count byte) string {
	code := "6000"
	for i := range count {
		code += fmt.Sprintf("73%x3101", common.Address{0x99, i})
	}
	return `[{"gas":"0x2faf080","input":"0x` + code + common.Bytes2Hex(returns) + `"},"latest"]`
}

// storages is a call for slots of so many accounts.
func storages(count byte) string { return storagesFrom(0, count) }

func storagesFrom(first, count byte) string {
	var list []string
	for i := range count {
		list = append(list, fmt.Sprintf(`"%#x":[%s]`, common.Address{0x99, first + i}, wordOf(0)))
	}
	return `[{` + strings.Join(list, ",") + `},"latest"]`
}

// TestPaidProofs: proofs beyond the first few are paid for by the account, each as a call for
// a proof. What is known already costs nothing.
func TestPaidProofs(t *testing.T) {
	for _, c := range []struct{ name, params string }{{"eth_call", balances(40)}, {"eth_estimateGas", balances(40)}, {"eth_getStorageValues", storages(40)}} {
		n, chain := executing(t)
		paid := 0
		trace := nodegate.Trace{Pay: func(name string, calls int) error {
			if name != "eth_getProof" {
				t.Errorf("%s costs %d calls of %s", c.name, calls, name)
			}
			paid += calls
			return nil
		}}
		ctx := nodegate.WithTrace(t.Context(), &trace)
		if _, err := n.Call(ctx, c.name, []byte(c.params)); err != nil {
			t.Fatal(err)
		}
		if _, by := chain.called(); paid != by["eth_getProof"]-includedProofs || paid < 32 {
			t.Errorf("%s pays for %d proofs, and takes %v", c.name, paid, by)
		}
		paid = 0
		if _, err := n.Call(ctx, c.name, []byte(c.params)); err != nil || paid > 0 {
			t.Errorf("the second time %s pays for %d proofs: %v", c.name, paid, err)
		}
		n, _ = executing(t)
		if _, err := n.Call(ctx, "eth_call", []byte(callTo(slotReader))); err != nil || paid > 0 {
			t.Errorf("a small call pays for %d proofs: %v", paid, err)
		}
	}
}

// TestUnpaidProofs: an account that can't pay gets no more proofs, and the reason.
func TestUnpaidProofs(t *testing.T) {
	for _, c := range []struct{ name, params string }{{"eth_call", balances(40)}, {"eth_getStorageValues", storages(40)}} {
		n, chain := executing(t)
		trace := nodegate.Trace{Pay: func(string, int) error { return &nodegate.Error{Op: "test", Code: nodegate.RateLimited} }}
		if _, err := n.Call(nodegate.WithTrace(t.Context(), &trace), c.name, []byte(c.params)); !errors.Is(err, nodegate.RateLimited) {
			t.Errorf("%s ends with %v", c.name, err)
		}
		if _, by := chain.called(); by["eth_getProof"] > includedProofs {
			t.Errorf("%s takes %v", c.name, by)
		}
	}
}

// TestFetchesOfAccount: however many calls an account makes, so many proofs are fetched for it
// at the same time. Other accounts don't wait for it, and a call that waits too long gets an
// error that says what to do.
func TestFetchesOfAccount(t *testing.T) {
	n, chain := executing(t)
	as := func(ctx context.Context, account string) context.Context {
		grant, _ := nodegate.NewGrant(account, "key", nil)
		return nodegate.WithGrant(ctx, grant)
	}
	synctest.Test(t, func(t *testing.T) {
		var fetching, most atomic.Int64
		release := make(chan struct{})
		chain.before = func(name string) {
			if name == "eth_getProof" {
				now := fetching.Add(1)
				for was := most.Load(); now > was && !most.CompareAndSwap(was, now); was = most.Load() {
				}
				<-release
				fetching.Add(-1)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		for i := range byte(6) {
			running.Go(func() {
				if _, err := n.Call(as(ctx, "one"), "eth_getStorageValues", []byte(storagesFrom(20*i, 20))); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if got := fetching.Load(); got != maxFetches {
			t.Errorf("%d proofs are fetched for an account, want %d", got, maxFetches)
		}
		running.Go(func() {
			if _, err := n.Call(as(ctx, "two"), "eth_getBalance", []byte(`["`+rich.Hex()+`","latest"]`)); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		if got := fetching.Load(); got != maxFetches+1 {
			t.Errorf("%d proofs are fetched for two accounts, want %d", got, maxFetches+1)
		}
		short, end := context.WithTimeout(as(ctx, "one"), time.Second)
		defer end()
		_, err := n.Call(short, "eth_getBalance", []byte(`["`+nobody.Hex()+`","latest"]`))
		if !errors.Is(err, nodegate.AccountBusy) || !strings.Contains(err.Error(), "Send fewer calls at once") {
			t.Errorf("a call that waits too long gets %v", err)
		}
		close(release)
		running.Wait()
		cancel()
		if got := most.Load(); got != maxFetches+1 {
			t.Errorf("at most %d proofs were fetched at the same time, want %d", got, maxFetches+1)
		}
		if !n.flights.places.Idle() {
			t.Error("places are kept")
		}
	})
}

// TestVouched: an answer says how many nodes vouch for its block by now, not when its header
// was read.
func TestVouched(t *testing.T) {
	n, c := executing(t)
	agreed := 1
	n.cfg.Vouched = func(number uint64, hash [32]byte) (int, bool) {
		return agreed, agreed > 1 && number == 1 && hash == c.blocks[1].Hash()
	}
	for agreed = 1; agreed <= 3; agreed++ {
		for name, params := range map[string]string{"eth_call": callTo(slotReader), "eth_getBalance": `["` + rich.Hex() + `","latest"]`, "eth_getProof": `["` + rich.Hex() + `",[],"latest"]`} {
			var trace nodegate.Trace
			_, err := n.Call(nodegate.WithTrace(t.Context(), &trace), name, []byte(params))
			if err != nil || trace.Agreed != agreed || trace.Checkpoint != (agreed > 1) {
				t.Errorf("%s: %v, %+v, want %d nodes", name, err, trace, agreed)
			}
		}
	}
}
