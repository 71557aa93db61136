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
	"github.com/ethereum/go-ethereum/core/types"
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

// TestFundBehindCheapTransaction: the keys are well known, and somebody leaves a
// transaction that nobody mines.
func TestFundBehindCheapTransaction(t *testing.T) {
	n := openDevnet(t)
	a := devchain.Deployer()
	tx, err := types.SignNewTx(a.PrivateKey, types.LatestSigner(n.engine.eth.BlockChain().Config()), &types.DynamicFeeTx{
		ChainID: n.engine.eth.BlockChain().Config().ChainID, Nonce: n.engine.eth.TxPool().PoolNonce(a.Address),
		To: &common.Address{1}, Gas: 21_000, GasFeeCap: big.NewInt(1), GasTipCap: big.NewInt(1),
	})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	call(t, n, "eth_sendRawTransaction", `["`+hexutil.Encode(raw)+`"]`)
	for range 2 {
		if _, err := n.Fund(t.Context(), common.Address{2}, big.NewInt(params.Ether)); err != nil {
			t.Fatal(err)
		}
	}
}
