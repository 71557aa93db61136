package clients_test

import (
	"context"
	"math/big"
	"os"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/params"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
	"github.com/nodegate/nodegate/test/harness"
)

// frontOf is a server with one remote network, anvil.
func frontOf(t *testing.T, url string) *harness.Service {
	t.Helper()
	front := harness.Start(t, func(c *config.Config) {
		c.Networks = []config.Network{remoteNetwork("anvil", url)}
		c.Networks[0].Cache, c.DefaultNetwork = config.Default().Networks[0].Cache, "anvil"
	})
	awaitReady(t, front)
	return front
}

// TestFreshAnvil: who has a receipt sees its effects at `latest`, over an anvil that mines
// each transaction when it comes and reports it only when it is asked.
func TestFreshAnvil(t *testing.T) {
	front := frontOf(t, startAnvil(t))
	client, err := ethclient.Dial(front.URL("anvil", key))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	rounds, stale := 40, 0
	if os.Getenv("NODEGATE_CHAOS") != "" {
		rounds = 300
	}
	from := devchain.Accounts()[0]
	for i := range uint64(rounds) {
		to := common.BigToAddress(big.NewInt(int64(0xa9f10000 + i)))
		tx := types.MustSignNewTx(from.PrivateKey, types.LatestSignerForChainID(big.NewInt(anvilChain)), &types.DynamicFeeTx{
			ChainID: big.NewInt(anvilChain), Nonce: i, GasTipCap: big.NewInt(params.GWei), GasFeeCap: big.NewInt(100 * params.GWei), Gas: 21_000, To: &to, Value: big.NewInt(1),
		})
		if err := client.SendTransaction(t.Context(), tx); err != nil {
			t.Fatal(err)
		}
		if !fresh(t, client, tx, from.Address) {
			stale++
		}
	}
	if stale > 0 {
		t.Errorf("%d of %d rounds are stale", stale, rounds)
	}
	t.Logf("row 60: anvil with automine: %d of %d rounds stale", stale, rounds)
}

// fresh waits for the receipt of a transaction and tells whether its effects are there.
func fresh(t *testing.T, client *ethclient.Client, tx *types.Transaction, from common.Address) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	receipt, err := client.TransactionReceipt(ctx, tx.Hash())
	for ; err != nil && ctx.Err() == nil; receipt, err = client.TransactionReceipt(ctx, tx.Hash()) {
		time.Sleep(time.Millisecond)
	}
	if err != nil {
		t.Fatal(err)
	}
	head, err := client.BlockNumber(ctx)
	if err != nil {
		t.Fatal(err)
	}
	balance, err := client.BalanceAt(ctx, *tx.To(), nil)
	if err != nil {
		t.Fatal(err)
	}
	nonce, err := client.NonceAt(ctx, from, nil)
	if err != nil {
		t.Fatal(err)
	}
	return head >= receipt.BlockNumber.Uint64() && balance.Sign() > 0 && nonce == tx.Nonce()+1
}
