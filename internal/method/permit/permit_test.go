package permit

import (
	"encoding/json"
	"errors"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/holiman/uint256"

	"github.com/nodegate/nodegate"
	rows "github.com/nodegate/nodegate/internal/method"
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
		{"eth_getCode", `["` + foreign + `","latest"]`, false},
		{"eth_getCode", `["` + listed + `","latest"]`, true},
		{"eth_getStorageValues", `[{"` + foreign + `":["0x0"]},"latest"]`, false},
		{"eth_getStorageValues", `[{"` + listed + `":["0x0"],"` + foreign + `":["0x0"]},"latest"]`, false},
		{"eth_getStorageValues", `[{"` + listed + `":["0x0"]},"latest"]`, true},
		{"eth_fillTransaction", `[{"to":"` + foreign + `"}]`, false},
		{"eth_callMany", `[[{"transactions":[{"to":"` + listed + `"}]}]]`, false},
		{"trace_call", `[{"to":"` + listed + `"},["trace"]]`, false},
		{"debug_traceTransaction", `["0x00"]`, false},
		{"eth_neverHeardOf", `["` + listed + `"]`, false},
		{"eth_call", `[{"to":"` + listed + `"},"latest",{"` + listed + `":{"balance":"0x1"}}]`, true},
		{"eth_call", `[{"to":"` + listed + `"},"latest",{"` + foreign + `":{"balance":"0x1"}}]`, false},
		{"eth_call", `[{"to":"` + listed + `"},"latest",{"` + listed + `":{"code":"0x60006000"}}]`, false},
		{"eth_call", `[{"to":"` + listed + `"},"latest",{"` + listed + `":{"balance":"0x1","nonce":"0x2"}}]`, true},
		{"eth_call", `[{"to":"` + listed + `"},"latest",{"` + listed + `":{"state":{"0x00":"0x01"}}}]`, false},
		{"eth_call", `[{"to":"` + listed + `"},"latest",{"` + listed + `":{"balance":"0x1","stateDiff":{"0x00":"0x01"}}}]`, false},
		{"eth_call", `[{"to":"` + listed + `"},"latest",{"` + listed + `":{"STATEDIFF":{"0x00":"0x01"}}}]`, false},
		{"eth_call", `[{"to":"` + listed + `"},"latest",{"` + listed + `":{"\u017ftate":{"0x00":"0x01"}}}]`, false}, // encoding/json takes a long s for an s
		{"eth_call", `[{"to":"` + listed + `"},"latest",{"` + listed + `":{"movePrecompileToAddress":"` + listed + `"}}]`, false},
		{"eth_call", `[{"to":"` + listed + `"},"latest",{"` + listed + `":{"comingLater":"0x1"}}]`, false},
		{"eth_call", `[{"to":"` + listed + `"},"latest",{"0x000000000000000000000000000000000000beef":{"balance":"0x1"}}]`, false},
		{"eth_call", `[{"to":"` + listed + `"},{"blockHash":"0x00"},null,{"number":"0x1"}]`, true},
		{"eth_call", `[{"to":"` + listed + `","authorizationList":[{"address":"` + foreign + `"}]}]`, false},
		{"eth_call", `[{"to":"` + listed + `","authorizationList":[{"address":"` + listed + `"}]}]`, true},
		{"eth_call", `[{"to":"` + listed + `","authorizationList":null}]`, true},
		{"eth_estimateGas", `[{"to":"` + listed + `"},"latest",{"` + listed + `":{"code":"0x"}}]`, false},
		{"eth_estimateGas", `[{"to":"` + listed + `"},"latest",{"` + listed + `":{"stateDiff":{}}}]`, false},
		{"layer2_estimateGas", `[{"to":"` + listed + `"},{"` + foreign + `":{}}]`, false},
		{"layer2_estimateGas", `[{"to":"` + listed + `"},{"` + listed + `":{"state":{}}}]`, false},
		{"debug_traceCall", `[{"to":"` + listed + `"},"latest",{"tracer":"callTracer"}]`, true},
		{"debug_traceCall", `[{"to":"` + listed + `"},"latest",{"tracer":"{fault:function(){}}"}]`, false},
		{"debug_traceCall", `[{"to":"` + listed + `"},"latest",{"stateOverrides":{"` + listed + `":{"code":"0x"}}}]`, false},
		{"eth_simulateV1", `[{"blockStateCalls":[{"stateOverrides":{"` + listed + `":{"code":"0x"}},"calls":[]}]}]`, false},
		{"debug_traceCall", `[{"to":"` + listed + `"},"latest",{"stateOverrides":{"` + listed + `":{"stateDiff":{}}}}]`, false},
		{"debug_traceCall", `[{"to":"` + listed + `"},"latest",{"stateOverrides":{"` + listed + `":{"balance":"0x1"}}}]`, true},
		{"eth_simulateV1", `[{"blockStateCalls":[{"stateOverrides":{"` + listed + `":{"stateDiff":{}}},"calls":[]}]}]`, false},
		{"eth_simulateV1", `[{"blockStateCalls":[{"stateOverrides":{"` + listed + `":{"balance":"0x1"}},"calls":[]}]}]`, true},
		{"eth_simulateV1", `[{"blockStateCalls":[{"stateOverrides":{"` + foreign + `":{}},"calls":[]}]}]`, false},
		{"eth_sendRawTransaction", `["0x"]`, false},
		{"eth_sendRawTransaction", `["0x02c0"]`, false},
		{"evm_mine", `[]`, false},
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
		if err := (Request{Service: nodegate.ServiceRPC, Origin: c.origin, Agent: c.agent}).Check(s); (err == nil) != c.pass {
			t.Errorf("origin %q agent %q: %v, want pass %v", c.origin, c.agent, err, c.pass)
		}
	}
	if err := (Request{Service: nodegate.ServiceStorage}).Check(&nodegate.KeySettings{}); err != nil {
		t.Error("without lists:", err)
	}
}

