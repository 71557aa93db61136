package rollup

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/background"
	"github.com/nodegate/nodegate/internal/method"
)

// estimate prices a transaction as Linea does: the gas as eth_estimateGas finds
// it, the base fee of the block that follows, and the priority fee that pays for
// publishing the transaction.
func estimate(ctx context.Context, n *Node, req *request) (*quote, error) {
	m, err := n.market(ctx, req.block)
	if err != nil {
		return nil, err
	}
	gas, err := n.gas(ctx, req)
	if err != nil {
		return nil, err
	}
	q := &quote{gas: gas, baseFee: m.baseFee}
	if err := n.checkBalance(ctx, req, q); err != nil {
		return nil, err
	}
	q.priorityFee, err = n.priorityFee(ctx, req, m, gas)
	return q, err
}

// gas is the node's own estimate. The fee formula divides by it in 64 bits.
func (n *Node) gas(ctx context.Context, req *request) (int64, error) {
	var args []json.RawMessage
	var err error
	background.RunLarge(req.size, func() { args, err = req.forEstimate() })
	if err != nil {
		return 0, err
	}
	gas, err := ask[hexutil.Uint64](ctx, n.next, method.EthEstimateGas, args...)
	if err != nil {
		return 0, err
	}
	return asGas(method.EthEstimateGas, uint64(gas))
}

// asGas takes an amount of gas that a node gave, if it can be one.
func asGas(name string, gas uint64) (int64, error) {
	if gas == 0 || gas > math.MaxInt64 {
		return 0, nodeNonsense(name, fmt.Errorf("%d gas", gas))
	}
	return int64(gas), nil
}

// checkBalance makes sure that a named sender can pay for the gas, and the fee
// beside it, up front. eth_estimateGas does not, when the call names no price.
func (n *Node) checkBalance(ctx context.Context, req *request, q *quote) error {
	if req.call.From == nil {
		return nil
	}
	balance, err := n.balance(ctx, req)
	if err != nil {
		return err
	}
	cost := new(big.Int).Mul(big.NewInt(q.gas), req.call.upfrontPrice(q.baseFee))
	cost.Add(cost, orZero(req.call.Value.ToInt()))
	cost.Add(cost, orZero(q.dataFee))
	if cost.Cmp(balance) <= 0 {
		return nil
	}
	return refused(fmt.Sprintf(
		"transaction up-front cost %#x exceeds transaction sender account balance %#x for sender %#x",
		cost, balance, *req.call.From))
}

// balance is the sender's at the block, unless the request overrides it.
func (n *Node) balance(ctx context.Context, req *request) (*big.Int, error) {
	if o := req.overrides[*req.call.From]; o.Balance != nil {
		return o.Balance.ToInt(), nil
	}
	balance, err := ask[hexutil.Big](ctx, n.next, method.EthGetBalance, req.sender(), req.raw[1])
	return balance.ToInt(), err
}

func (n *Node) priorityFee(ctx context.Context, req *request, m market, gas int64) (*big.Int, error) {
	if n.cfg.CompatibilityMode {
		return compatibleFee(n.cfg.Multiplier, n.cfg.minGasPrice(m), m.baseFee), nil
	}
	encoded, err := n.encode(ctx, req, m, gas)
	if err != nil {
		return nil, err
	}
	size, err := n.sizer.size(ctx, encoded)
	if errors.Is(err, errTooLong) {
		return nil, badArgument(0, err)
	} else if err != nil {
		return nil, timedOut(err)
	}
	fixed, variable := n.cfg.costs(m)
	return profitableFee(n.cfg.Margin, fixed, variable, int64(size), gas), nil
}

// encode drafts the transaction, asking the node for what the call leaves out.
func (n *Node) encode(ctx context.Context, req *request, m market, gas int64) ([]byte, error) {
	nonce, err := n.nonce(ctx, req)
	if err != nil {
		return nil, err
	}
	chainID, err := n.chainID(ctx, &req.call)
	if err != nil {
		return nil, err
	}
	d := draft{call: &req.call, chainID: chainID, nonce: nonce, gas: uint64(gas), baseFee: m.baseFee}
	var encoded []byte
	background.RunLarge(req.size, func() { encoded, err = d.encode() })
	if err != nil {
		return nil, badArgument(0, err)
	}
	return encoded, nil
}

func (n *Node) nonce(ctx context.Context, req *request) (uint64, error) {
	if req.call.Nonce != nil {
		return uint64(*req.call.Nonce), nil
	}
	if req.call.From == nil {
		return 0, nil
	}
	nonce, err := ask[hexutil.Uint64](ctx, n.next, method.EthGetTransactionCount, req.sender(), req.raw[1])
	return uint64(nonce), err
}

// chainID is asked for only where the transaction's type can't do without: a
// legacy transaction is priced as an unprotected one.
func (n *Node) chainID(ctx context.Context, c *call) (*big.Int, error) {
	if c.ChainID != nil || c.kind() == legacyType {
		return c.ChainID.ToInt(), nil
	}
	id, err := ask[hexutil.Big](ctx, n.next, method.EthChainID)
	return id.ToInt(), err
}

func (r *request) sender() json.RawMessage { return quoted(hexutil.Encode(r.call.From[:])) }

// ask calls a method of the node below and decodes its answer. The node's errors
// come back unchanged.
func ask[T any](ctx context.Context, node nodegate.Node, name string, args ...json.RawMessage) (T, error) {
	var result T
	list := make([][]byte, len(args))
	for i, arg := range args {
		list[i] = arg
	}
	params := append([]byte{'['}, bytes.Join(list, []byte{','})...)
	raw, err := node.Call(ctx, name, append(params, ']'))
	if err != nil {
		return result, err
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		return result, nodeNonsense(name, err)
	}
	return result, nil
}
