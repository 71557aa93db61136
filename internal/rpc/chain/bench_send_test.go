package chain

import (
	"context"
	"crypto/ecdsa"
	"fmt"
	"math/big"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"

	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
)

// BenchmarkSend compares the two ways to acknowledge a transaction: when it is in the
// journal, and when its block is on disk.
func BenchmarkSend(b *testing.B) {
	for _, method := range []string{sendMethod, syncMethod} {
		for _, senders := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/%d", method, senders), func(b *testing.B) { benchmarkSend(b, method, senders) })
		}
	}
}

func benchmarkSend(b *testing.B, method string, senders int) {
	keys := make([]*ecdsa.PrivateKey, senders)
	genesis := devchain.Devnet().Genesis()
	for i := range keys {
		keys[i], _ = crypto.GenerateKey()
		genesis.Alloc[crypto.PubkeyToAddress(keys[i].PublicKey)] = types.Account{Balance: Ether(1000)}
	}
	n := openTemp(b, chainConfig(genesis, nil, filepath.Join(b.TempDir(), "chain")))
	signer := types.LatestSigner(genesis.Config)
	each := b.N/senders + 1
	signed := make([][][]byte, senders)
	for i, key := range keys {
		for nonce := range each {
			signed[i] = append(signed[i], rawParams(types.MustSignNewTx(key, signer, &types.DynamicFeeTx{
				ChainID: genesis.Config.ChainID, Nonce: uint64(nonce), To: &common.Address{1}, Gas: 21000, Value: big.NewInt(1),
				GasTipCap: big.NewInt(params.GWei), GasFeeCap: big.NewInt(10 * params.GWei),
			})))
		}
	}
	var mu sync.Mutex
	var times []time.Duration
	var wait sync.WaitGroup
	b.ResetTimer()
	for _, list := range signed {
		wait.Go(func() {
			for _, tx := range list {
				begun := time.Now()
				if _, err := n.Call(context.Background(), method, tx); err != nil {
					b.Error(err)
					return
				}
				took := time.Since(begun)
				mu.Lock()
				times = append(times, took)
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	b.StopTimer()
	slices.Sort(times)
	b.ReportMetric(float64(len(times))/b.Elapsed().Seconds(), "tx/s")
	b.ReportMetric(float64(times[len(times)/2].Microseconds()), "p50-us")
	b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), "p99-us")
	b.ReportMetric(float64(head(b, n))/b.Elapsed().Seconds(), "blocks/s")
}
