package rollup

import (
	"context"
	"errors"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/nodegate/nodegate/internal/method"
)

// zksyncFee is the answer of zks_estimateFee.
type zksyncFee struct {
	GasLimit             *hexutil.Big `json:"gas_limit"`
	MaxFeePerGas         *hexutil.Big `json:"max_fee_per_gas"`
	MaxPriorityFeePerGas *hexutil.Big `json:"max_priority_fee_per_gas"`
}

// zksyncEstimate asks the network's own method, which puts the base layer's cost into
// the amount of gas. It estimates for the pending block and takes overrides where
// others take a block.
func zksyncEstimate(ctx context.Context, n *Node, req *request) (*quote, error) {
	if err := n.onlyNow(ctx, req.block); err != nil {
		return nil, err
	}
	fee, err := ask[zksyncFee](ctx, n.next, method.ZksEstimateFee, req.withoutBlock()...)
	if err != nil {
		return nil, err
	}
	if fee.GasLimit == nil || fee.MaxFeePerGas == nil || fee.MaxPriorityFeePerGas == nil || !fee.GasLimit.ToInt().IsUint64() {
		return nil, nodeNonsense(method.ZksEstimateFee, errors.New("a part of the fee is missing"))
	}
	gas, err := asGas(method.ZksEstimateFee, fee.GasLimit.ToInt().Uint64())
	if err != nil {
		return nil, err
	}
	q := &quote{gas: gas, baseFee: fee.MaxFeePerGas.ToInt(), priorityFee: fee.MaxPriorityFeePerGas.ToInt()}
	return q, n.checkBalance(ctx, req, q)
}
