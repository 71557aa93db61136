package permit

import (
	"bytes"
	"strings"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// contracts checks the contracts that one call names.
type contracts struct {
	settings *nodegate.KeySettings
	method   string
}

// check looks where the method's row says. Names are compared without regard to case: a
// decoder below may take any spelling.
func (c contracts) check(where method.Contracts, params [][]byte) error {
	if len(params) == 0 {
		return c.unreadable()
	}
	switch where {
	case method.FirstAddress:
		return c.address(params[0])
	case method.AddressKeys:
		return c.addressKeys(params[0], func([]byte) error { return nil })
	case method.CallObject:
		return c.callWithOverrides(params)
	case method.Simulation:
		return c.simulation(params[0])
	case method.LogFilter:
		return c.filter(params[0])
	case method.Subscription:
		return c.subscription(params)
	case method.RawTransaction:
		return c.transaction(params[0])
	}
	return c.unreadable() // a kind that is not handled here
}

func (c contracts) unreadable() error { return unreadable(c.method) }

func (c contracts) address(value []byte) error {
	text, ok := jsonrpc.String(value)
	if !ok {
		return c.unreadable()
	}
	return c.allowed(string(text))
}

func (c contracts) allowed(address string) error {
	if c.settings.AllowsAddress(strings.ToLower(address)) {
		return nil
	}
	return refused("address " + short(address) + " is not allowed")
}

// addressKeys checks the names of an object's members, and each value with holds.
func (c contracts) addressKeys(object []byte, holds func(value []byte) error) error {
	return c.members(object, func(name string, value []byte) error {
		if err := c.allowed(name); err != nil {
			return err
		}
		return holds(value)
	})
}

// members calls check with every member of an object, repeated ones included.
func (c contracts) members(object []byte, check func(name string, value []byte) error) error {
	var refusal error
	whole := jsonrpc.Fields(object, func(name, value []byte) bool {
		refusal = check(string(name), value)
		return refusal == nil
	})
	if refusal == nil && !whole {
		return c.unreadable()
	}
	return refusal
}

// elements calls check with every element of an array.
func (c contracts) elements(array []byte, check func([]byte) error) error {
	list, ok := jsonrpc.Elements(nil, array)
	if !ok {
		return c.unreadable()
	}
	for _, e := range list {
		if err := check(e); err != nil {
			return err
		}
	}
	return nil
}

// callWithOverrides checks a call object and what the parameters after it override.
func (c contracts) callWithOverrides(params [][]byte) error {
	if err := c.call(params[0]); err != nil {
		return err
	}
	for _, p := range params[1:] {
		if len(p) > 0 && p[0] == '{' {
			if err := c.options(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// call wants `to`, and the contracts that an authorization list gives accounts the code of.
func (c contracts) call(object []byte) error {
	found := false
	err := c.members(object, func(name string, value []byte) error {
		switch {
		case strings.EqualFold(name, "to"):
			found = true
			return c.address(value)
		case strings.EqualFold(name, "authorizationList") && !isNull(value):
			return c.elements(value, c.authorization)
		}
		return nil
	})
	if err == nil && !found {
		return c.unreadable()
	}
	return err
}

func (c contracts) authorization(object []byte) error {
	return c.members(object, func(name string, value []byte) error {
		if strings.EqualFold(name, "address") {
			return c.address(value)
		}
		return nil
	})
}

// options checks a parameter after the call object: overrides of state by address,
// overrides of the block, a block by its hash, or the options of a trace, which have
// overrides inside. Members that start with 0x are addresses in all of them.
func (c contracts) options(object []byte) error {
	return c.members(object, func(name string, value []byte) error {
		switch {
		case len(name) > 1 && name[0] == '0' && (name[1] == 'x' || name[1] == 'X'):
			if err := c.allowed(name); err != nil {
				return err
			}
			return c.override(value)
		case strings.EqualFold(name, "stateOverrides") && !isNull(value):
			return c.addressKeys(value, c.override)
		case strings.EqualFold(name, "tracer") && !isNull(value):
			return c.tracer(value)
		}
		return nil
	})
}

// override lets only balance and nonce pass. Code that runs under an allowed address could
// read any contract, and so could an upgradeable contract whose storage names other code.
func (c contracts) override(object []byte) error {
	return c.members(object, func(name string, _ []byte) error {
		if strings.EqualFold(name, "balance") || strings.EqualFold(name, "nonce") {
			return nil
		}
		return refused("a state override of " + short(name) + " is not allowed, because the key has an address list")
	})
}

// tracer refuses tracers that are programs: they read any contract.
func (c contracts) tracer(value []byte) error {
	text, ok := jsonrpc.String(value)
	if !ok || bytes.ContainsFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	}) {
		return refused("only built-in tracers are allowed, because the key has an address list")
	}
	return nil
}

// simulation checks the calls and overrides of each block that eth_simulateV1 makes up.
func (c contracts) simulation(object []byte) error {
	found := false
	err := c.members(object, func(name string, value []byte) error {
		if !strings.EqualFold(name, "blockStateCalls") {
			return nil
		}
		found = true
		return c.elements(value, c.simulatedBlock)
	})
	if err == nil && !found {
		return c.unreadable()
	}
	return err
}

func (c contracts) simulatedBlock(object []byte) error {
	found := false
	err := c.members(object, func(name string, value []byte) error {
		switch {
		case strings.EqualFold(name, "calls"):
			found = true
			return c.elements(value, c.call)
		case strings.EqualFold(name, "stateOverrides") && !isNull(value):
			return c.addressKeys(value, c.override)
		}
		return nil
	})
	if err == nil && !found {
		return c.unreadable()
	}
	return err
}

// filter wants `address`, one or a list. A filter without any matches all contracts.
func (c contracts) filter(object []byte) error {
	found := false
	err := c.members(object, func(name string, value []byte) error {
		if !strings.EqualFold(name, "address") {
			return nil
		}
		list, ok := jsonrpc.Elements(nil, value)
		if found = true; !ok {
			return c.address(value)
		}
		if len(list) == 0 {
			return c.unreadable()
		}
		return c.elements(value, c.address)
	})
	if err == nil && !found {
		return c.unreadable()
	}
	return err
}

// subscription checks the filter of a subscription to logs; others name no contract.
func (c contracts) subscription(params [][]byte) error {
	kind, ok := jsonrpc.String(params[0])
	switch {
	case !ok || string(kind) == "logs" && len(params) < 2:
		return c.unreadable()
	case string(kind) == "logs":
		return c.filter(params[1])
	}
	return nil
}

func isNull(value []byte) bool { return string(value) == "null" }
