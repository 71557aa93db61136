package replay

import (
	"math/big"

	"github.com/ethereum/go-ethereum/consensus/ethash"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"
)

// Number resolves a tag. What is pending is not executed yet, so it means the newest block.
func (c *Chain) Number(n rpc.BlockNumber) uint64 {
	head := c.CurrentBlock()
	switch n {
	case rpc.EarliestBlockNumber:
		return 0
	case rpc.SafeBlockNumber:
		head = c.CurrentSafeBlock()
	case rpc.FinalizedBlockNumber:
		head = c.CurrentFinalBlock()
	case rpc.LatestBlockNumber, rpc.PendingBlockNumber:
	default:
		return uint64(n) //nolint:gosec // the others are not negative
	}
	if head == nil {
		return 0
	}
	return head.Number.Uint64()
}

// Rewards are what the miner of a block and those of its uncles got before the merge; later
// there are none.
func (c *Chain) Rewards(block *types.Block) (miner *big.Int, uncles []*big.Int) {
	if block.Difficulty().Sign() == 0 {
		return new(big.Int), nil
	}
	base := ethash.FrontierBlockReward.ToBig()
	if c.Config().IsByzantium(block.Number()) {
		base = ethash.ByzantiumBlockReward.ToBig()
	}
	if c.Config().IsConstantinople(block.Number()) {
		base = ethash.ConstantinopleBlockReward.ToBig()
	}
	miner = new(big.Int).Set(base)
	for _, uncle := range block.Uncles() {
		miner.Add(miner, new(big.Int).Rsh(base, 5))
		near := new(big.Int).Sub(new(big.Int).Add(uncle.Number, big.NewInt(8)), block.Number()) // 8 minus how far it is off
		uncles = append(uncles, near.Rsh(near.Mul(near, base), 3))
	}
	return miner, uncles
}
