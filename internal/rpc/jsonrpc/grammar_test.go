package jsonrpc

import (
	"strings"
	"testing"
)

// Values on their own, as Scan sees them in params.
func TestGrammar(t *testing.T) {
	good := []string{
		`0`, `-0`, `1`, `10`, `-12`, `0.0`, `1.5`, `1e5`, `1E5`, `1e+5`, `1e-05`, `0e0`, `-0.0E-0`, `123456789012345678901234567890`,
		`true`, `false`, `null`, `[]`, `{}`, `[ ]`, `{ }`, `[1,[2,{"a":[]}],{}]`, `{"a":1,"a":2}`, `{"":""}`,
		`""`, `"a"`, `"\"\\\/\b\f\n\r\t"`, `"\u0000"`, `"\uFFFF"`, `"\uabCD"`, `"\ud834\udd1e"`, `"\uDBFF\uDFFF"`,
		"\"\x7f\"", `"é"`, `"€"`, `"𝄞"`, "\"\ufeff\"", "\"\u2028\"", "\"\ufffd\"", `"` + strings.Repeat("x", 100) + `"`,
		"\"1234567\xf0\x9d\x84\x9e\"", `"1234567\n"`, `"12345678"`, `"<>&"`,
	}
	broken := []string{
		``, `-`, `+1`, `01`, `-01`, `00`, `1.`, `.5`, `1.e5`, `1e`, `1e+`, `1e5.0`, `0x1`, `1_000`, `--1`, `NaN`, `Infinity`, `-Infinity`, `1 2`,
		`True`, `tru`, `truex`, `nul`, `nulll`, `fals`, `undefined`,
		`[`, `]`, `[1`, `[1,`, `[1,]`, `[,1]`, `[1,,2]`, `[1;2]`, `[}`,
		`{`, `}`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{"a":,}`, `{a:1}`, `{"a":1;}`, `{"a"::1}`, `{,}`, `{null:1}`, `{]`,
		`"`, `"a`, `"\"`, `"\`, `"\u"`, `"\u1"`, `"\u12"`, `"\u123"`, `"\u123g"`, `"\U0041"`,
		`"\x41"`, `"\a"`, `"\'"`, `"\0"`, `'a'`, `"a"b`,
		"\"\x00\"", "\"\x1f\"", "\"\n\"", "\"\t\"", "\"1234567\n\"", "\"12345678\x01\"",
		"\"\x80\"", "\"\xff\"", "\"\xc0\xaf\"", "\"\xc3\"", "\"\xe2\x82\"", "\"\xed\xa0\x80\"",
		"\"\xf4\x90\x80\x80\"", "\"\xf0\x80\x80\xaf\"", "\"1234567\x80\"",
		`"\ud800"`, `"\ud800x"`, `"\ud800\n"`, `"\ud800\u0041"`, `"\ud800\ud800"`,
		`"\udc00"`, `"\udc00\ud800"`, `"\ud800\u12"`, `"\ud800\`, `"\ud800\u`,
		"\"\ufeff", "\ufeff1", "\x00",
	}
	for _, v := range good {
		check(t, v, nil)
	}
	for _, v := range broken {
		check(t, v, ParseError)
	}
}

// check scans v in the places where a value can stand.
func check(t *testing.T, v string, want *Fault) {
	t.Helper()
	bodies := []string{
		"[0," + v + "]", `{"x":` + v + `}`, `{"x":{"y":[0,` + v + "\t]}\n}",
		call(`"id":1,"method":"m","params":[1,` + v + ` ]`), call(`"id":1,"method":"m","x": ` + v),
	}
	for _, body := range bodies {
		var b Body
		if got := b.Scan([]byte(body), 10); got != want {
			t.Errorf("Scan(%q): got %v, want %v", body, got, want)
		}
	}
}

func TestPlain(t *testing.T) {
	for at := range 40 {
		for _, c := range []byte{'"', '\\', 0, 0x1f, 0x80, 0xff, '\n', 0xa0, 0xdc, 0xa2} {
			for _, filler := range []string{" ", "x", "!", "#", "[", "]", "\x7f", "\x21"} {
				d := []byte(strings.Repeat(filler, 40))
				d[at] = c
				if got := plain(d, 0); got != at {
					t.Fatalf("plain(%q): got %d, want %d", d, got, at)
				}
			}
		}
	}
	if got := plain([]byte("no hit in here"), 3); got != len("no hit in here") {
		t.Errorf("no hit: got %d", got)
	}
}

func TestString(t *testing.T) {
	for raw, want := range map[string]string{
		`""`: "", `"a b"`: "a b", `"\"\\\/\b\f\n\r\t"`: "\"\\/\b\f\n\r\t", `"\u0041\u00e9\u20ac"`: "Aé€",
		`"x\ud834\udd1ey"`: "x\U0001D11Ey", `"\uD834\uDD1E"`: "\U0001D11E", `"é"`: "é", `"\u0000"`: "\x00",
		`"\\u0041"`: `\u0041`,
	} {
		if got, ok := String([]byte(raw)); !ok || string(got) != want {
			t.Errorf("String(%s): got %q, %v", raw, got, ok)
		}
	}
	for _, raw := range []string{``, `"`, `a`, `"a`, `"a"b`, `"a" `, ` "a"`, `1`, `null`, `["a"]`, `"\ud800"`, "\"\xff\"", "\"\n\""} {
		if got, ok := String([]byte(raw)); ok {
			t.Errorf("String(%s): got %q, want a refusal", raw, got)
		}
	}
	raw := []byte(`"0x` + strings.Repeat("ab", 32) + `"`)
	if n := testing.AllocsPerRun(100, func() { String(raw) }); n != 0 {
		t.Errorf("%v allocations without escapes", n)
	}
}
