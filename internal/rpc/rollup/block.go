package rollup

import (
	"context"
	"encoding/json"
	"errors"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
)

// The constants of EIP-1559.
const (
	elasticity        = 2
	changeDenominator = 8
)

// block says how to ask for a block's header.
type block struct {
	byHash  bool
	arg     json.RawMessage
	pending bool
	number  *hexutil.Uint64 // where it was asked for by number
}

// header is what the fee model reads of a block.
type header struct {
	Number    hexutil.Uint64 `json:"number"`
	BaseFee   *hexutil.Big   `json:"baseFeePerGas"`
	GasLimit  hexutil.Uint64 `json:"gasLimit"`
	GasUsed   hexutil.Uint64 `json:"gasUsed"`
	ExtraData hexutil.Bytes  `json:"extraData"`
}

// market is what a transaction that follows a block meets.
type market struct {
	baseFee *big.Int
	pricing Pricing
	priced  bool // pricing was found in the block
}

// parseBlock reads a block parameter: a number, a tag, a hash, or either of the
// objects of EIP-1898.
func parseBlock(raw json.RawMessage) (block, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return blockOf(text)
	}
	var object struct {
		Number *string `json:"blockNumber"`
		Hash   *string `json:"blockHash"`
	}
	if err := json.Unmarshal(raw, &object); err != nil {
		return block{}, err
	}
	switch {
	case object.Number != nil && object.Hash != nil:
		return block{}, errors.New("cannot specify both BlockHash and BlockNumber, choose one or the other")
	case object.Number != nil:
		return byNumber(*object.Number)
	case object.Hash != nil:
		return byHash(*object.Hash)
	}
	return block{}, errors.New("neither a block number nor a block hash")
}

func blockOf(text string) (block, error) {
	if len(text) == 2+2*common.HashLength {
		return byHash(text)
	}
	return byNumber(text)
}

func byHash(text string) (block, error) {
	var hash common.Hash
	if err := hash.UnmarshalText([]byte(text)); err != nil {
		return block{}, err
	}
	return block{byHash: true, arg: quoted(text)}, nil
}

func byNumber(text string) (block, error) {
	b := block{arg: quoted(text), pending: text == "pending"}
	switch text {
	case "latest", "earliest", "pending", "safe", "finalized":
	default:
		number, err := hexutil.DecodeUint64(text)
		if err != nil {
			return block{}, err
		}
		b.number = (*hexutil.Uint64)(&number)
	}
	return b, nil
}

// quoted makes JSON of a text that was checked to need no escapes.
func quoted(text string) json.RawMessage { return json.RawMessage(`"` + text + `"`) }

// market finds the base fee and the prices for a transaction on top of a block.
//
// A pending block is the next block, so its base fee stands. Where a node has no
// pending block, or makes one without prices, the newest block says the same.
func (n *Node) market(ctx context.Context, b block) (market, error) {
	h, err := n.header(ctx, b)
	if err != nil {
		return market{}, err
	}
	if b.pending {
		if m, ok := h.ownMarket(); ok && m.priced {
			return m, nil
		}
		if h, err = n.header(ctx, block{arg: quoted("latest")}); err != nil {
			return market{}, err
		}
	}
	if h == nil {
		return market{}, refused("header not found")
	}
	m, ok := h.ownMarket()
	if !ok {
		return market{}, &nodegate.Error{Op: op, Code: nodegate.InvalidRequest, Msg: "Not on a baseFee market"}
	}
	m.baseFee = nextBaseFee(m.baseFee, uint64(h.GasLimit), uint64(h.GasUsed))
	return m, nil
}

// header asks for a block without its transactions; nil is an unknown block.
func (n *Node) header(ctx context.Context, b block) (*header, error) {
	name := method.EthGetBlockByNumber
	if b.byHash {
		name = method.EthGetBlockByHash
	}
	return ask[*header](ctx, n.next, name, b.arg, json.RawMessage("false"))
}

// ownMarket is the market inside the block. There is none without a base fee.
func (h *header) ownMarket() (market, bool) {
	if h == nil || h.BaseFee == nil {
		return market{}, false
	}
	m := market{baseFee: h.BaseFee.ToInt()}
	m.pricing, m.priced = decodeExtraData(h.ExtraData)
	return m, true
}

// nextBaseFee is EIP-1559's base fee of the block after one with these values.
func nextBaseFee(baseFee *big.Int, gasLimit, gasUsed uint64) *big.Int {
	target := gasLimit / elasticity
	if target == 0 || gasUsed == target {
		return baseFee
	}
	if gasUsed < target {
		return new(big.Int).Sub(baseFee, baseFeeDelta(baseFee, target-gasUsed, target))
	}
	delta := baseFeeDelta(baseFee, gasUsed-target, target)
	if delta.Sign() == 0 {
		// A full block always raises the fee, or a fee of a few wei could never rise.
		delta.SetUint64(1)
	}
	return delta.Add(baseFee, delta)
}

// baseFeeDelta divides twice because the rounding is part of the standard.
func baseFeeDelta(baseFee *big.Int, distance, target uint64) *big.Int {
	delta := new(big.Int).SetUint64(distance)
	delta.Mul(delta, baseFee)
	delta.Div(delta, new(big.Int).SetUint64(target))
	return delta.Div(delta, big.NewInt(changeDenominator))
}
