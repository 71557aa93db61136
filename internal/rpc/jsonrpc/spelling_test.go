package jsonrpc

import "testing"

// TestCompactSpelling: escapes that a string doesn't need are gone, so that a word is
// found however it was written.
func TestCompactSpelling(t *testing.T) {
	for raw, want := range map[string]string{
		`["l\u0061test"]`:         `["latest"]`,
		`[{"\u0074o":"\u0030x"}]`: `[{"to":"0x"}]`,
		`["a\/b","\n","\""]`:      `["a/b","\n","\""]`,
		`["\ud83d\ude00"]`:        `["😀"]`,
		`["\u003c"]`:              `["\u003c"]`,
	} {
		if got, ok := Compact(nil, []byte(raw)); !ok || string(got) != want {
			t.Errorf("%s becomes %s, %v, want %s", raw, got, ok, want)
		}
	}
}
