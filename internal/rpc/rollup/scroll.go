package rollup

import (
	"context"
	"encoding/json"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
)

// scrollOracle knows what Scroll's transactions pay for the base layer.
var scrollOracle = common.HexToAddress("0x5300000000000000000000000000000000000002")

// The functions of the oracle that say what it computes with.
var (
	isCurie      = selector{0x13, 0xda, 0xd5, 0xbe} // isCurie()
	getL1BaseFee = selector{0x51, 0x9b, 0x4b, 0xd3} // l1BaseFee()
	getOverhead  = selector{0x0c, 0x18, 0xc1, 0x62} // overhead()
	getScalar    = selector{0xf4, 0x5e, 0x65, 0xd8} // scalar()
)

const (
	scrollPrecision = 1_000_000_000
	lengthBytes     = 4 // that a transaction's length took beside it, before Curie
)

// scrollEstimate prices a transaction on Scroll, which takes the base layer's fee
// from the balance beside the gas.
func scrollEstimate(ctx context.Context, n *Node, req *request) (*quote, error) {
	return estimateBeside(ctx, n, req, scrollDataFee)
}

// scrollDataFee asks the oracle about the whole transaction, signature included.
// Since Feynman the network charges less where its own compressor does well, which the
// oracle can't see: the answer is then an upper bound.
func scrollDataFee(ctx context.Context, n *Node, req *request, d draft) (*big.Int, error) {
	tx, err := d.signed()
	if err != nil {
		return nil, badArgument(0, err)
	}
	at := req.raw[1]
	fee, err := n.view(ctx, scrollOracle, getL1Fee.withBytes(tx), at, 1)
	if err == nil {
		return fee[0], nil
	}
	if !failedInside(err) {
		return nil, err
	}
	curie, flagErr := n.flag(ctx, scrollOracle, isCurie, at)
	if flagErr != nil {
		return nil, flagErr
	}
	if curie {
		return nil, err // it only multiplies: that can't fail for a transaction's length
	}
	return n.scrollCalldataFee(ctx, tx, at)
}

// scrollCalldataFee is the fee before Curie. The oracle walked over every byte for it,
// which for a long transaction takes more gas than a node gives.
func (n *Node) scrollCalldataFee(ctx context.Context, tx []byte, at json.RawMessage) (*big.Int, error) {
	var terms [3]*big.Int
	for i, s := range []selector{getL1BaseFee, getOverhead, getScalar} {
		word, err := n.view(ctx, scrollOracle, s[:], at, 1)
		if err != nil {
			return nil, err
		}
		terms[i] = word[0]
	}
	return calldataFee{terms[0], terms[1], terms[2], scrollPrecision}.of(calldataGas(tx) + lengthBytes*nonZeroGas), nil
}
