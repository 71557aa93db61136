package eth

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nodegate/nodegate"
)

const someAddress = "0x00000000000000000000000000000000000000aa"

func TestStorageKeys(t *testing.T) {
	full := strings.Repeat("0", 63) + "1"
	for _, c := range []struct{ raw, padded, echo string }{
		{`"0x0"`, strings.Repeat("0", 64), "0"},
		{`"0x"`, strings.Repeat("0", 64), "0"},
		{`""`, strings.Repeat("0", 64), "0"},
		{`"0"`, strings.Repeat("0", 64), "0"},
		{`"1"`, full, "1"},
		{`"0x1"`, full, "1"},
		{`"0X1"`, full, "1"},
		{`"0x01"`, full, "1"},
		{`"0x0001"`, full, "1"},
		{`"0x` + full + `"`, full, full},
		{`"` + full + `"`, full, full},
		{`"0xABC"`, strings.Repeat("0", 61) + "abc", "abc"},
		{`"0x` + full[1:] + `"`, full, full}, // an odd number of digits is padded to 32 bytes
		{`"0x` + full[2:] + `"`, full, "1"},
	} {
		key, reason := parseStorageKey([]byte(c.raw))
		if reason != "" || key.padded() != c.padded || key.echo() != c.echo {
			t.Errorf("%s: %q %q %q", c.raw, key.padded(), key.echo(), reason)
		}
	}
}

func TestStorageKeysRefused(t *testing.T) {
	long := "0x" + strings.Repeat("0", 65)
	for _, c := range []struct{ raw, reason string }{
		{`"` + long + `"`, `storage key too long (want at most 32 bytes): "` + long + `"`},
		{`"0xg"`, `invalid hex in storage key: "0xg"`},
		{`"0x0x1"`, `invalid hex in storage key: "0x0x1"`},
		{`"0x 1"`, `invalid hex in storage key: "0x 1"`},
		{`"latest"`, `invalid hex in storage key: "latest"`},
		{`5`, "json: cannot unmarshal"},
		{`null`, "json: cannot unmarshal"},
		{`["0x0"]`, "json: cannot unmarshal"},
	} {
		if key, reason := parseStorageKey([]byte(c.raw)); !strings.HasPrefix(reason, c.reason) {
			t.Errorf("%s: %+v, %q; want %q", c.raw, key, reason, c.reason)
		}
	}
}

// A key that was parsed must not change the client's bytes: they may be shared.
func TestStorageKeyLeavesInput(t *testing.T) {
	buf := []byte(`"0xABC","tail"`)
	if _, reason := parseStorageKey(buf[:7]); reason != "" {
		t.Fatal(reason)
	}
	if string(buf) != `"0xABC","tail"` {
		t.Errorf("the input became %s", buf)
	}
}

func TestGetStorageAtParameters(t *testing.T) {
	for _, c := range []struct{ params, msg string }{
		{`[]`, "missing value for required argument 0"},
		{`[null]`, "missing value for required argument 0"},
		{`["` + someAddress + `"]`, "missing value for required argument 1"},
		{`["` + someAddress + `",null,"latest"]`, "missing value for required argument 1"},
		{`["0x12","0x0","latest"]`, "invalid argument 0: hex string has length 2, want 40 for an address"},
		{`["` + someAddress + `","0xg","latest"]`, `invalid hex in storage key: "0xg"`},
		{`["` + someAddress + `","0x0","newest"]`, "invalid argument 2: hex string without 0x prefix"},
		{`["` + someAddress + `","0x0","latest",1]`, "too many arguments, want at most 3"},
		{`{}`, "non-array args"},
		{`"x"`, "non-array args"},
		{`[`, "non-array args"},
	} {
		fake := newFake()
		_, err := New(fake, limits(Spec)).Call(t.Context(), "eth_getStorageAt", []byte(c.params))
		wantError(t, err, nodegate.InvalidParams, c.msg)
		if len(fake.asked) > 0 {
			t.Errorf("%s reached the node", c.params)
		}
	}
}

func TestGetProofParameters(t *testing.T) {
	many := func(n int) string {
		return `["` + someAddress + `",[` + strings.TrimSuffix(strings.Repeat(`"0x0",`, n), ",") + `],"latest"]`
	}
	for _, c := range []struct{ params, msg string }{
		{`["` + someAddress + `"]`, "missing value for required argument 1"},
		{`["` + someAddress + `","0x0","latest"]`, "invalid argument 1: non-"},
		{`["` + someAddress + `",[5],"latest"]`, "invalid argument 1: non-"},
		{`["` + someAddress + `",["0xg"],"latest"]`, `invalid hex in storage key: "0xg"`},
		{`["` + someAddress + `",[],"latest",null]`, "too many arguments, want at most 3"},
		{many(1025), "too many storage keys requested (max 1024, got 1025)"},
	} {
		_, err := New(newFake(), limits(Spec)).Call(t.Context(), "eth_getProof", []byte(c.params))
		wantError(t, err, nodegate.InvalidParams, c.msg)
	}
	fake := newFake()
	if _, err := New(fake, limits(Spec)).Call(t.Context(), "eth_getProof", []byte(many(1024))); err != nil {
		t.Error(err)
	}
	if got := strings.Count(fake.passed(t), `"0x0"`); got != 1024 {
		t.Errorf("%d keys reached the node", got)
	}
}

// What reaches the node is rebuilt: lower case, no white space, keys as they are echoed.
func TestStorageParametersAreRebuilt(t *testing.T) {
	for _, c := range []struct{ method, params, want string }{
		{"eth_getStorageAt", ` [ "0X00000000000000000000000000000000000000AA" , "1" , "0X0" ] `,
			fmt.Sprintf(`eth_getStorageAt ["%s","0x%064x","0x0"]`, someAddress, 1)},
		{"eth_getProof", ` [ "` + strings.ToUpper(someAddress[2:]) + `" ]`, ""},
		{"eth_getProof", `["` + someAddress + `", [ "1", "0x0001", "0X2" ], {"blockNumber":"0x2"}]`,
			`eth_getProof ["` + someAddress + `",["0x1","0x1","0x2"],"0x2"]`},
		{"eth_getProof", `["` + someAddress + `",[null,"0x1",null],"0x2"]`, `eth_getProof ["` + someAddress + `",["0x0","0x1","0x0"],"0x2"]`},
	} {
		fake := newFake()
		_, err := New(fake, limits(Spec)).Call(t.Context(), c.method, []byte(c.params))
		if c.want == "" {
			wantError(t, err, nodegate.InvalidParams, "invalid argument 0: ")
			continue
		}
		if err != nil || fake.passed(t) != c.want {
			t.Errorf("%s became %q, %v; want %s", c.params, fake.asked, err, c.want)
		}
	}
}
