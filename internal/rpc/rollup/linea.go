package rollup

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/nodegate/nodegate/internal/method"
)

// lineaFee is the answer of linea_estimateGas.
type lineaFee struct {
	GasLimit          *hexutil.Uint64 `json:"gasLimit"`
	BaseFeePerGas     *hexutil.Big    `json:"baseFeePerGas"`
	PriorityFeePerGas *hexutil.Big    `json:"priorityFeePerGas"`
}

// lineaEstimate forwards to a node of Linea under the method's real name, whatever
// the network calls it here. It estimates for the pending block and takes overrides
// where others take a block; it checks the sender's balance itself. Where no node has
// the method, the same formula is worked out here, by the prices in the blocks.
func lineaEstimate(ctx context.Context, n *Node, req *request) (*quote, error) {
	if err := n.onlyNow(ctx, req.block); err != nil {
		return nil, err
	}
	args, err := req.forLinea()
	if err != nil {
		return nil, err
	}
	fee, err := ask[lineaFee](ctx, n.next, method.LineaEstimateGas, args...)
	if lacksMethod(err) {
		return estimate(ctx, n, req)
	}
	if err != nil {
		return nil, err
	}
	if fee.GasLimit == nil || fee.BaseFeePerGas == nil || fee.PriorityFeePerGas == nil {
		return nil, nodeNonsense(method.LineaEstimateGas, errors.New("a part of the fee is missing"))
	}
	gas, err := asGas(method.LineaEstimateGas, uint64(*fee.GasLimit))
	if err != nil {
		return nil, err
	}
	return &quote{gas: gas, baseFee: fee.BaseFeePerGas.ToInt(), priorityFee: fee.PriorityFeePerGas.ToInt()}, nil
}

// forLinea gives nobody plenty where the call names no sender: the network checks
// that balance too.
func (r *request) forLinea() ([]json.RawMessage, error) {
	if r.call.From != nil {
		return r.withoutBlock(), nil
	}
	overrides, err := r.endowed()
	return []json.RawMessage{r.raw[0], overrides}, err
}

// withoutBlock is the call and its overrides.
func (r *request) withoutBlock() []json.RawMessage {
	if len(r.raw) > 2 {
		return []json.RawMessage{r.raw[0], r.raw[2]}
	}
	return r.raw[:1]
}
