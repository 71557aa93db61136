package eth

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nodegate/nodegate/internal/background"
)

// TestLargeParameters: what is read in the background reaches the node like everything else,
// and is refused like everything else.
func TestLargeParameters(t *testing.T) {
	entries := make([]string, 0, 4000)
	for i := range cap(entries) {
		entries = append(entries, fmt.Sprintf(`"0x%040x":{"nonce":"0x5"}`, i))
	}
	tuple := `{"address":"` + someAddress + `","storageKeys":[]}`
	list := "[" + strings.Repeat(tuple+",", 3000) + tuple + "]"
	overrides := "{" + strings.Join(entries, ",") + "}"
	spaced := func(text string) string { return strings.ReplaceAll(text, ",", " , ") }
	for _, c := range []struct{ method, params, want, msg string }{
		{"eth_call", `[{"accessList":` + spaced(list) + `}]`, `[{"gas":"0x2faf080","accessList":` + list + `},"latest"]`, ""},
		{"eth_call", `[{},"latest",` + spaced(overrides) + `]`, `[{"gas":"0x2faf080"},"latest",` + overrides + `]`, ""},
		{"eth_simulateV1", `[{"blockStateCalls":[{"stateOverrides":` + spaced(overrides) + `}]},"latest"]`, `[{"blockStateCalls":[{"stateOverrides":` + overrides + `}]},"latest"]`, ""},
		{"eth_call", `[{"accessList":[` + strings.Repeat(tuple+",", 3000) + `{"address":"0x1","Address":"0x2"}]}]`, "", "same member twice"},
		{"eth_call", `[{},"latest",{` + strings.Join(entries, ",") + "," + entries[0] + `}]`, "", "same member twice"},
		{"eth_call", `[{"accessList":` + list + `},5]`, "", "invalid argument 1"},
	} {
		if len(c.params) < background.Large {
			t.Fatalf("%d bytes are not many", len(c.params))
		}
		fake := newFake()
		_, err := New(fake, limits(Spec)).Call(t.Context(), c.method, []byte(c.params))
		switch {
		case c.msg != "" && (err == nil || !strings.Contains(err.Error(), c.msg)):
			t.Errorf("%.60s: %v, want %s", c.params, err, c.msg)
		case c.msg == "" && err != nil:
			t.Errorf("%.60s: %v", c.params, err)
		case c.msg == "" && fake.passed(t) != c.method+" "+c.want:
			t.Errorf("%.60s became %.200s", c.params, fake.passed(t))
		}
	}
}
