package rollup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
)

// getL1Fee is getL1Fee(bytes), which the oracles of OP and of Scroll share.
var getL1Fee = selector{0x49, 0x94, 0x8e, 0x0e}

// dataFeeOf is what publishing a transaction costs beside its gas.
type dataFeeOf func(ctx context.Context, n *Node, req *request, d draft) (*big.Int, error)

// estimateBeside prices a transaction of a stack that takes the base layer's fee
// from the balance: gas and prices as on any chain, the fee told beside them.
func estimateBeside(ctx context.Context, n *Node, req *request, fee dataFeeOf) (*quote, error) {
	gas, err := n.gas(ctx, req)
	if err != nil {
		return nil, err
	}
	q := &quote{gas: gas}
	if q.baseFee, err = n.comingBaseFee(ctx, req.block); err != nil {
		return nil, err
	}
	tip, err := ask[hexutil.Big](ctx, n.next, method.EthMaxPriorityFeePerGas)
	if err != nil {
		return nil, err
	}
	q.priorityFee = tip.ToInt()
	d, err := n.likely(ctx, req, q)
	if err != nil {
		return nil, err
	}
	if q.dataFee, err = fee(ctx, n, req, d); err != nil {
		return nil, err
	}
	return q, n.checkBalance(ctx, req, q)
}

// comingBaseFee is the base fee of the block after one. The node's fee history has
// it by the network's own rules, which are not Ethereum's.
func (n *Node) comingBaseFee(ctx context.Context, b block) (*big.Int, error) {
	at, err := n.historyArg(ctx, b)
	if err != nil {
		return nil, err
	}
	history, err := ask[struct {
		BaseFee []*hexutil.Big `json:"baseFeePerGas"`
	}](ctx, n.next, method.EthFeeHistory, quoted("0x1"), at, json.RawMessage("[]"))
	if err != nil {
		return nil, err
	}
	last := len(history.BaseFee) - 1
	if last != 1 || history.BaseFee[last] == nil {
		return nil, nodeNonsense(method.EthFeeHistory, fmt.Errorf("%d base fees where one block and the next have two", last+1))
	}
	return history.BaseFee[last].ToInt(), nil
}

// historyArg is the block as the fee history takes it: not by hash. What follows
// the newest block is the pending one.
func (n *Node) historyArg(ctx context.Context, b block) (json.RawMessage, error) {
	if b.pending {
		return quoted("latest"), nil
	}
	if !b.byHash {
		return b.arg, nil
	}
	h, err := n.header(ctx, b)
	if err != nil {
		return nil, err
	}
	if h == nil {
		return nil, refused("header for hash not found")
	}
	return quoted(h.Number.String()), nil
}

// likely is the transaction that a wallet would make of the call: where it names no
// price, one with the fees of this quote.
func (n *Node) likely(ctx context.Context, req *request, q *quote) (draft, error) {
	c := req.call
	if c.GasPrice == nil && c.MaxFeePerGas == nil && c.MaxPriorityFeePerGas == nil {
		double := new(big.Int).Lsh(q.baseFee, 1)
		c.MaxFeePerGas = (*hexutil.Big)(double.Add(double, q.priorityFee))
		c.MaxPriorityFeePerGas = (*hexutil.Big)(q.priorityFee)
	}
	nonce, err := n.nonce(ctx, req)
	if err != nil {
		return draft{}, err
	}
	if c.ChainID == nil {
		id, err := ask[*hexutil.Big](ctx, n.next, method.EthChainID)
		if err != nil {
			return draft{}, err
		}
		c.ChainID = id
	}
	d := draft{call: &c, chainID: c.ChainID.ToInt(), nonce: nonce, gas: uint64(q.gas), baseFee: q.baseFee, onChain: true}
	if d.chainID == nil {
		return draft{}, nodeNonsense(method.EthChainID, errors.New("null"))
	}
	return d, nil
}

// calldataFee prices bytes by the gas that they take as calldata of the base layer: OP
// before Ecotone and Scroll before Curie, which differ in what the scalar is counted in.
type calldataFee struct {
	baseFee, overhead, scalar *big.Int
	unit                      int64
}

func (f calldataFee) of(gas int) *big.Int {
	fee := new(big.Int).Add(big.NewInt(int64(gas)), f.overhead)
	fee.Mul(fee, f.baseFee).Mul(fee, f.scalar)
	return fee.Div(fee, big.NewInt(f.unit))
}

// flag asks an oracle whether an upgrade is on; one that doesn't know the upgrade
// says no.
func (n *Node) flag(ctx context.Context, oracle common.Address, s selector, at json.RawMessage) (bool, error) {
	on, err := n.view(ctx, oracle, s[:], at, 1)
	if err != nil {
		if failedInside(err) {
			err = nil
		}
		return false, err
	}
	return on[0].Sign() != 0, nil
}

// failedInside tells whether the node executed a contract and it failed, rather
// than the node itself.
func failedInside(err error) bool {
	return errors.Is(err, nodegate.Reverted) || errors.Is(err, nodegate.ExecutionFailed) || errors.Is(err, nodegate.NodeFault)
}
