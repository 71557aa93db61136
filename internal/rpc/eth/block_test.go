package eth

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/rpc"
)

var (
	someHash  = "0x" + strings.Repeat("ab", 32)
	upperHash = "0x" + strings.Repeat("AB", 32)
)

func TestParseBlock(t *testing.T) {
	for _, c := range []struct {
		raw  string
		want blockParam
	}{
		{`"latest"`, blockParam{text: "latest"}},
		{`"earliest"`, blockParam{text: "earliest"}},
		{`"pending"`, blockParam{text: "pending"}},
		{`"safe"`, blockParam{text: "safe"}},
		{`"finalized"`, blockParam{text: "finalized"}},
		{`"0x0"`, blockParam{text: "0x0"}},
		{`"0x1F"`, blockParam{text: "0x1f"}},
		{`"0X1f"`, blockParam{text: "0x1f"}},
		{`"0x7fffffffffffffff"`, blockParam{text: "0x7fffffffffffffff"}},
		{`"la\u0074est"`, blockParam{text: "latest"}},
		{`"` + someHash + `"`, blockParam{text: someHash, byHash: true}},
		{`"` + upperHash + `"`, blockParam{text: someHash, byHash: true}},
		{`{"blockNumber":"0x5"}`, blockParam{text: "0x5"}},
		{`{"blockNumber":"latest"}`, blockParam{text: "latest"}},
		{`{"blockHash":"` + someHash + `"}`, blockParam{text: someHash, byHash: true}},
		{`{"blockHash":"` + upperHash + `","requireCanonical":true}`, blockParam{text: someHash, byHash: true, mustBeOnChain: true}},
		{`{"blockHash":"` + someHash + `","requireCanonical":false}`, blockParam{text: someHash, byHash: true}},
		{`{"unknown":1,"blockNumber":"0x5"}`, blockParam{text: "0x5"}},
	} {
		got, reason := parseBlock([]byte(c.raw))
		if reason != "" || got != c.want {
			t.Errorf("%s: %+v, %q; want %+v", c.raw, got, reason, c.want)
		}
	}
}

func TestParseBlockRefuses(t *testing.T) {
	for _, c := range []struct{ raw, reason string }{
		{`""`, "empty hex string"},
		{`"Latest"`, "hex string without 0x prefix"},
		{`"5"`, "hex string without 0x prefix"},
		{`"0x"`, `hex string "0x"`},
		{`"0x05"`, "hex number with leading zero digits"},
		{`"0xg"`, "invalid hex string"},
		{`"0x-1"`, "invalid hex string"},
		{`"0x8000000000000000"`, "blocknumber too high"},
		{`"0x10000000000000000"`, ""},
		{`5`, "json: cannot unmarshal"},
		{`null`, "json: cannot unmarshal"},
		{`true`, "json: cannot unmarshal"},
		{`[]`, "json: cannot unmarshal"},
		{`{}`, "must specify either BlockHash or BlockNumber"},
		{`{"blockNumber":"0x1","blockHash":"` + someHash + `"}`, "cannot specify both BlockHash and BlockNumber"},
		{`{"blockNumber":5}`, ""},
		{`{"blockNumber":{"blockNumber":"0x1"}}`, ""},
		{`{"blockHash":"0x1"}`, ""},
		{`{"blockHash":5}`, ""},
		{`{"blockHash":"` + someHash + `","requireCanonical":"true"}`, ""},
		{`{"BlockNumber":"0x1"}`, ""},
		{`{"blockNumber":"0x1","blockNumber":"0x2"}`, ""},
		{`"` + someHash[:65] + `"`, ""},
		{`"0x` + strings.Repeat("zz", 32) + `"`, "json: cannot unmarshal invalid hex string into Go value of type common.Hash"},
	} {
		if got, reason := parseBlock([]byte(c.raw)); reason == "" || !strings.Contains(reason, c.reason) {
			t.Errorf("%s: %+v, reason %q; want %q", c.raw, got, reason, c.reason)
		}
	}
}

