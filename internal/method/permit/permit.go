// Package permit holds a call against the allowlists of its API key: the methods
// and the contracts that the owner has listed.
//
// It denies by default. A method that reaches contracts by address must name one,
// and every address it names must be on the list; what can't be read is refused
// like what is not listed. Methods that name no contract pass.
package permit

import (
	"bytes"
	"strings"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// errForbidden does not say which list refused: the owner knows, others need not.
var errForbidden = &nodegate.Error{Op: "permit", Code: nodegate.Forbidden, Msg: "rejected by the API key's settings"}

// Call checks one call. The method is by its own name, not an alias.
//
// Returns Forbidden.
func Call(s *nodegate.KeySettings, method string, params []byte) error {
	if !s.AllowsMethod(method) {
		return errForbidden
	}
	if len(s.Addresses) == 0 {
		return nil
	}
	find, ok := finders[method]
	if !ok {
		return nil
	}
	list, over, ok := jsonrpc.FirstElements(nil, params, maxParams)
	if over || !ok || !find(s, list) {
		return errForbidden
	}
	return nil
}

// maxParams is more than any method takes that names a contract.
const maxParams = 16

// Client checks who makes a request.
//
// Returns Forbidden.
func Client(s *nodegate.KeySettings, origin, agent string) error {
	if s.AllowsOrigin(origin) && s.AllowsUserAgent(agent) {
		return nil
	}
	return errForbidden
}

// finders tell whether all contracts in a method's parameters are allowed. They
// are read, never written.
var finders = map[string]func(s *nodegate.KeySettings, params [][]byte) bool{
	"eth_call":             inCall(0),
	"eth_estimateGas":      inCall(0),
	"layer2_estimateGas":   inCall(0),
	"eth_createAccessList": inCall(0),
	"debug_traceCall":      inCall(0),
	"eth_simulateV1":       inSimulation,
	"eth_getStorageAt":     bare,
	"eth_getProof":         bare,
	"eth_getLogs":          inFilter(0),
	"eth_newFilter":        inFilter(0),
	"eth_subscribe":        inSubscription,
}

// inCall finds `to` in a call object. Other spellings of the name count too: if
// any decoder below would take them, they must be allowed.
func inCall(at int) func(*nodegate.KeySettings, [][]byte) bool {
	return func(s *nodegate.KeySettings, params [][]byte) bool {
		return len(params) > at && callAllowed(s, params[at])
	}
}

func callAllowed(s *nodegate.KeySettings, call []byte) bool {
	found := false
	return jsonrpc.Fields(call, func(name, value []byte) bool {
		if !bytes.EqualFold(name, []byte("to")) {
			return true
		}
		found = true
		return allowed(s, value)
	}) && found
}

// inSimulation finds the calls of each block that eth_simulateV1 makes up.
func inSimulation(s *nodegate.KeySettings, params [][]byte) bool {
	if len(params) == 0 {
		return false
	}
	return everyElementOf(params[0], "blockStateCalls", func(block []byte) bool {
		return everyElementOf(block, "calls", func(call []byte) bool { return callAllowed(s, call) })
	})
}

// everyElementOf wants a member that is an array, and each of its elements to hold.
func everyElementOf(object []byte, member string, holds func([]byte) bool) bool {
	found := false
	return jsonrpc.Fields(object, func(name, value []byte) bool {
		if !bytes.EqualFold(name, []byte(member)) {
			return true
		}
		found = true
		list, ok := jsonrpc.Elements(nil, value)
		for _, e := range list {
			ok = ok && holds(e)
		}
		return ok
	}) && found
}

// bare takes the first parameter itself.
func bare(s *nodegate.KeySettings, params [][]byte) bool {
	return len(params) > 0 && allowed(s, params[0])
}

// inFilter finds `address` in a filter, one or a list. A filter without any
// listens to all contracts.
func inFilter(at int) func(*nodegate.KeySettings, [][]byte) bool {
	return func(s *nodegate.KeySettings, params [][]byte) bool {
		if len(params) <= at {
			return false
		}
		found := false
		return jsonrpc.Fields(params[at], func(name, value []byte) bool {
			if !bytes.EqualFold(name, []byte("address")) {
				return true
			}
			found = true
			return oneOrMore(s, value)
		}) && found
	}
}

func oneOrMore(s *nodegate.KeySettings, value []byte) bool {
	list, ok := jsonrpc.Elements(nil, value)
	if !ok {
		return allowed(s, value)
	}
	for _, e := range list {
		if !allowed(s, e) {
			return false
		}
	}
	return len(list) > 0
}

// inSubscription looks at the filter of a subscription to logs; others name no contract.
func inSubscription(s *nodegate.KeySettings, params [][]byte) bool {
	if len(params) == 0 {
		return false
	}
	kind, ok := jsonrpc.String(params[0])
	if !ok || string(kind) != "logs" {
		return ok
	}
	return inFilter(1)(s, params)
}

func allowed(s *nodegate.KeySettings, value []byte) bool {
	text, ok := jsonrpc.String(value)
	return ok && s.AllowsAddress(strings.ToLower(string(text)))
}
