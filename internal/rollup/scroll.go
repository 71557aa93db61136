package rollup

import (
	"context"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
)

// scrollOracle knows what Scroll's transactions pay for the base layer.
var scrollOracle = common.HexToAddress("0x5300000000000000000000000000000000000002")

// scrollEstimate prices a transaction on Scroll, which takes the base layer's fee
// from the balance beside the gas.
func scrollEstimate(ctx context.Context, n *Node, req *request) (*quote, error) {
	return estimateBeside(ctx, n, req, scrollDataFee)
}

// scrollDataFee asks the oracle about the whole transaction, signature included.
// Since Galileo the network charges for its compressed length, which is less: the
// answer is then an upper bound.
func scrollDataFee(ctx context.Context, n *Node, req *request, d draft) (*big.Int, error) {
	tx, err := d.signed()
	if err != nil {
		return nil, badArgument(0, err)
	}
	fee, err := n.view(ctx, scrollOracle, getL1Fee.withBytes(tx), req.raw[1], 1)
	if err != nil {
		return nil, err
	}
	return fee[0], nil
}
