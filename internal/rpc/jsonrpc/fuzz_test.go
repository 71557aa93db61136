package jsonrpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// seed adds what all fuzz tests of the reader start from.
func seed(f *testing.F) {
	refuse, accept := vectors(f)
	for _, s := range append(refuse, accept...) {
		f.Add([]byte(s))
	}
	for _, s := range []string{
		smallCall, ethCall(), batchOf(3), " [ ] ", "[]", "{}", "1", "", "\ufeff1", `[1,{"id":1},[]]`, "[" + smallCall + ", 5 ]x",
		`{"jsonrpc":"2.0","id":-1.5e+07,"method":"\ud83d\ude00\n","params":null}`,
		`{"jsonrpc":"2.0","id":1e999,"method":"m","params":{"a":1}}`,
		`{"a":1,"A":2}`, `[{"k":1,"` + "\u212a" + `":2},{"\u0073":"\ud800"}]`, "[\"\xff\"]", "[\"\u2028\x7f\"]", `[01,-0,1.5E-3,tru]`, `"\u0041\/\b"`,
		strings.Repeat("[", 64) + strings.Repeat("]", 64), strings.Repeat("[", 65) + strings.Repeat("]", 65),
		strings.Repeat(`{"a":`, 64) + "0" + strings.Repeat("}", 64), wideObject(20), strings.Replace(wideObject(20), `"0"`, `"9E3779B1"`, 1),
	} {
		f.Add([]byte(s))
	}
}

// FuzzScan holds Scan to the reference: the same bodies refused, the same
// members found.
func FuzzScan(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		kept := bytes.Clone(data)
		var b Body
		fault := b.Scan(data, noLimit)
		if !bytes.Equal(data, kept) {
			t.Fatal("the body was written to")
		}
		if good := wellFormed(data); good == (fault == ParseError) {
			t.Fatalf("well-formed is %v, fault %v", good, fault)
		}
		if fault != ParseError {
			compareScan(t, data, &b, fault)
		}
		checkLimit(t, data, len(b.Requests), fault)
		checkLarge(t, data, &b, fault)
	})
}

// checkLarge holds ScanLarge to Scan.
func checkLarge(t *testing.T, data []byte, b *Body, fault *Fault) {
	t.Helper()
	var large Body
	got := large.ScanLarge(data, noLimit, func() {})
	if got != fault || large.Batch != b.Batch || !slices.EqualFunc(large.Requests, b.Requests, same) {
		t.Fatalf("as a large body: fault %v, want %v\n got %s\nwant %s", got, fault, show(&large), show(b))
	}
}

func compareScan(t *testing.T, data []byte, b *Body, fault *Fault) {
	t.Helper()
	data = bytes.TrimSpace(data)
	elems := [][]byte{data}
	if data[0] == '[' {
		elems = array(t, data)
	}
	if b.Batch != (data[0] == '[') || len(b.Requests) != len(elems) || (fault == EmptyBatch) != (len(elems) == 0) {
		t.Fatalf("batch %v of %d, fault %v, want %d", b.Batch, len(b.Requests), fault, len(elems))
	}
	for i, elem := range elems {
		if got, want := b.Requests[i], request(t, elem); !same(got, want) {
			t.Fatalf("element %d\n got %s\nwant %s", i, show(&Body{Requests: []Request{got}}), show(&Body{Requests: []Request{want}}))
		}
	}
}

// same compares two requests, and nil slices only with nil ones.
func same(a, b Request) bool {
	eq := func(x, y []byte) bool { return bytes.Equal(x, y) && (x == nil) == (y == nil) }
	return a.Err == b.Err && eq(a.ID, b.ID) && eq(a.Params, b.Params) && bytes.Equal(a.Method, b.Method)
}

// checkLimit scans data again with a small limit. The full scan found n requests.
func checkLimit(t *testing.T, data []byte, n int, full *Fault) {
	t.Helper()
	const limit = 3
	var b Body
	switch fault := b.Scan(data, limit); {
	case fault == BatchTooLarge:
		if full != ParseError && n <= limit {
			t.Fatalf("%d requests are too many", n)
		}
	case fault != full:
		t.Fatalf("fault %v with a limit, %v without", fault, full)
	case b.Batch && n > limit:
		t.Fatalf("%d requests are not too many", n)
	}
}

