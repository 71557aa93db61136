package rollup

import (
	"context"
	"encoding/json"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/nodegate/nodegate/internal/method"
)

// The contracts of the OP stack that know its fees.
var (
	opOracle  = common.HexToAddress("0x420000000000000000000000000000000000000f")
	opL1Block = common.HexToAddress("0x4200000000000000000000000000000000000015")
)

// The functions of the oracle.
var (
	getOperatorFee = selector{0x27, 0x5a, 0xed, 0xd2} // getOperatorFee(uint256)
	isEcotone      = selector{0x4e, 0xf6, 0xe2, 0x24} // isEcotone()
	isFjord        = selector{0x96, 0x0e, 0x3a, 0x23} // isFjord()
	isJovian       = selector{0x10, 0x5d, 0x0b, 0x81} // isJovian()
)

// opEstimate prices a transaction on a network of the OP stack. The fee of the base
// layer and the operator's are taken from the balance beside the gas.
func opEstimate(ctx context.Context, n *Node, req *request) (*quote, error) {
	return estimateBeside(ctx, n, req, opDataFee)
}

func opDataFee(ctx context.Context, n *Node, req *request, d draft) (*big.Int, error) {
	tx, err := d.unsigned()
	if err != nil {
		return nil, badArgument(0, err)
	}
	at := req.raw[1]
	publish, err := n.opPublishFee(ctx, tx, at)
	if err != nil {
		return nil, err
	}
	operate, err := n.opOperatorFee(ctx, d.gas, at)
	if err != nil {
		return nil, err
	}
	return publish.Add(publish, operate), nil
}

// opPublishFee asks the oracle. It compresses the transaction in the EVM, which for a
// long one takes more gas than a node gives; then the same is done here.
func (n *Node) opPublishFee(ctx context.Context, tx []byte, at json.RawMessage) (*big.Int, error) {
	fee, err := n.view(ctx, opOracle, getL1Fee.withBytes(tx), at, 1)
	if err == nil {
		return fee[0], nil
	}
	if !failedInside(err) {
		return nil, err
	}
	return n.opComputedFee(ctx, tx, at)
}

// opComputedFee follows the newest upgrade that the oracle says is on. Before Regolith
// nodes charged the signature's bytes twice, which no oracle tells.
func (n *Node) opComputedFee(ctx context.Context, tx []byte, at json.RawMessage) (*big.Int, error) {
	fjord, err := n.flag(ctx, opOracle, isFjord, at)
	if err != nil {
		return nil, err
	}
	ecotone := fjord
	if !fjord {
		if ecotone, err = n.flag(ctx, opOracle, isEcotone, at); err != nil {
			return nil, err
		}
	}
	gas := calldataGas(tx) + signatureBytes*nonZeroGas
	if !ecotone {
		terms, err := n.slots(ctx, at, slotBaseFee, slotOverhead, slotScalar)
		if err != nil {
			return nil, err
		}
		return calldataFee{terms[0].Big(), terms[1].Big(), terms[2].Big(), opDecimals}.of(gas), nil
	}
	words, err := n.slots(ctx, at, slotBaseFee, slotScalars, slotBlobBaseFee)
	if err != nil {
		return nil, err
	}
	prices := readPrices(words[0], words[1], words[2])
	if fjord {
		return prices.fjord(flzLen(tx) + signatureBytes), nil
	}
	return prices.ecotone(gas), nil
}

// opOperatorFee asks the oracle too. One from before Isthmus doesn't know the function,
// and then the slot is empty and so is the fee.
func (n *Node) opOperatorFee(ctx context.Context, gas uint64, at json.RawMessage) (*big.Int, error) {
	fee, err := n.view(ctx, opOracle, getOperatorFee.withNumber(gas), at, 1)
	if err == nil {
		return fee[0], nil
	}
	if !failedInside(err) {
		return nil, err
	}
	terms, err := n.slot(ctx, slotOperator, at)
	if err != nil || terms == (common.Hash{}) {
		return new(big.Int), err
	}
	jovian, err := n.flag(ctx, opOracle, isJovian, at)
	if err != nil {
		return nil, err
	}
	return operatorTerms(terms).fee(gas, jovian), nil
}

// slot reads a word of the contract that holds the base layer's prices.
func (n *Node) slot(ctx context.Context, slot uint64, at json.RawMessage) (common.Hash, error) {
	key := quoted(hexutil.Encode(appendWord(nil, slot)))
	return ask[common.Hash](ctx, n.next, method.EthGetStorageAt, quoted(hexutil.Encode(opL1Block[:])), key, at)
}

func (n *Node) slots(ctx context.Context, at json.RawMessage, list ...uint64) (words []common.Hash, err error) {
	words = make([]common.Hash, len(list))
	for i, slot := range list {
		if words[i], err = n.slot(ctx, slot, at); err != nil {
			return nil, err
		}
	}
	return words, nil
}
