package chain

import (
	"context"
	"errors"
	"math/big"
	"path/filepath"
	"sync"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/params"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
)

// Ten people ask at once, and each gets theirs; the ten accounts of the mnemonic stay
// as they were.
func TestFund(t *testing.T) {
	for _, p := range []devchain.Preset{devchain.Devnet(), devchain.Rollup()} {
		n := openTemp(t, presetConfig(p, filepath.Join(t.TempDir(), "chain")))
		before := call(t, n, "eth_getBalance", `["`+lower(devchain.Accounts()[0].Address)+`","latest"]`)
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				to := common.BigToAddress(big.NewInt(int64(0xfa0000 + i)))
				if _, err := n.Fund(context.Background(), to, big.NewInt(params.Ether)); err != nil {
					t.Errorf("%s: %v", p.Name, err)
				}
				if got := call(t, n, "eth_getBalance", `["`+lower(to)+`","latest"]`); got != `"`+hexutil.EncodeBig(big.NewInt(params.Ether))+`"` {
					t.Errorf("%s: the balance is %s", p.Name, got)
				}
			})
		}
		wg.Wait()
		if after := call(t, n, "eth_getBalance", `["`+lower(devchain.Accounts()[0].Address)+`","latest"]`); after != before {
			t.Errorf("%s: a user's account had %s and has %s", p.Name, before, after)
		}
	}
}

func TestFundRefuses(t *testing.T) {
	n := openDevnet(t)
	_, err := n.Fund(context.Background(), common.Address{1}, new(big.Int).Mul(big.NewInt(params.Ether), big.NewInt(1_000_000_000)))
	if !errors.Is(err, nodegate.ExecutionFailed) {
		t.Errorf("more than there is: %v", err)
	}
}
