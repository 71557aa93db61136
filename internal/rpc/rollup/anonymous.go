package rollup

import (
	"encoding/json"
	"strings"
)

// nobody is who sends a call that names no sender, and plenty what it is given to
// spend: a balance is checked only for a sender that was named.
const (
	nobody = "0x0000000000000000000000000000000000000000"
	plenty = `"0xffffffffffffffffffffffffffffffff"`
)

// forEstimate returns the parameters for eth_estimateGas. Without a sender the
// prices are left out and nobody is given plenty, so that no balance decides.
func (r *request) forEstimate() ([]json.RawMessage, error) {
	if r.call.From != nil {
		return r.raw, nil
	}
	call, err := without(r.raw[0], "gasPrice", "maxFeePerGas", "maxPriorityFeePerGas")
	if err != nil {
		return nil, err
	}
	extra, err := r.endowed()
	return []json.RawMessage{call, r.raw[1], extra}, err
}

// endowed is the request's overrides with nobody given plenty.
func (r *request) endowed() (json.RawMessage, error) {
	overrides := map[string]map[string]json.RawMessage{}
	if len(r.raw) > 2 && !isNull(r.raw[2]) {
		if err := json.Unmarshal(r.raw[2], &overrides); err != nil {
			return nil, badArgument(2, err)
		}
	}
	endow(overrides)
	return json.Marshal(overrides)
}

// without leaves members out of an object.
func without(raw json.RawMessage, names ...string) (json.RawMessage, error) {
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, badArgument(0, err)
	}
	for _, name := range names {
		delete(members, name)
	}
	return json.Marshal(members)
}

// endow gives nobody plenty, unless the request sets a balance itself.
func endow(overrides map[string]map[string]json.RawMessage) {
	for address, account := range overrides {
		if !strings.EqualFold(address, nobody) {
			continue
		}
		if account == nil {
			account = map[string]json.RawMessage{}
			overrides[address] = account
		}
		if _, set := account["balance"]; !set {
			account["balance"] = json.RawMessage(plenty)
		}
		return
	}
	overrides[nobody] = map[string]json.RawMessage{"balance": json.RawMessage(plenty)}
}
