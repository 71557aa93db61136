package permit

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/nodegate/nodegate"
)

const (
	listed  = "0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9"
	listedU = "0xFBFBFDDD6E35DA57B7B0F9A2C10E34BE70B3A4E9"
	foreign = "0x000000000000000000000000000000000000beef"
)

func TestAddresses(t *testing.T) {
	s := &nodegate.KeySettings{Addresses: []string{listed}}
	for _, c := range []struct {
		method, params string
		pass           bool
	}{
		{"eth_call", `[{"to":"` + listed + `"},"latest"]`, true},
		{"eth_call", `[{"to":"` + listedU + `","data":"0x"},"latest"]`, true},
		{"eth_call", `[{"to":"` + foreign + `"},"latest"]`, false},
		{"eth_call", `[{"to":"` + listed + `","to":"` + foreign + `"}]`, false},
		{"eth_call", `[{"to":"` + listed + `","TO":"` + foreign + `"}]`, false},
		{"eth_call", `[{"\u0074o":"` + foreign + `"}]`, false},
		{"eth_call", `[{"t\u006f":"` + listed + `"}]`, true},
		{"eth_call", `[{"data":"0x60006000"}]`, false}, // would run any code as a creation
		{"eth_call", `[{"to":null}]`, false},
		{"eth_call", `[]`, false},
		{"eth_call", `{"to":"` + listed + `"}`, false},
		{"eth_estimateGas", `[{"to":"` + foreign + `"}]`, false},
		{"layer2_estimateGas", `[{"to":"` + listed + `"}]`, true},
		{"layer2_estimateGas", `[{}]`, false},
		{"eth_createAccessList", `[{"to":"` + foreign + `"}]`, false},
		{"debug_traceCall", `[{"to":"` + foreign + `"},"latest"]`, false},
		{"eth_simulateV1", `[{"blockStateCalls":[{"calls":[{"to":"` + listed + `"}]}]},"latest"]`, true},
		{"eth_simulateV1", `[{"blockStateCalls":[{"calls":[{"to":"` + listed + `"},{"to":"` + foreign + `"}]}]}]`, false},
		{"eth_simulateV1", `[{"blockStateCalls":[{"calls":[{"to":"` + listed + `"}]}],"BlockStateCalls":[{"calls":[{"to":"` + foreign + `"}]}]}]`, false},
		{"eth_getStorageAt", `["` + listed + `","0x0","latest"]`, true},
		{"eth_getStorageAt", `["` + foreign + `","0x0","latest"]`, false},
		{"eth_getProof", `["` + foreign + `",[],"latest"]`, false},
		{"eth_getLogs", `[{"address":"` + listed + `"}]`, true},
		{"eth_getLogs", `[{"address":["` + listed + `","` + listedU + `"]}]`, true},
		{"eth_getLogs", `[{"address":["` + listed + `","` + foreign + `"]}]`, false},
		{"eth_getLogs", `[{"address":[]}]`, false}, // means every contract
		{"eth_getLogs", `[{"fromBlock":"0x0"}]`, false},
		{"eth_newFilter", `[{}]`, false},
		{"eth_subscribe", `["newHeads"]`, true},
		{"eth_subscribe", `["logs"]`, false},
		{"eth_subscribe", `["logs",{"address":"` + listed + `"}]`, true},
		{"eth_subscribe", `["logs",{"address":"` + foreign + `"}]`, false},
		{"eth_getBalance", `["` + foreign + `","latest"]`, true}, // the contract's list names three methods with an address
		{"eth_chainId", ``, true},
	} {
		var params []byte
		if c.params != "" {
			params = []byte(c.params)
		}
		if err := Call(s, c.method, params); (err == nil) != c.pass || err != nil && !errors.Is(err, nodegate.Forbidden) {
			t.Errorf("%s%s: %v, want pass %v", c.method, c.params, err, c.pass)
		}
	}
}

// TestLists joins the types by AND and the entries by OR.
func TestLists(t *testing.T) {
	s := &nodegate.KeySettings{
		Methods: []string{"eth_call", "eth_chainId"}, Addresses: []string{foreign, listed},
		Origins: []string{"https://app.example.com", "https://*.example.org"}, UserAgents: []string{"ethers/", "viem"},
	}
	call := []byte(`[{"to":"` + listed + `"},"latest"]`)
	if Call(s, "eth_call", call) != nil || Call(s, "eth_chainId", nil) != nil {
		t.Error("what is on the lists is refused")
	}
	if Call(s, "eth_getProof", []byte(`["`+listed+`",[],"latest"]`)) == nil || Call(s, "ETH_CALL", call) == nil {
		t.Error("a method that is not listed passes")
	}
	for _, c := range []struct {
		origin, agent string
		pass          bool
	}{
		{"https://app.example.com", "node ethers/6", true},
		{"HTTPS://APP.EXAMPLE.COM", "viem/2", true},
		{"https://a.b.example.org", "viem", true},
		{"https://example.org", "viem", false},
		{"https://evilexample.org", "viem", false},
		{"http://a.example.org", "viem", false},
		{"https://app.example.com.evil.net", "viem", false},
		{"https://app.example.com:8443", "viem", false},
		{"null", "viem", false},
		{"", "viem", false},
		{"https://app.example.com", "", false},
		{"https://app.example.com", "curl/8", false},
	} {
		if err := Client(s, c.origin, c.agent); (err == nil) != c.pass {
			t.Errorf("origin %q agent %q: %v, want pass %v", c.origin, c.agent, err, c.pass)
		}
	}
	if err := Client(&nodegate.KeySettings{}, "", ""); err != nil {
		t.Error("without lists:", err)
	}
}

func FuzzCall(f *testing.F) {
	f.Add("eth_call", []byte(`[{"to":"`+listed+`"}]`))
	f.Add("eth_simulateV1", []byte(`[{"blockStateCalls":[{"calls":[]}]}]`))
	f.Add("eth_getLogs", []byte(`[{"address":["`+listed+`"]}]`))
	none := &nodegate.KeySettings{Addresses: []string{"0x0000000000000000000000000000000000000001"}}
	f.Fuzz(func(t *testing.T, method string, params []byte) {
		_, reaches := finders[method]
		if err := Call(none, method, params); err == nil && reaches && method != "eth_subscribe" && method != "eth_simulateV1" {
			if !contains(params, none.Addresses[0]) {
				t.Errorf("%s%s passes without naming a listed contract", method, params)
			}
		}
	})
}

// contains looks for an address in any spelling: hex in either case, or escapes.
func contains(params []byte, address string) bool {
	var value any
	if json.Unmarshal(params, &value) != nil {
		return false
	}
	return anyText(value, func(s string) bool { return strings.EqualFold(s, address) })
}

func anyText(v any, match func(string) bool) bool {
	switch v := v.(type) {
	case string:
		return match(v)
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return anyText(e, match) })
	case map[string]any:
		for _, e := range v {
			if anyText(e, match) {
				return true
			}
		}
	}
	return false
}
