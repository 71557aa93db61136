package eth

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
)

// hexTexts are strings that are hex, nearly hex, or not hex at all.
var hexTexts = []string{
	"0", "0x", "0X", "0x0", "0x00", "0x1", "0x01", "0x12", "0X12", "0x123", "0xag", "0xg", "x12", "12", "0x 1", " 0x1", "0x1 ", "0x-1", "0x+1", "0x_1", "0x1_0",
	"0xffffffffffffffff", "0x10000000000000000", "0xABCDEF", "0xabcdef", "0x\u0660",
	"0x" + strings.Repeat("f", 64), "0x1" + strings.Repeat("0", 64), "0x" + strings.Repeat("0", 40), "0x" + strings.Repeat("aB", 20),
	"0x" + strings.Repeat("a", 39), "0x" + strings.Repeat("a", 41), "0x" + strings.Repeat("a", 63), "0x" + strings.Repeat("aB", 32), "0x" + strings.Repeat("a", 65),
}

// hexCheck is one of our parsers and go-ethereum's type for the same thing.
var hexChecks = []struct {
	name  string
	ours  func([]byte) (string, string)
	geths func() any
}{
	{"address", address, func() any { return new(common.Address) }},
	{"hash", hash, func() any { return new(common.Hash) }},
	{"uint64", uint64Field, func() any { return new(hexutil.Uint64) }},
	{"big", bigField, func() any { return new(hexutil.Big) }},
	{"bytes", bytesField, func() any { return new(hexutil.Bytes) }},
}

// Both take the same strings and refuse the others in the same words.
func TestHexAsGeth(t *testing.T) {
	for _, c := range hexChecks {
		for _, text := range hexTexts {
			raw, _ := json.Marshal(text)
			value, reason := c.ours(raw)
			want := ""
			if err := json.Unmarshal(raw, c.geths()); err != nil {
				want = err.Error()
			}
			if strings.Replace(reason, "*hexutil.Big", "hexutil.Big", 1) != strings.Replace(want, "*hexutil.Big", "hexutil.Big", 1) {
				t.Errorf("%s %s: we say %q, go-ethereum %q", c.name, raw, reason, want)
			}
			if reason == "" && value != "0x"+strings.ToLower(text[2:]) {
				t.Errorf("%s %s became %s", c.name, raw, value)
			}
		}
	}
}

// An empty string is no number, though go-ethereum reads it as zero: the standard
// knows no such form. Only empty call data is taken for what it is.
func TestHexEmpty(t *testing.T) {
	for _, c := range hexChecks {
		if value, reason := c.ours([]byte(`""`)); (reason == "") != (c.name == "bytes") {
			t.Errorf("%s: %q, %q", c.name, value, reason)
		}
	}
}

// What is no string is refused; go-ethereum's words name the Go type of the JSON.
func TestHexWantsStrings(t *testing.T) {
	for _, c := range hexChecks {
		for _, raw := range []string{"5", "true", "{}", "[]", `"`, "", `"0x1`, "null", `'0x1'`} {
			if value, reason := c.ours([]byte(raw)); !strings.HasPrefix(reason, "json: cannot unmarshal") {
				t.Errorf("%s %s: %q, %q", c.name, raw, value, reason)
			}
		}
	}
}

// An escaped string is the string it stands for.
func TestHexUnescapes(t *testing.T) {
	if value, reason := uint64Field([]byte(`"\u0030\u00781\u0066"`)); value != "0x1f" || reason != "" {
		t.Errorf("%q, %q", value, reason)
	}
}
