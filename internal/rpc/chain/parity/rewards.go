package parity

import (
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
)

type rewardAction struct {
	Author     common.Address `json:"author"`
	RewardType string         `json:"rewardType"`
	Value      *hexutil.Big   `json:"value"`
}

// rewards are the traces of what miners of a block got, before the merge.
func (a *API) rewards(block *types.Block) []*Trace {
	if block.Difficulty().Sign() == 0 {
		return nil
	}
	miner, uncles := a.chain.Rewards(block)
	traces := []*Trace{reward(block, block.Coinbase(), "block", miner)}
	for i, value := range uncles {
		traces = append(traces, reward(block, block.Uncles()[i].Coinbase, "uncle", value))
	}
	return traces
}

func reward(block *types.Block, author common.Address, kind string, value *big.Int) *Trace {
	hash, number := block.Hash(), block.NumberU64()
	return &Trace{
		Action: rewardAction{author, kind, (*hexutil.Big)(value)}, BlockHash: &hash, BlockNumber: &number,
		TraceAddress: []int{}, Type: typeReward, to: author,
	}
}
