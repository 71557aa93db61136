package eth

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// blockParam is a checked block parameter: a tag, a number, or a hash.
type blockParam struct {
	text          string // "latest", "0x10" or the hash
	byHash        bool
	mustBeOnChain bool // EIP-1898's requireCanonical
}

var tags = []string{"latest", "earliest", "pending", "safe", "finalized"}

// parseBlock reads any form of a block parameter.
func parseBlock(raw []byte) (blockParam, string) {
	if len(raw) > 0 && raw[0] == '{' {
		return parseBlockObject(raw)
	}
	s, ok := jsonrpc.String(raw)
	if !ok {
		return blockParam{}, "json: cannot unmarshal non-string into Go value of type string"
	}
	if slices.Contains(tags, string(s)) {
		return blockParam{text: string(s)}, ""
	}
	if len(s) == 2+hashDigits {
		h, reason := hash(raw)
		return blockParam{text: h, byHash: true}, reason
	}
	return parseBlockNumber(s)
}

func parseBlockNumber(s []byte) (blockParam, string) {
	switch {
	case len(s) == 0:
		return blockParam{}, "empty hex string"
	case len(s) < 2 || s[0] != '0' || (s[1] != 'x' && s[1] != 'X'):
		return blockParam{}, "hex string without 0x prefix"
	case len(s) == 2:
		return blockParam{}, "hex string \"0x\""
	case len(s) > 3 && s[2] == '0':
		return blockParam{}, "hex number with leading zero digits"
	case !allHex(s[2:]):
		return blockParam{}, "invalid hex string"
	}
	text := prefixed(s[2:])
	switch n, ok := number(text); {
	case !ok:
		return blockParam{}, "hex number > 64 bits"
	case n > math.MaxInt64:
		return blockParam{}, "blocknumber too high"
	}
	return blockParam{text: text}, ""
}

var blockFields = []string{"blockNumber", "blockHash", "requireCanonical"}

func setOnce(slot *[]byte, value []byte) (reason string) {
	if *slot != nil {
		return "a field is given twice"
	}
	*slot = value
	return ""
}

// parseBlockObject reads the EIP-1898 form.
func parseBlockObject(raw []byte) (b blockParam, reason string) {
	var number, blockHash, required []byte
	ok := jsonrpc.Fields(raw, func(name, value []byte) bool {
		switch string(name) {
		case "blockNumber":
			reason = setOnce(&number, value)
		case "blockHash":
			reason = setOnce(&blockHash, value)
		case "requireCanonical":
			reason = setOnce(&required, value)
		default:
			reason = variantOf(name, blockFields)
		}
		return reason == ""
	})
	switch {
	case reason != "":
		return b, reason
	case !ok:
		return b, "json: cannot unmarshal object into Go value of type rpc.BlockNumberOrHash"
	case required != nil && string(required) != "true" && string(required) != "false" && string(required) != "null":
		return b, "json: cannot unmarshal non-bool into Go struct field .requireCanonical of type bool"
	case number != nil && blockHash != nil:
		return b, "cannot specify both BlockHash and BlockNumber, choose one or the other"
	case number != nil && number[0] != '{':
		return parseBlock(number)
	case blockHash == nil:
		return b, "must specify either BlockHash or BlockNumber"
	}
	b.text, reason = hash(blockHash)
	b.byHash, b.mustBeOnChain = true, string(required) == "true"
	return b, reason
}

// append writes the parameter's canonical form.
func (b blockParam) append(c *canonical) {
	if !b.mustBeOnChain {
		c.str(b.text)
		return
	}
	c.raw([]byte(`{"blockHash":"` + b.text + `","requireCanonical":true}`))
}

// block reads parameter i, or takes the dialect's default for an absent one.
func (n *Node) block(a *args, i int) (blockParam, error) {
	raw := a.at(i)
	if raw == nil {
		if n.cfg.Dialect.blockRequired() {
			return blockParam{}, missing(i)
		}
		return blockParam{text: "latest"}, nil
	}
	b, reason := parseBlock(raw)
	if reason != "" {
		return b, badArg(i, reason)
	}
	return b, nil
}

// inWindow checks a method's history window for the block that was asked for.
func (n *Node) inWindow(ctx context.Context, name string, b blockParam) error {
	window, ok := n.cfg.HistoryWindow[name]
	if !ok || b.text == "latest" || b.text == "pending" {
		return nil
	}
	at, known, err := n.numberOf(ctx, b)
	if err != nil || !known {
		return err // an unknown block is for the node to word
	}
	return n.checkWindow(ctx, at, window)
}

// numberOf resolves a block parameter to its number.
func (n *Node) numberOf(ctx context.Context, b blockParam) (at uint64, known bool, err error) {
	if at, ok := number(b.text); ok && !b.byHash {
		return at, true, nil
	}
	if b.text == "earliest" {
		return 0, true, nil
	}
	name := method.EthGetBlockByNumber
	if b.byHash {
		name = method.EthGetBlockByHash
	}
	result, err := n.next.Call(ctx, name, []byte(`["`+b.text+`",false]`))
	if err != nil {
		return 0, false, err
	}
	at, known = blockNumberIn(result, "number")
	return at, known, nil
}

// checkWindow refuses a block that is older than the window allows.
func (n *Node) checkWindow(ctx context.Context, at, window uint64) error {
	head, err := n.next.Head(ctx)
	if err != nil || at > head.Number || head.Number-at < window {
		return err
	}
	return &nodegate.Error{
		Op: "eth.window", Code: nodegate.OutsideHistory,
		Msg: "archive requests are not available on this network: only the latest " + strconv.FormatUint(window, 10) + " blocks are served",
	}
}

// blockNumberIn reads a number member of an answer; a null answer has none.
func blockNumberIn(result []byte, member string) (at uint64, ok bool) {
	jsonrpc.Fields(result, func(name, value []byte) bool {
		if string(name) != member {
			return true
		}
		var text string
		if json.Unmarshal(value, &text) == nil {
			at, ok = number(text)
		}
		return false
	})
	return at, ok
}
