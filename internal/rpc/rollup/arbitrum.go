package rollup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"

	"github.com/nodegate/nodegate/internal/method"
)

// nodeInterface is no contract: Arbitrum's nodes answer calls to it themselves.
const nodeInterface = "0x00000000000000000000000000000000000000c8"

// gasEstimateComponents is gasEstimateComponents(address,bool,bytes). It returns the
// gas in all, the part of it that pays the base layer, and the base fees of both.
var gasEstimateComponents = selector{0xc9, 0x4e, 0x6e, 0xeb}

const componentWords = 4

// arbitrumEstimate asks the network's node, which puts the base layer's cost into
// the amount of gas. There are no tips.
func arbitrumEstimate(ctx context.Context, n *Node, req *request) (*quote, error) {
	if len(req.raw) > 2 {
		return nil, badArgument(2, errors.New("arbitrum estimates without state overrides"))
	}
	call, err := componentsCall(&req.call, req.raw[0])
	if err != nil {
		return nil, err
	}
	words, err := n.execute(ctx, call, req.raw[1], componentWords)
	if err != nil {
		return nil, err
	}
	if !words[0].IsUint64() {
		return nil, nodeNonsense(method.EthCall, fmt.Errorf("%v gas", words[0]))
	}
	gas, err := asGas(method.EthCall, words[0].Uint64())
	if err != nil {
		return nil, err
	}
	q := &quote{gas: gas, baseFee: words[2], priorityFee: new(big.Int)}
	return q, n.checkBalance(ctx, req, q)
}

// componentsCall asks about a call by sending what it would send, from whom it would.
func componentsCall(c *call, raw json.RawMessage) (json.RawMessage, error) {
	input := append(gasEstimateComponents[:], make([]byte, wordSize)...)
	creation := uint64(1)
	if c.To != nil {
		copy(input[len(input)-len(c.To):], c.To[:])
		creation = 0
	}
	input = appendWord(appendWord(input, creation), 3*wordSize)
	input = appendBytes(input, c.payload())
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, badArgument(0, err)
	}
	out := fmt.Appendf(nil, `{"to":"%s"`, nodeInterface)
	for _, name := range []string{"from", "value", "gas"} {
		if value, given := members[name]; given && !isNull(value) {
			out = fmt.Appendf(out, `,"%s":%s`, name, value)
		}
	}
	return fmt.Appendf(out, `,"input":"%#x"}`, input), nil
}
