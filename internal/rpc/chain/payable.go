package chain

import (
	"math/big"

	"github.com/ethereum/go-ethereum/consensus/misc/eip1559"
	"github.com/ethereum/go-ethereum/consensus/misc/eip4844"
	"github.com/ethereum/go-ethereum/core/txpool"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/eth"
	"github.com/holiman/uint256"
)

// nextBlock is what the next block of a chain asks of transactions.
type nextBlock struct {
	eth      *eth.Ethereum
	settings *settings
}

// payable counts the pending transactions that pay what the next block asks for. The pool
// holds others too: one whose fee cap is below the base fee would cost an empty block a
// second for as long as it waits. The lock is held.
func (b nextBlock) payable() (count int) {
	for _, filter := range b.filters() {
		_, n := b.eth.TxPool().Pending(filter)
		count += n
	}
	return count
}

// filters choose what the next block can take: plain transactions, and those with blobs.
func (b nextBlock) filters() []txpool.PendingFilter {
	bc := b.eth.BlockChain()
	config, head := bc.Config(), bc.CurrentBlock()
	filter := txpool.PendingFilter{MinTip: new(uint256.Int)}
	if fee := b.baseFee(head); fee != nil {
		filter.BaseFee = uint256.MustFromBig(fee)
	}
	blobs := filter
	blobs.BlobTxs = true
	if config.IsOsaka(head.Number, head.Time) {
		blobs.BlobVersion = types.BlobSidecarVersion1
	}
	if head.ExcessBlobGas != nil {
		next := *head
		excess := eip4844.CalcExcessBlobGas(config, head, head.Time+1)
		next.ExcessBlobGas, next.Time = &excess, head.Time+1
		blobs.BlobFee = uint256.MustFromBig(eip4844.CalcBlobFee(config, &next))
	}
	return []txpool.PendingFilter{filter, blobs}
}

// baseFee is the base fee of the next block, or nil before London.
func (b nextBlock) baseFee(head *types.Header) *big.Int {
	number := head.Number.Uint64() + 1
	if b.settings.forNext(number) && b.settings.baseFee() != nil {
		return b.settings.baseFee()
	}
	config := b.eth.BlockChain().Config()
	if !config.IsLondon(new(big.Int).SetUint64(number)) {
		return nil
	}
	return eip1559.CalcBaseFee(config, head)
}
