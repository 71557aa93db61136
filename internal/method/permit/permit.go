// Package permit checks requests against the settings of their API key: the services,
// networks, methods and contracts that its owner has listed. Start at Request and Call.
//
// It denies by default. A method that reads contracts must name them where its row of the
// method table says, and every address it names must be on the list. A method whose
// contracts aren't known, and parameters that can't be read, are refused like what is not
// listed.
package permit

import (
	"slices"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// Request is who asks for what, before any call of it is looked at.
type Request struct {
	Service string // nodegate.ServiceRPC or ServiceStorage
	Network string // of JSON-RPC
	Origin  string
	Agent   string
}

// Check checks a request against a key's settings.
//
// Returns Forbidden.
func (r Request) Check(s *nodegate.KeySettings) error {
	if err := r.CheckScope(s); err != nil {
		return err
	}
	switch {
	case !s.AllowsOrigin(r.Origin) && r.Origin == "":
		return refused("requests without an Origin header are not allowed")
	case !s.AllowsOrigin(r.Origin):
		return refused("origin " + short(r.Origin) + " is not allowed")
	case !s.AllowsUserAgent(r.Agent):
		return refused("user agent " + short(r.Agent) + " is not allowed")
	}
	return nil
}

// CheckScope checks only where the key may be used, not by whom: for requests that its
// owner makes in the dashboard.
//
// Returns Forbidden.
func (r Request) CheckScope(s *nodegate.KeySettings) error {
	switch {
	case !s.AllowsService(r.Service):
		return refused("scope " + r.Service + " is not allowed")
	case r.Service == nodegate.ServiceRPC && !s.AllowsNetwork(r.Network):
		return refused("network " + r.Network + " is not allowed")
	}
	return nil
}

// Call checks one call. The method is by its own name, not an alias.
//
// Returns Forbidden.
func Call(s *nodegate.KeySettings, name string, params []byte) error {
	if !s.AllowsMethod(name) {
		return refused("method " + short(name) + " is not allowed")
	}
	if len(s.Services) == 0 && len(s.Addresses) == 0 {
		return nil
	}
	row := method.Of(name)
	if row.Development && !s.AllowsService(nodegate.ServiceDevelopment) {
		return refused("scope " + nodegate.ServiceDevelopment + ", which " + short(name) + " requires, is not allowed")
	}
	if len(s.Addresses) == 0 || row.Contracts == method.NoContracts {
		return nil
	}
	if row.Contracts == method.UnknownContracts {
		return refused("method " + short(name) + " is not allowed, because the key has an address list and the contracts it reads aren't known")
	}
	list, over, ok := jsonrpc.FirstElements(nil, params, maxParams)
	if over || !ok {
		return unreadable(name)
	}
	return contracts{settings: s, method: name}.check(row.Contracts, list)
}

// maxParams is more than any method takes that names a contract.
const maxParams = 16

// refused names the list that refused, so that the owner knows what to change.
func refused(why string) error {
	return &nodegate.Error{Op: "permit", Code: nodegate.Forbidden, Msg: "rejected by the API key's settings: " + why}
}

func unreadable(name string) error {
	return refused("the key has an address list and the parameters of " + short(name) + " name no contract address where one is expected")
}

// maxShown is how much of a client's text a refusal repeats.
const maxShown = 80

// short keeps a refusal readable whatever the client sent.
func short(text string) string {
	if len(text) > maxShown {
		text = text[:maxShown] + "..."
	}
	if slices.ContainsFunc([]rune(text), func(c rune) bool { return c < ' ' || c > '~' }) {
		return "(unprintable)"
	}
	return text
}
