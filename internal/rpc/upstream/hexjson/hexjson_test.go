package hexjson

import (
	"strings"
	"testing"
)

func TestQuantity(t *testing.T) {
	for raw, want := range map[string]uint64{`"0x0"`: 0, `"0x1f"`: 31, `"0xFFFFFFFFFFFFFFFF"`: 1<<64 - 1, Number(77): 77} {
		if got, ok := Quantity([]byte(raw)); !ok || got != want {
			t.Errorf("%s: %d, %v", raw, got, ok)
		}
	}
	for _, raw := range []string{"", "31", `"0x"`, `"1f"`, `"0x1f`, `"0xg"`, `"0x10000000000000000"`, `"0x-1"`} {
		if got, ok := Quantity([]byte(raw)); ok {
			t.Errorf("%s is %d", raw, got)
		}
	}
}

func TestHashAndData(t *testing.T) {
	hash := `"0x` + strings.Repeat("aB", 32) + `"`
	for raw, want := range map[string][2]bool{ // a hash, data
		hash:                                   {true, true},
		`"0x"`:                                 {false, true},
		`"0xabc"`:                              {false, true},
		`"0x` + strings.Repeat("g", 64) + `"`:  {false, false},
		`"0y` + strings.Repeat("a", 64) + `"`:  {false, false},
		`"0x` + strings.Repeat("a", 65):        {false, false},
		``:                                     {false, false},
		`"0x`:                                  {false, false},
		strings.ToUpper(hash[:3]) + hash[3:]:   {false, false},
		`"0x` + strings.Repeat("aB", 33) + `"`: {false, true},
	} {
		if got := [2]bool{IsHash([]byte(raw)), IsData([]byte(raw))}; got != want {
			t.Errorf("%s: %v, want %v", raw, got, want)
		}
	}
}
