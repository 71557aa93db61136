package parity

import (
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/consensus/ethash"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
)

type rewardAction struct {
	Author     common.Address `json:"author"`
	RewardType string         `json:"rewardType"`
	Value      *hexutil.Big   `json:"value"`
}

// rewards are what miners of a block got before the merge; later there are none.
func rewards(config *params.ChainConfig, block *types.Block) (traces []*Trace) {
	if block.Difficulty().Sign() == 0 {
		return nil
	}
	base := ethash.FrontierBlockReward.ToBig()
	if config.IsByzantium(block.Number()) {
		base = ethash.ByzantiumBlockReward.ToBig()
	}
	if config.IsConstantinople(block.Number()) {
		base = ethash.ConstantinopleBlockReward.ToBig()
	}
	miner := new(big.Int).Set(base)
	for _, uncle := range block.Uncles() {
		miner.Add(miner, new(big.Int).Rsh(base, 5))
		near := new(big.Int).Sub(new(big.Int).Add(uncle.Number, big.NewInt(8)), block.Number()) // 8 minus how far it is off
		traces = append(traces, reward(block, uncle.Coinbase, "uncle", new(big.Int).Rsh(near.Mul(near, base), 3)))
	}
	return append([]*Trace{reward(block, block.Coinbase(), "block", miner)}, traces...)
}

func reward(block *types.Block, author common.Address, kind string, value *big.Int) *Trace {
	hash, number := block.Hash(), block.NumberU64()
	return &Trace{
		Action: rewardAction{author, kind, (*hexutil.Big)(value)}, BlockHash: &hash, BlockNumber: &number,
		TraceAddress: []int{}, Type: typeReward, to: author,
	}
}
