package devchain

import (
	"bytes"
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/eth"
	"github.com/ethereum/go-ethereum/eth/catalyst"
	"github.com/ethereum/go-ethereum/eth/ethconfig"
	"github.com/ethereum/go-ethereum/node"
	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/params"
)

// A complete node, as the server runs it, takes up where the file ends.
func TestNodeContinues(t *testing.T) {
	for _, p := range presets() {
		t.Run(p.Name, func(t *testing.T) {
			backend := startNode(t, p)
			beacon := importInto(t, backend, p)
			tx := newTransfer(backend)
			if err := backend.TxPool().Add([]*types.Transaction{tx}, true)[0]; err != nil {
				t.Fatal(err)
			}
			beacon.Commit()
			checkNewHead(t, p, backend, tx.Hash())
		})
	}
}

func startNode(t *testing.T, p Preset) *eth.Ethereum {
	t.Helper()
	stack, err := node.New(&node.Config{P2P: p2p.Config{NoDiscovery: true, NoDial: true}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stack.Close() })
	backend, err := eth.New(stack, nodeConfig(p))
	if err != nil {
		t.Fatal(err)
	}
	if err := stack.Start(); err != nil {
		t.Fatal(err)
	}
	return backend
}

func nodeConfig(p Preset) *ethconfig.Config {
	config := ethconfig.Defaults
	config.Genesis = p.Genesis()
	config.SyncMode = ethconfig.FullSync
	config.StateScheme = rawdb.HashScheme
	config.NoPruning = true
	config.LogNoHistory = true
	config.TxPool.NoLocals = true
	config.TrieCleanCache, config.TrieDirtyCache, config.SnapshotCache = 16, 16, 0
	config.Miner.ExtraData = config.Genesis.ExtraData
	config.Miner.GasCeil = config.Genesis.GasLimit
	return &config
}

func importInto(t *testing.T, backend *eth.Ethereum, p Preset) *catalyst.SimulatedBeacon {
	t.Helper()
	if _, err := backend.BlockChain().InsertChain(decode(t, p.Chain)); err != nil {
		t.Fatal(err)
	}
	beacon, err := catalyst.NewSimulatedBeacon(0, p.Genesis().Coinbase, backend)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { beacon.Stop() })
	if err := backend.TxPool().Sync(); err != nil {
		t.Fatal(err)
	}
	return beacon
}

// newTransfer is signed by the first account, whose nonce the file leaves at 0.
func newTransfer(backend *eth.Ethereum) *types.Transaction {
	config := backend.BlockChain().Config()
	to := Accounts()[1].Address
	return types.MustSignNewTx(Accounts()[0].PrivateKey, types.LatestSigner(config), &types.DynamicFeeTx{
		ChainID:   config.ChainID,
		GasTipCap: big.NewInt(params.GWei),
		GasFeeCap: big.NewInt(3 * params.GWei),
		Gas:       params.TxGas,
		To:        &to,
		Value:     ether(1),
	})
}

func checkNewHead(t *testing.T, p Preset, backend *eth.Ethereum, hash common.Hash) {
	t.Helper()
	g, blocks := p.Genesis(), decode(t, p.Chain)
	head := backend.BlockChain().GetBlockByHash(backend.BlockChain().CurrentBlock().Hash())
	if head.ParentHash() != blocks[len(blocks)-1].Hash() {
		t.Fatalf("block %d does not stand on the file's last", head.NumberU64())
	}
	if head.Transaction(hash) == nil {
		t.Error("the new block lacks the transaction")
	}
	if !bytes.Equal(head.Extra(), g.ExtraData) || head.GasLimit() != g.GasLimit || head.Coinbase() != g.Coinbase {
		t.Errorf("the new header differs from the genesis's settings: %+v", head.Header())
	}
	if p.Name == "rollup" && head.BaseFee().Cmp(big.NewInt(rollupBaseFee)) != 0 {
		t.Errorf("the base fee moved to %s", head.BaseFee())
	}
}
