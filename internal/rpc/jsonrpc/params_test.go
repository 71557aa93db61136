package jsonrpc

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode"
)

func TestElements(t *testing.T) {
	for raw, want := range map[string]string{
		`[]`: ``, ` [ ] `: ``, `[1]`: `1`, "[ 1 ,\t\"a,b\" ,[2, 3],\n{\"a\" :[]} ]": `1;"a,b";[2, 3];{"a" :[]}`, `[null,null]`: `null;null`,
	} {
		got, ok := Elements(nil, []byte(raw))
		if !ok || string(bytes.Join(got, []byte(";"))) != want {
			t.Errorf("Elements(%s): got %q, %v", raw, got, ok)
		}
	}
	if got, ok := Elements(nil, nil); !ok || len(got) != 0 {
		t.Errorf("Elements(nil): got %q, %v", got, ok)
	}
	deep := strings.Repeat("[", 65) + strings.Repeat("]", 65)
	for _, raw := range []string{
		``, ` `, `null`, `{}`, `1`, `[`, `[1`, `[1,]`, `[1]x`, `[1][2]`, `[01]`, "[\"\xff\"]", `[tru]`, deep,
	} {
		dst := [][]byte{{'x'}}
		if got, ok := Elements(dst, []byte(raw)); ok || len(got) != 1 {
			t.Errorf("Elements(%s): got %q, %v", raw, got, ok)
		}
	}
}

// What is appended to one element must not run into the next.
func TestElementsAreApart(t *testing.T) {
	raw := []byte(`[1,2]`)
	elems, _ := Elements(nil, raw)
	_ = append(elems[0], '9')
	if string(raw) != `[1,2]` {
		t.Errorf("the array became %s", raw)
	}
}

