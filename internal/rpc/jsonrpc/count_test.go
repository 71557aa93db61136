package jsonrpc

import (
	"strings"
	"testing"
)

// TestFirstElements holds it to Elements, and stops at the first element too many.
func TestFirstElements(t *testing.T) {
	for _, raw := range []string{"[]", "[1]", ` [ "a" , [1,2,3] , {"x":[]} ] `, "[1,2", "{}", "", "[1]x", "[null,null]"} {
		want, good := Elements(nil, []byte(raw))
		for most := range 5 {
			got, over, ok := FirstElements(nil, []byte(raw), most)
			switch {
			case over && (good && len(want) <= most || len(got) != 0):
				t.Errorf("%q, at most %d: too many", raw, most)
			case !over && (ok != good || len(got) != len(want)):
				t.Errorf("%q, at most %d: %q, %t", raw, most, got, ok)
			}
			if n := Count([]byte(raw), most); good && n != min(len(want), most+1) {
				t.Errorf("%q counts %d, at most %d", raw, n, most)
			}
		}
	}
	millions := []byte("[" + strings.Repeat("1,", 1<<20) + "not JSON")
	if n := testing.AllocsPerRun(10, func() { FirstElements(nil, millions, 0); Count(millions, 100) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
