package native

import (
	"encoding/hex"
	"testing"
)

// TestLooksAtGas: an instruction counts, the same byte as pushed data doesn't.
func TestLooksAtGas(t *testing.T) {
	for _, c := range []struct {
		code, why string
		want      bool
	}{
		{"", "no code", false},
		{"00", "STOP", false},
		{"5a", "GAS", true},
		{"605a", "PUSH1 0x5a", false},
		{"605a5a", "GAS behind a push", true},
		{"7ff1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1", "PUSH32 of CALLs", false},
		{"7ff1f1", "a push that is cut off", false},
		{"5f5ff1", "CALL", true},
		{"f0", "CREATE", true}, {"f5", "CREATE2", true}, {"f2", "CALLCODE", true},
		{"f4", "DELEGATECALL", true}, {"fa", "STATICCALL", true}, {"ff", "SELFDESTRUCT", true},
		{"600160005500", "a store", false},
	} {
		code, err := hex.DecodeString(c.code)
		if err != nil {
			t.Fatal(err)
		}
		if got := looksAtGas(code); got != c.want {
			t.Errorf("%s (%s): %v", c.why, c.code, got)
		}
	}
}