func FuzzCall(f *testing.F) {
	f.Add("eth_call", []byte(`[{"to":"`+listed+`"}]`))
	f.Add("eth_simulateV1", []byte(`[{"blockStateCalls":[{"calls":[]}]}]`))
	f.Add("eth_getLogs", []byte(`[{"address":["`+listed+`"]}]`))
	none := &nodegate.KeySettings{Addresses: []string{"0x0000000000000000000000000000000000000001"}}
	f.Fuzz(func(t *testing.T, method string, params []byte) {
		where := rows.Of(method).Contracts
		reaches := where != rows.NoContracts && where != rows.Subscription && where != rows.Simulation && where != rows.RawTransaction && where != rows.AddressKeys
		if err := Call(none, method, params); err == nil && reaches {
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

// TestReasons wants every refusal to name what refused.
func TestReasons(t *testing.T) {
	const prefix = "rejected by the API key's settings: "
	for _, c := range []struct {
		settings     nodegate.KeySettings
		name, params string
		want         string
	}{
		{nodegate.KeySettings{Methods: []string{"eth_call"}}, "eth_getCode", `[]`, "method eth_getCode is not allowed"},
		{nodegate.KeySettings{Addresses: []string{listed}}, "eth_getCode", `["` + foreign + `"]`, "address " + foreign + " is not allowed"},
		{nodegate.KeySettings{Addresses: []string{listed}}, "trace_block", `["0x1"]`, "method trace_block is not allowed, because the key has an address list and the contracts it reads aren't known"},
		{nodegate.KeySettings{Addresses: []string{listed}}, "eth_call", `[{"to":"` + listed + `"},"latest",{"` + listed + `":{"code":"0x"}}]`, "a state override of code is not allowed, because the key has an address list"},
		{nodegate.KeySettings{Services: []string{"json-rpc"}}, "evm_mine", `[]`, "scope development, which evm_mine requires, is not allowed"},
		{nodegate.KeySettings{Addresses: []string{listed}}, "eth_call", `[{"to":"` + listed + `"},"latest",{"` + listed + `":{"stateDiff":{}}}]`, "a state override of stateDiff is not allowed, because the key has an address list"},
		{nodegate.KeySettings{Methods: []string{"eth_call"}}, "eth_\n", `[]`, "method (unprintable) is not allowed"},
	} {
		err := Call(&c.settings, c.name, []byte(c.params))
		if e := nodegate.AsError(err); err == nil || e.Code != nodegate.Forbidden || e.Msg != prefix+c.want {
			t.Errorf("%s%s: %v, want %s", c.name, c.params, err, c.want)
		}
	}
	limited := nodegate.KeySettings{Services: []string{nodegate.ServiceRPC}, Networks: []string{"devnet"}, Origins: []string{"https://a.example"}}
	for want, r := range map[string]Request{
		"scope storage is not allowed":                      {Service: nodegate.ServiceStorage},
		"network other is not allowed":                      {Service: nodegate.ServiceRPC, Network: "other"},
		"requests without an Origin header are not allowed": {Service: nodegate.ServiceRPC, Network: "devnet"},
		"origin https://evil.example is not allowed":        {Service: nodegate.ServiceRPC, Network: "devnet", Origin: "https://evil.example"},
	} {
		if err := r.Check(&limited); nodegate.AsError(err).Msg != prefix+want {
			t.Errorf("%+v: %v, want %s", r, err, want)
		}
	}
}

// TestScope: the key's owner is held to networks and services, not to origins.
func TestScope(t *testing.T) {
	s := &nodegate.KeySettings{Services: []string{nodegate.ServiceRPC}, Networks: []string{"devnet"}, Origins: []string{"https://a.example"}}
	for r, pass := range map[Request]bool{
		{Service: nodegate.ServiceRPC, Network: "devnet"}: true,
		{Service: nodegate.ServiceRPC, Network: "rollup"}: false,
		{Service: nodegate.ServiceStorage}:                false,
	} {
		if err := r.CheckScope(s); (err == nil) != pass {
			t.Errorf("%+v: %v, want pass %v", r, err, pass)
		}
	}
}

// TestTransactions signs transactions of every type with go-ethereum and reads them back.
func TestTransactions(t *testing.T) {
	key, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	signer := types.LatestSignerForChainID(big.NewInt(1))
	yes, no := common.HexToAddress(listed), common.HexToAddress(foreign)
	auth := func(a common.Address) []types.SetCodeAuthorization { return []types.SetCodeAuthorization{{Address: a}} }
	for _, c := range []struct {
		what string
		tx   types.TxData
		pass bool
	}{
		{"legacy", &types.LegacyTx{To: &yes, GasPrice: big.NewInt(1)}, true},
		{"legacy to another", &types.LegacyTx{To: &no, GasPrice: big.NewInt(1)}, false},
		{"creation", &types.LegacyTx{GasPrice: big.NewInt(1), Data: []byte{1}}, false},
		{"access list", &types.AccessListTx{ChainID: big.NewInt(1), To: &yes}, true},
		{"access list to another", &types.AccessListTx{ChainID: big.NewInt(1), To: &no}, false},
		{"dynamic fee", &types.DynamicFeeTx{ChainID: big.NewInt(1), To: &yes, Data: []byte{1, 2}}, true},
		{"dynamic fee to another", &types.DynamicFeeTx{ChainID: big.NewInt(1), To: &no}, false},
		{"blobs", &types.BlobTx{ChainID: uint256.NewInt(1), To: yes}, true},
		{"blobs to another", &types.BlobTx{ChainID: uint256.NewInt(1), To: no}, false},
		{"set code", &types.SetCodeTx{ChainID: uint256.NewInt(1), To: yes, AuthList: auth(yes)}, true},
		{"set code of another", &types.SetCodeTx{ChainID: uint256.NewInt(1), To: yes, AuthList: auth(no)}, false},
	} {
		tx, err := types.SignNewTx(key, signer, c.tx)
		if err != nil {
			t.Fatal(c.what, err)
		}
		raw, err := tx.MarshalBinary()
		if err != nil {
			t.Fatal(c.what, err)
		}
		s := &nodegate.KeySettings{Addresses: []string{listed}}
		if err := Call(s, "eth_sendRawTransaction", []byte(`["`+hexutil.Encode(raw)+`"]`)); (err == nil) != c.pass {
			t.Errorf("%s: %v, want pass %v", c.what, err, c.pass)
		}
	}
}
