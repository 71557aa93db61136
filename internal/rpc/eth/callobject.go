package eth

import (
	"context"
	"fmt"
	"strings"

	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// The call object's fields, in the order of the canonical form.
const (
	fieldFrom = iota
	fieldTo
	fieldGas
	fieldGasPrice
	fieldMaxFee
	fieldMaxPriority
	fieldMaxBlobFee
	fieldValue
	fieldNonce
	fieldChainID
	fieldInput
	fieldAccessList
	fieldAuthorizations
	fieldBlobHashes
	fieldBlobs
	fieldCommitments
	fieldProofs
	fieldCount

	fieldData = fieldCount // the old name of input; folded into it
)

// fieldSpec says how a field is spelled and checked.
type fieldSpec struct {
	name  string
	check func(raw []byte) (value, reason string)
}

var fieldSpecs = [fieldCount + 1]fieldSpec{
	fieldFrom:           {"from", address},
	fieldTo:             {"to", address},
	fieldGas:            {"gas", uint64Field},
	fieldGasPrice:       {"gasPrice", bigField},
	fieldMaxFee:         {"maxFeePerGas", bigField},
	fieldMaxPriority:    {"maxPriorityFeePerGas", bigField},
	fieldMaxBlobFee:     {"maxFeePerBlobGas", bigField},
	fieldValue:          {"value", bigField},
	fieldNonce:          {"nonce", uint64Field},
	fieldChainID:        {"chainId", bigField},
	fieldInput:          {"input", bytesField},
	fieldAccessList:     {"accessList", listField},
	fieldAuthorizations: {"authorizationList", listField},
	fieldBlobHashes:     {"blobVersionedHashes", listField},
	fieldBlobs:          {"blobs", listField},
	fieldCommitments:    {"commitments", listField},
	fieldProofs:         {"proofs", listField},
	fieldData:           {"data", bytesField},
}

func uint64Field(raw []byte) (value, reason string) { return quantity(raw, 64, "hexutil.Uint64") }
func bigField(raw []byte) (value, reason string)    { return quantity(raw, 256, "*hexutil.Big") }
func bytesField(raw []byte) (value, reason string)  { return data(raw, "hexutil.Bytes") }

// listField keeps a list for the node to check, rewritten so that it reads one way.
func listField(raw []byte) (value, reason string) {
	if len(raw) == 0 || raw[0] != '[' {
		return "", "json: cannot unmarshal non-array"
	}
	out, ok := compactBehind(raw)
	if !ok {
		return "", "an object in it has the same member twice"
	}
	return string(out), ""
}

// callObject is a checked transaction call object: each field's canonical value,
// "" where it is absent.
type callObject struct {
	fields [fieldCount + 1]string
	seen   [fieldCount + 1]bool
}

// parseCall reads the call object at parameter 0.
func (n *Node) parseCall(a *args) (*callObject, error) {
	raw := a.at(0)
	if raw == nil {
		return nil, missing(0)
	}
	c := new(callObject)
	reason := ""
	ok := jsonrpc.Fields(raw, func(name, value []byte) bool {
		reason = c.set(name, value)
		return reason == ""
	})
	if reason == "" && !ok {
		reason = "json: cannot unmarshal non-object into Go value of type ethapi.TransactionArgs"
	}
	if reason == "" {
		reason = c.foldData(n.cfg.Dialect)
	}
	if reason != "" {
		return nil, badArg(0, reason)
	}
	return c, nil
}

// set takes one member. Unknown members are ignored, as Geth does, but not a case
// variant of a known one: it would be read as that by some decoders.
func (c *callObject) set(name, value []byte) (reason string) {
	i, known := fieldIndex[string(name)]
	if !known {
		return variantOf(name, fieldNames)
	}
	spec := fieldSpecs[i]
	if c.seen[i] {
		return fmt.Sprintf("field %q is given twice", spec.name)
	}
	c.seen[i] = true
	if string(value) == "null" {
		return ""
	}
	if c.fields[i], reason = spec.check(value); reason != "" {
		return spec.name + ": " + reason
	}
	return ""
}

// fieldIndex finds a field by its name.
var fieldIndex = func() map[string]int {
	index := map[string]int{}
	for i, spec := range fieldSpecs {
		index[spec.name] = i
	}
	return index
}()

// fieldNames are the names of all fields.
var fieldNames = func() (names []string) {
	for _, spec := range fieldSpecs {
		names = append(names, spec.name)
	}
	return names
}()

// variantOf says that a name is a known one in another case.
func variantOf(name []byte, known []string) (reason string) {
	for _, k := range known {
		if string(name) != k && strings.EqualFold(string(name), k) {
			return fmt.Sprintf("unknown field %q: it is spelled %q", name, k)
		}
	}
	return ""
}

// foldData settles `data` against `input`.
func (c *callObject) foldData(d Dialect) (reason string) {
	input, old := c.fields[fieldInput], c.fields[fieldData]
	if d.inputMustMatch() && input != "" && old != "" && input != old {
		return `both "data" and "input" are set and not equal; use "input"`
	}
	if input == "" {
		c.fields[fieldInput] = old
	}
	return ""
}

// gasFactor is how many times the current block gas limit a call may ask for.
const gasFactor = 10

// capGas holds the call's gas to the cap.
func (n *Node) capGas(ctx context.Context, c *callObject) error {
	gas, ok := number(c.fields[fieldGas])
	if !ok {
		return nil
	}
	head, err := n.next.Head(ctx)
	if err != nil {
		return err
	}
	limit := gasFactor * head.GasLimit
	if gas <= limit || limit == 0 { // 0: nobody could say yet
		return nil
	}
	if n.cfg.Dialect.gasCapEnforced() {
		return badArg(0, fmt.Sprintf("gas: %d is above the cap of %d, ten times the current block gas limit", gas, limit))
	}
	c.fields[fieldGas] = quoted(limit)
	return nil
}

// append writes the canonical object.
func (c *callObject) append(out *canonical) {
	out.sep()
	b := append(out.buf, '{')
	for i, value := range c.fields[:fieldCount] {
		if value == "" {
			continue
		}
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), fieldSpecs[i].name...), '"', ':')
		if value[0] == '[' {
			b = append(b, value...)
		} else {
			b = append(append(append(b, '"'), value...), '"')
		}
	}
	out.buf = append(b, '}')
}

func (c *callObject) size() int {
	return 256 + len(c.fields[fieldInput]) + len(c.fields[fieldAccessList])
}
