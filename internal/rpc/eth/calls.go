package eth

import (
	"context"
	"fmt"
	"strings"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/background"
	"github.com/nodegate/nodegate/internal/method"
)

// defaultCallGas is what a call without gas gets.
const defaultCallGas = 50_000_000

// callArgs splits the parameters of a simulation and reads its call object.
func (n *Node) callArgs(ctx context.Context, row *method.Row, params []byte) (*args, *callObject, error) {
	read := n.readCall
	if len(params) >= background.Large {
		read = n.readLargeCall
	}
	a := new(args)
	c, err := read(a, row, params)
	if err != nil {
		return nil, nil, err
	}
	return a, c, n.capGas(ctx, c)
}

func (n *Node) readCall(a *args, row *method.Row, params []byte) (*callObject, error) {
	if err := a.split(params, row.MaxParams()); err != nil {
		return nil, err
	}
	return n.parseCall(a)
}

// readLargeCall is readCall in the background.
func (n *Node) readLargeCall(a *args, row *method.Row, params []byte) (c *callObject, err error) {
	background.RunLarge(len(params), func() { c, err = n.readCall(a, row, params) })
	return c, err
}

// ethCall: call object, block, state overrides, block overrides.
func ethCall(ctx context.Context, n *Node, row *method.Row, params []byte) ([]byte, error) {
	a, c, err := n.callArgs(ctx, row, params)
	if err != nil {
		return nil, err
	}
	if n.cfg.Dialect.fromRequired() && c.fields[fieldFrom] == "" {
		return nil, badArg(0, `"from" is required`)
	}
	if c.fields[fieldGas] == "" {
		c.fields[fieldGas] = quoted(defaultCallGas)
	}
	b, err := n.block(a, row.Block)
	if err != nil {
		return nil, err
	}
	return n.simulate(ctx, row.Name, c, b, a, row.Block+1)
}

// estimateGas: call object, block, state overrides, block overrides.
func estimateGas(ctx context.Context, n *Node, row *method.Row, params []byte) ([]byte, error) {
	a, c, err := n.callArgs(ctx, row, params)
	if err != nil {
		return nil, err
	}
	if n.cfg.Dialect.toRequired() && c.fields[fieldTo] == "" {
		return nil, badArg(0, `"to" is required`)
	}
	b, err := n.block(a, row.Block)
	if err != nil {
		return nil, err
	}
	if err := n.refuseSafe(row, b); err != nil {
		return nil, err
	}
	return n.simulate(ctx, row.Name, c, b, a, row.Block+1)
}

// layer2EstimateGas: call object, then a block (a string) or state overrides (an
// object). It also answers to the network's brand name.
func layer2EstimateGas(ctx context.Context, n *Node, row *method.Row, params []byte) ([]byte, error) {
	a, c, err := n.callArgs(ctx, row, params)
	if err != nil {
		return nil, err
	}
	second := a.at(row.Block)
	if len(second) > 0 && second[0] == '{' {
		if a.at(2) != nil {
			return nil, tooMany(2)
		}
		result, err := n.simulate(ctx, row.Name, c, blockParam{text: "latest"}, a, row.Block)
		return result, renumber(err)
	}
	b := blockParam{text: "latest"}
	if second != nil {
		if b, err = n.block(a, row.Block); err != nil {
			return nil, err
		}
	}
	if err := n.refuseSafe(row, b); err != nil {
		return nil, err
	}
	return n.simulate(ctx, row.Name, c, b, a, row.Block+1)
}

// renumber makes an error about the overrides name the place where the client put
// them: below, the block comes before them.
func renumber(err error) error {
	e := nodegate.AsError(err)
	rest, ok := strings.CutPrefix(e.Msg, "invalid argument 2:")
	if err == nil || !ok {
		return err
	}
	renamed := *e
	renamed.Msg = "invalid argument 1:" + rest
	return &renamed
}

// createAccessList: call object, block, state overrides. go-ethereum executes it
// several times and can't be stopped, so its gas is held to what any call gets.
func createAccessList(ctx context.Context, n *Node, row *method.Row, params []byte) ([]byte, error) {
	a, c, err := n.callArgs(ctx, row, params)
	if err != nil {
		return nil, err
	}
	if gas, ok := number(c.fields[fieldGas]); !ok {
		c.fields[fieldGas] = quoted(defaultCallGas)
	} else if gas > defaultCallGas {
		return nil, badArg(0, fmt.Sprintf("gas: %d is above the cap of %d for %s", gas, defaultCallGas, row.Name))
	}
	b, err := n.block(a, row.Block)
	if err != nil {
		return nil, err
	}
	return n.simulate(ctx, row.Name, c, b, a, row.Block+1)
}

// refuseSafe keeps the tag `safe` from estimates where the dialect has none.
func (n *Node) refuseSafe(row *method.Row, b blockParam) error {
	if b.text == "safe" && n.cfg.Dialect.safeRefused() {
		return badArg(row.Block, "the tag safe is not supported by "+row.Name+": use finalized")
	}
	return nil
}

// simulate passes on a call with its block and the overrides from parameter
// `first` on.
func (n *Node) simulate(ctx context.Context, name string, c *callObject, b blockParam, a *args, first int) ([]byte, error) {
	if err := n.inWindow(ctx, name, b); err != nil {
		return nil, err
	}
	out := newCanonical(c.size())
	c.append(&out)
	b.append(&out)
	if err := a.appendOverrides(&out, first); err != nil {
		return nil, err
	}
	return n.next.Call(ctx, name, out.bytes())
}

// appendOverrides rewrites the overrides from parameter `first` on.
func (a *args) appendOverrides(out *canonical, first int) error {
	last := len(a.list)
	for last > first && a.at(last-1) == nil {
		last--
	}
	for i := first; i < last; i++ {
		if err := appendOverride(out, a.at(i), i); err != nil {
			return err
		}
	}
	return nil
}

// appendOverride rewrites an override object; its content is the node's to check.
func appendOverride(out *canonical, raw []byte, i int) error {
	if raw == nil {
		out.raw([]byte("null"))
		return nil
	}
	if raw[0] != '{' {
		return badArg(i, "json: cannot unmarshal non-object into Go value of type override.StateOverride")
	}
	compacted, ok := compactJSON(raw)
	if !ok {
		return badArg(i, "an object in it has the same member twice")
	}
	out.raw(compacted)
	return nil
}