func TestElementsAllocatesNothing(t *testing.T) {
	raw, dst := []byte(`["0x1", {"a":[1,2]}, true]`), make([][]byte, 0, 4)
	if n := testing.AllocsPerRun(100, func() { Elements(dst, raw) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// fields joins what Fields calls with.
func fields(raw string) (string, bool) {
	var s strings.Builder
	ok := Fields([]byte(raw), func(name, value []byte) bool {
		fmt.Fprintf(&s, "%s=%s;", name, value)
		return true
	})
	return s.String(), ok
}

func TestFields(t *testing.T) {
	for raw, want := range map[string]string{
		`{}`: ``, ` { } `: ``, `{"a":1}`: `a=1;`, "{ \"a\" :\t1 ,\"b\":[ 2 ] }\n": `a=1;b=[ 2 ];`,
		`{"\u0061":1,"a":2,"A":{"b":3}}`: `a=1;a=2;A={"b":3};`, `{"":null}`: `=null;`,
	} {
		if got, ok := fields(raw); !ok || got != want {
			t.Errorf("Fields(%s): got %q, %v", raw, got, ok)
		}
	}
	for raw, want := range map[string]string{
		``: ``, `null`: ``, `[]`: ``, `"a"`: ``, `{`: ``, `{"a"`: ``, `{"a":`: ``, `{"a":1`: `a=1;`, `{"a":1,}`: `a=1;`, `{"a":1}x`: `a=1;`,
		`{"a":01}`: `a=0;`, `{"a":x}`: ``, "{\"\xff\":1}": ``, `{"a":1 "b":2}`: `a=1;`,
	} {
		if got, ok := fields(raw); ok || got != want {
			t.Errorf("Fields(%s): got %q, %v, want a refusal after %q", raw, got, ok, want)
		}
	}
}

func TestStrings(t *testing.T) {
	for raw, want := range map[string]string{
		``: "", `[1,true,null]`: "", `["a",{"b":["c\"d","\u0065"],"":"\\"}]`: `"a" "b" "c\"d" "\u0065" "" "\\"`,
		`["a","b`: `"a"`, `["a` + "\n" + `"]`: "", `["é"]`: `"é"`,
	} {
		var got []string
		Strings([]byte(raw), func(token []byte) { got = append(got, string(token)) })
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %s", raw, got, want)
		}
	}
}

func TestFieldsStops(t *testing.T) {
	calls := 0
	ok := Fields([]byte(`{"a":1,"b":2}`), func(_, _ []byte) bool { calls++; return false })
	if ok || calls != 1 {
		t.Errorf("got %v after %d calls", ok, calls)
	}
}

func TestWithout(t *testing.T) {
	drop := func(name, _ []byte) bool { return name[0] == 'x' }
	for raw, want := range map[string]string{
		`{}`: `{}`, `{"a":1,"b":{"x":2}}`: `{"a":1,"b":{"x":2}}`, `{"x":1}`: `{}`, `{"x":1,"a":2}`: `{"a":2}`, `{"a":1,"x":2}`: `{"a":1}`,
		`{"a":1,"x":2,"b":3}`: `{"a":1,"b":3}`, `{"x1":1,"x2":2,"a":3,"b":4,"x3":5}`: `{"a":3,"b":4}`, ` {"a":1 , "x":2, "b" :3 } `: `{"a":1,"b" :3}`,
		`{"\u0078":1,"a":2}`: `{"a":2}`, `{"x":1,"x":2}`: `{}`,
	} {
		if got, ok := Without([]byte(raw), drop); !ok || string(got) != want {
			t.Errorf("Without(%s): got %q, %v, want %q", raw, got, ok, want)
		}
	}
	for _, raw := range []string{``, `null`, `[]`, `{`, `{"x":1`, `{"x":1,}`, `{"a":1}x`, `{"x":1}x`, `{"a":01}`, `{"a":1 "x":2}`} {
		if got, ok := Without([]byte(raw), drop); ok {
			t.Errorf("Without(%s): got %q, want a refusal", raw, got)
		}
	}
}

func TestCompact(t *testing.T) {
	wide := wideObject(1000)
	for raw, want := range map[string]string{
		` 1 `: `1`, "[ ]": `[]`, "{\n}": `{}`, `"a b"`: `"a b"`,
		"[ 1 ,\t\"a , b\" ,[2, 3],\n{\"a\" :[ ], \"b\": { } } ]": `[1,"a , b",[2,3],{"a":[],"b":{}}]`,
		`{"\u0061":"\u0041\/"}`:                                  `{"a":"A/"}`, `[1.50E+3,-0]`: `[1.50E+3,-0]`,
		`[{"a":1},{"a":2}]`: `[{"a":1},{"a":2}]`, `{"a":{"a":{"a":1}}}`: `{"a":{"a":{"a":1}}}`,
		`{"a":{"b":1},"b":{"a":1}}`: `{"a":{"b":1},"b":{"a":1}}`,
		`{"i":1,"ı":2,"İ":3}`:       `{"i":1,"ı":2,"İ":3}`, `{"ss":1,"ß":2}`: `{"ss":1,"ß":2}`, wide: wide,
	} {
		if got, ok := Compact([]byte("x"), []byte(raw)); !ok || string(got) != "x"+want {
			t.Errorf("Compact(%.80s): got %.80s, %v", raw, got, ok)
		}
	}
}

func TestCompactRefuses(t *testing.T) {
	deep := strings.Repeat("[", 65) + strings.Repeat("]", 65)
	wide := strings.TrimSuffix(wideObject(1000), "}")
	for _, raw := range []string{
		``, ` `, `[1,]`, `{"a":1,}`, `{"a"}`, `{1:1}`, `[1 2]`, `1 2`, `[1`, `{"a":1`, `tru`, "\"\xff\"", "{\"\xff\":1}", `"\ud800"`, deep,
		`{"a":1,"a":2}`, `{"a":1,"A":2}`, `{"a":1,"b":2,"\u0061":3}`, `{"\u0061":1,"\u0041":2}`, `{"":1,"":2}`,
		`{"k":1,"` + "\u212a" + `":2}`, `{"s":1,"` + "\u017f" + `":2}`, `{"s":1,"\u017f":2}`,
		`{"é":1,"É":2}`, `{"σ":1,"ς":2}`, `{"ß":1,"ẞ":2}`,
		`{"to":1,"TO":2}`, `[[{"x":[{"b":1,"c":2,"B":3}]}]]`, `{"a":{"b":1},"c":2,"A":3}`, `{"a":{"b":1,"b":2}}`,
		wide + `,"9e3779b1":1}`, wide + `,"9E3779B1":1}`, wide + `,"K":1,"` + "\u212a" + `":1}`, wide + `,"é":1,"\u00c9":1}`,
	} {
		if got, ok := Compact([]byte("x"), []byte(raw)); ok || string(got) != "x" {
			t.Errorf("Compact(%.80s): got %.80s, %v", raw, got, ok)
		}
	}
}

// The folded spelling must tell names apart just as bytes.EqualFold does.
func TestAppendFolded(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		self := string(appendFolded(nil, []byte(string(r))))
		if !strings.EqualFold(self, string(r)) {
			t.Errorf("%U became %q", r, self)
		}
		if other := string(appendFolded(nil, []byte(string(unicode.SimpleFold(r))))); other != self {
			t.Errorf("%U became %q, its variant %q", r, self, other)
		}
	}
}