// What parseBlock takes, go-ethereum reads as the same block.
func TestParseBlockAsGeth(t *testing.T) {
	for _, raw := range []string{
		`"latest"`, `"earliest"`, `"pending"`, `"safe"`, `"finalized"`, `"0x0"`, `"0x1"`, `"0xa"`, `"0xA"`, `"0X1"`, `"0x01"`, `"0x"`, `""`, `"1"`,
		`"0x7fffffffffffffff"`, `"0x8000000000000000"`, `"0xffffffffffffffff"`, `"` + someHash + `"`, `"` + upperHash + `"`, `{}`, `{"blockNumber":"0x1"}`,
		`{"blockHash":"` + someHash + `","requireCanonical":true}`, `{"blockHash":"` + someHash + `"}`, `{"blockHash":null}`, `null`, `5`, `"LATEST"`,
	} {
		var want rpc.BlockNumberOrHash
		gethErr := json.Unmarshal([]byte(raw), &want)
		got, reason := parseBlock([]byte(raw))
		if raw == "null" {
			continue // absent, which is decided before
		}
		if (reason == "") != (gethErr == nil) {
			t.Errorf("%s: we say %q, go-ethereum %v", raw, reason, gethErr)
			continue
		}
		if reason != "" {
			continue
		}
		var c canonical
		got.append(&c)
		var again rpc.BlockNumberOrHash
		if err := json.Unmarshal([]byte(strings.TrimPrefix(string(c.buf), "[")), &again); err != nil || again.String() != want.String() || again.RequireCanonical != want.RequireCanonical {
			t.Errorf("%s became %s: %v", raw, c.buf, err)
		}
	}
}

// Block receipts also take decimal numbers, bare or in a string.
func TestParseDecimalBlock(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{`5`, "0x5"}, {`"5"`, "0x5"}, {`0`, "0x0"}, {`"0"`, "0x0"}, {`"010"`, "0xa"}, {`16`, "0x10"},
		{`9223372036854775807`, "0x7fffffffffffffff"}, {`"0x10"`, "0x10"}, {`"latest"`, "latest"}, {`"` + someHash + `"`, someHash},
	} {
		if got, reason := parseDecimalBlock([]byte(c.raw)); reason != "" || got.text != c.want {
			t.Errorf("%s: %q, %q", c.raw, got.text, reason)
		}
	}
	for _, raw := range []string{`-1`, `1.5`, `1e3`, `9223372036854775808`, `"99999999999999999999"`, `""`, `true`, `[5]`, `"5 "`, `" 5"`} {
		if got, reason := parseDecimalBlock([]byte(raw)); reason == "" {
			t.Errorf("%s: %q", raw, got.text)
		}
	}
}

func TestBlockParameterOfMethods(t *testing.T) {
	const addr = "0x0000000000000000000000000000000000000001"
	for _, c := range []struct {
		method, params, block string // how the block stands in what reaches the node
		dialects              string
	}{
		{"eth_getStorageAt", `["` + addr + `","0x0"]`, `,"latest"]`, "spec standard"},
		{"eth_getStorageAt", `["` + addr + `","0x0",null]`, `,"latest"]`, "spec standard"},
		{"eth_getStorageAt", `["` + addr + `","0x0","pending"]`, `,"pending"]`, "spec strict standard"},
		{"eth_getStorageAt", `["` + addr + `","0x0",{"blockNumber":"0x2"}]`, `,"0x2"]`, "spec strict standard"},
		{"eth_getProof", `["` + addr + `",[]]`, `,"latest"]`, "spec standard"},
		{"eth_getProof", `["` + addr + `",[],"pending"]`, `,"latest"]`, "spec strict standard"},
		{"eth_getBlockReceipts", `["pending"]`, `["latest"]`, "spec strict standard"},
		{"eth_getBlockReceipts", `[7]`, `["0x7"]`, "spec strict standard"},
		{"eth_call", `[{"from":"` + addr + `"}]`, `,"latest"]`, "spec standard"},
		{"eth_estimateGas", `[{"to":"` + addr + `"}]`, `,"latest"]`, "spec standard"},
		{"eth_estimateGas", `[{"to":"` + addr + `"},"safe"]`, `,"safe"]`, "standard"},
		{"eth_estimateGas", `[{"to":"` + addr + `"},"finalized"]`, `,"finalized"]`, "spec strict standard"},
	} {
		for _, d := range dialects {
			fake := newFake()
			_, err := New(fake, limits(d.Dialect)).Call(t.Context(), c.method, []byte(c.params))
			if served := strings.Contains(c.dialects, d.name); (err == nil) != served {
				t.Errorf("%s, %s %s: error %v", d.name, c.method, c.params, err)
				continue
			}
			if err == nil && !strings.HasSuffix(fake.passed(t), c.block) {
				t.Errorf("%s, %s %s became %s", d.name, c.method, c.params, fake.passed(t))
			}
		}
	}
}