// FuzzCompact: what comes out means the same, has no spare byte, and can be read
// in one way only.
func FuzzCompact(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		got, ok := Compact([]byte("x"), data)
		if paused, same := CompactLarge([]byte("x"), data, func() {}); same != ok || !bytes.Equal(got, paused) {
			t.Fatalf("with pauses: %q, %v", paused, same)
		}
		want := wellFormed(data) && !ambiguous(t, data)
		if ok != want || !ok && string(got) != "x" {
			t.Fatalf("got %s, %v, want %v", got, ok, want)
		}
		if !ok {
			return
		}
		var short bytes.Buffer
		must(t, json.Compact(&short, data))
		if got = got[1:]; !bytes.ContainsRune(data, '\\') && !bytes.Equal(got, short.Bytes()) {
			t.Fatalf("got %s, want %s", got, &short)
		}
		if again, ok := Compact(nil, got); !ok || !bytes.Equal(got, again) {
			t.Fatalf("%s becomes %s: a string has two spellings", got, again)
		}
		if before, after := decode(data), decode(got); !reflect.DeepEqual(before, after) {
			t.Fatalf("%v became %v", before, after)
		}
	})
}

func FuzzElements(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		data = append([]byte{}, data...) // nil is an empty array, and not what is meant here
		got, ok := Elements(nil, data)
		trimmed := bytes.TrimSpace(data)
		if want := wellFormed(data) && trimmed[0] == '['; ok != want {
			t.Fatalf("got %v, want %v", ok, want)
		}
		if !ok {
			return
		}
		want := array(t, trimmed)
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

func FuzzFields(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		var got []string
		ok := Fields(data, func(name, value []byte) bool {
			got = append(got, fmt.Sprintf("%q: %q", name, value))
			return true
		})
		if want := wellFormed(data) && bytes.TrimSpace(data)[0] == '{'; ok != want {
			t.Fatalf("got %v, want %v", ok, want)
		}
		if !ok {
			return
		}
		var want []string
		for _, p := range pairs(t, bytes.TrimSpace(data)) {
			want = append(want, fmt.Sprintf("%q: %q", p.name, p.value))
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

// FuzzWithout compares with an object that is written member by member.
func FuzzWithout(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		drop := func(name, value []byte) bool { return (len(name)+len(value))%3 == 0 }
		got, ok := Without(data, drop)
		want, lost := []string{}, false
		if whole := Fields(data, func(name, value []byte) bool {
			if drop(name, value) {
				lost = true
			} else {
				want = append(want, fmt.Sprintf("%q: %q", name, value))
			}
			return true
		}); ok != whole {
			t.Fatalf("got %v, want %v", ok, whole)
		}
		if !ok {
			return
		}
		if !lost && !bytes.Equal(got, data) {
			t.Fatalf("got %q of %q, which loses nothing", got, data)
		}
		left := []string{}
		if !Fields(got, func(name, value []byte) bool {
			left = append(left, fmt.Sprintf("%q: %q", name, value))
			return true
		}) || !reflect.DeepEqual(left, want) {
			t.Fatalf("got %q, with %q, want %q", got, left, want)
		}
	})
}

func FuzzString(f *testing.F) {
	for _, s := range texts() {
		f.Add([]byte(s))
		f.Add(AppendString(nil, s))
	}
	for _, s := range []string{`"\ud834\udd1e"`, `"\ud834"`, `"\udd1e\ud834"`, `"\u12"`, `"\`, `"a" `, `""x`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, ok := String(raw)
		bare := len(raw) > 1 && raw[0] == '"' && raw[len(raw)-1] == '"'
		if want := bare && wellFormed(raw); ok != want {
			t.Fatalf("got %v, want %v", ok, want)
		}
		if !ok {
			return
		}
		var want string
		must(t, json.Unmarshal(raw, &want))
		if string(got) != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

// FuzzAppendError: the message comes out as encoding/json writes it.
func FuzzAppendError(f *testing.F) {
	for i, s := range texts() {
		f.Add(i-32000, s)
	}
	f.Fuzz(func(t *testing.T, code int, message string) {
		text, err := json.Marshal(message)
		must(t, err)
		want := fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"error":{"code":%d,"message":%s,"data":[]}}`, code, text)
		if got := AppendError(nil, []byte("7"), code, message, []byte("[]")); string(got) != want {
			t.Fatalf("got %s\nwant %s", got, want)
		}
		if got := AppendString(nil, message); !bytes.Equal(got, text) {
			t.Fatalf("got %s, want %s", got, text)
		}
	})
}
