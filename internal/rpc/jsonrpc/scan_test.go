package jsonrpc

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// show renders a scanned body in one line: a request as method(params) #id, a
// refused element as code #id, a missing id as #-.
func show(b *Body) string {
	var s []string
	for _, r := range b.Requests {
		id := "-"
		if r.ID != nil {
			id = string(r.ID)
		}
		head := string(r.Method) + "(" + string(r.Params) + ")"
		if r.Err != nil {
			head = r.Err.Message
		}
		s = append(s, head+" #"+id)
	}
	line := strings.Join(s, " | ")
	if b.Batch {
		return "[" + line + "]"
	}
	return line
}

// call wraps members into an envelope that lacks nothing but them.
func call(members string) string { return `{"jsonrpc":"2.0",` + members + `}` }

type scanCase struct{ name, body, want string }

func checkScan(t *testing.T, cases []scanCase) {
	t.Helper()
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			var b Body
			if fault := b.Scan([]byte(tt.body), 100); fault != nil {
				t.Fatalf("Scan(%s): fault %v", tt.body, fault)
			}
			if got := show(&b); got != tt.want {
				t.Errorf("Scan(%s)\n got %s\nwant %s", tt.body, got, tt.want)
			}
		})
	}
}

func TestScan(t *testing.T) {
	checkScan(t, []scanCase{
		{"plain", smallCall, `eth_blockNumber([]) #1`},
		{"any order, spaces", " {\n\"params\" : [ 1 ] ,\t\"id\":\"x\",\r\"method\":\"m\" , \"jsonrpc\": \"2.0\" } \n", `m([ 1 ]) #"x"`},
		{"unknown members", call(`"id":1,"method":"m","extra":{"id":[2]},"extra":3,"Extra":4,"":5`), `m() #1`},
		{"unknown, looking like ours", call(`"id":1,"method":"m","ids":1,"i":2,"_id":3,"ıd":4,"İd":5,"methods":6`), `m() #1`},
		{"our names deeper down", call(`"id":1,"method":"m","params":[{"id":1,"ID":2,"id":3,"method":"x"}]`),
			`m([{"id":1,"ID":2,"id":3,"method":"x"}]) #1`},

		{"a number", `5`, `invalid request #null`},
		{"a string", `"eth_call"`, `invalid request #null`},
		{"null", ` null `, `invalid request #null`},
		{"batch of one", "[" + call(`"id":1,"method":"a"`) + "]", `[a() #1]`},
		{"batch in order",
			"[" + call(`"id":2,"method":"a"`) + " , " + call(`"method":"b"`) + "," + call(`"id":1,"method":"c","params":[[]]`) + "]",
			`[a() #2 | b() #- | c([[]]) #1]`},
		{"batch with others", `[1,"x",null,[` + smallCall + `],[],{},` + smallCall + `]`,
			`[` + strings.Repeat(`invalid request #null | `, 6) + `eth_blockNumber([]) #1]`},
	})
}

func TestScanMembers(t *testing.T) {
	checkScan(t, []scanCase{
		{"no id", call(`"method":"m"`), `m() #-`},
		{"id null", call(`"method":"m","id":null`), `m() #null`},
		{"id of 20 digits", call(`"method":"m","id":12345678901234567890`), `m() #12345678901234567890`},
		{"id fraction", call(`"method":"m","id":-1.50e+03`), `m() #-1.50e+03`},
		{"id string, escaped", call(`"method":"m","id":"\u0041\/"`), `m() #"\u0041\/"`},
		{"id empty string", call(`"method":"m","id":""`), `m() #""`},
		{"id true", call(`"method":"m","id":true`), `invalid request #null`},
		{"id false", call(`"method":"m","id":false`), `invalid request #null`},
		{"id object", call(`"method":"m","id":{}`), `invalid request #null`},
		{"id array", call(`"method":"m","id":[1]`), `invalid request #null`},

		{"params null", call(`"method":"m","id":1,"params":null`), `m() #1`},
		{"params empty", call(`"method":"m","id":1,"params":[]`), `m([]) #1`},
		{"params object", call(`"method":"m","id":1,"params":{}`), `non-array args #1`},
		{"params string", call(`"method":"m","id":"a","params":"[]"`), `non-array args #"a"`},
		{"params number", call(`"method":"m","id":null,"params":0`), `non-array args #null`},
		{"params true", call(`"method":"m","id":1,"params":true`), `non-array args #1`},
		{"params object, no id", call(`"method":"m","params":{}`), `non-array args #-`},
		{"params object, no method", call(`"id":1,"params":{}`), `invalid request #1`},

		{"method escaped", call(`"method":"eth\u005fcall\n","id":1`), "eth_call\n() #1"},
		{"method beyond 16 bits", call(`"method":"\ud83d\ude00","id":1`), "\U0001F600() #1"},
		{"method missing", call(`"id":7`), `invalid request #7`},
		{"method empty", call(`"id":7,"method":""`), `invalid request #7`},
		{"method number", call(`"id":7,"method":1`), `invalid request #7`},
		{"method null", call(`"id":7,"method":null`), `invalid request #7`},
		{"method array", call(`"id":7,"method":["m"]`), `invalid request #7`},
		{"method missing, no id", call(`"x":7`), `invalid request #null`},

		{"version missing", `{"id":"v","method":"m"}`, `invalid request #"v"`},
		{"version 1.0", `{"jsonrpc":"1.0","id":1,"method":"m"}`, `invalid request #1`},
		{"version number", `{"jsonrpc":2.0,"id":1,"method":"m"}`, `invalid request #1`},
		{"version null", `{"jsonrpc":null,"id":1,"method":"m"}`, `invalid request #1`},
		{"version spaced", `{"jsonrpc":"2.0 ","id":1,"method":"m"}`, `invalid request #1`},
		{"version escaped", `{"jsonrpc":"2\u002e0","id":1,"method":"m"}`, `invalid request #1`},
		{"empty object", `{}`, `invalid request #null`},
	})
}

func TestScanFaults(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	inParams := func(n int) string { return call(`"id":1,"method":"m","params":` + nested(n)) }
	for _, tt := range []struct {
		name, body string
		want       *Fault
	}{
		{"empty", "", ParseError},
		{"blank", " \t\r\n", ParseError},
		{"byte order mark", "\ufeff" + smallCall, ParseError},
		{"form feed", "\f" + smallCall, ParseError},
		{"no-break space", "\u00a0" + smallCall, ParseError},
		{"trailing bytes", smallCall + "x", ParseError},
		{"trailing zero byte", smallCall + "\x00", ParseError},
		{"two documents", smallCall + "\n" + smallCall, ParseError},
		{"bytes after a batch", "[" + smallCall + "]]", ParseError},
		{"bytes after an empty batch", "[]]", ParseError},
		{"cut short", smallCall[:len(smallCall)-1], ParseError},
		{"cut in a batch", "[" + smallCall + ",", ParseError},
		{"comma at the end", "[" + smallCall + ",]", ParseError},
		{"comma in the object", call(`"id":1,`), ParseError},
		{"comma first", "[," + smallCall + "]", ParseError},
		{"no comma", `[1 2]`, ParseError},
		{"no colon", `{"id" 1}`, ParseError},
		{"no name", `{:1}`, ParseError},
		{"number as a name", `{1:1}`, ParseError},
		{"single quotes", `{'id':1}`, ParseError},
		{"wrong bracket", `[1}`, ParseError},
		{"comment", `[1/**/]`, ParseError},
		{"broken after a good call", "[" + smallCall + ",nul]", ParseError},

		{"empty batch", "[]", EmptyBatch},
		{"empty batch, spaced", " [ \n ] ", EmptyBatch},
		{"batch at the limit", batchOf(10), nil},
		{"batch over the limit", batchOf(11), BatchTooLarge},
		{"over the limit, broken after", batchOf(11) + "x", BatchTooLarge},
		{"over the limit, broken before", "[x," + batchOf(20)[1:], ParseError},
		{"limit, then a comma", strings.TrimSuffix(batchOf(10), "]") + ",]", ParseError},

		{"64 deep", nested(64), nil},
		{"65 deep", nested(65), ParseError},
		{"64 deep in params", inParams(63), nil},
		{"65 deep in params", inParams(64), ParseError},
		{"65 deep in a batch", "[" + inParams(63) + "]", ParseError},
		{"65 objects deep", strings.Repeat(`{"a":`, 65) + "1" + strings.Repeat("}", 65), ParseError},
		{"64 objects deep", strings.Repeat(`{"a":`, 64) + "1" + strings.Repeat("}", 64), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b Body
			if got := b.Scan([]byte(tt.body), 10); got != tt.want {
				t.Errorf("Scan(%.80s): got %v, want %v", tt.body, got, tt.want)
			}
			if tt.want != nil && len(b.Requests) != 0 {
				t.Errorf("a refused body left %d requests", len(b.Requests))
			}
		})
	}
}

func TestFaultWords(t *testing.T) {
	for fault, want := range map[*Fault]Fault{
		ParseError: {-32700, "parse error"}, InvalidRequest: {-32600, "invalid request"},
		EmptyBatch: {-32600, "empty batch"}, BatchTooLarge: {-32600, "batch too large"},
		NonArrayArgs: {-32602, "non-array args"},
	} {
		if *fault != want {
			t.Errorf("got %+v, want %+v", *fault, want)
		}
	}
}

func TestNotification(t *testing.T) {
	for body, want := range map[string]bool{
		call(`"method":"m"`):              true,
		call(`"method":"m","id":null`):    false,
		call(`"method":"m","id":0`):       false,
		call(`"method":"m","params":{}`):  false,
		call(`"params":[]`):               false,
		call(`"method":"m","ID":1`):       false,
		call(`"method":"m","params":[1]`): true,
	} {
		var b Body
		b.Scan([]byte(body), 1)
		if got := b.Requests[0].Notification(); got != want {
			t.Errorf("%s: got %v, want %v", body, got, want)
		}
	}
}

// Nothing of one body may show in the next.
func TestScanReuse(t *testing.T) {
	var b Body
	b.Scan([]byte("["+smallCall+",1,"+call(`"id":1,"method":"m","params":{}`)+"]"), 10)
	b.Scan([]byte(call(`"method":"m"`)), 10)
	if got := show(&b); got != "m() #-" {
		t.Errorf("after a batch: %s", got)
	}
	b.Reset()
	if len(b.Requests) != 0 || b.Batch || b.Requests[:1][0].Method != nil {
		t.Errorf("Reset left %+v", b.Requests[:1])
	}
}

func TestScanAllocatesNothing(t *testing.T) {
	var b Body
	for name, body := range map[string]string{
		"small": smallCall, "eth_call": ethCall(), "batch": batchOf(100), "refused": `[1,{},` + call(`"id":1,"\u0069d":2`) + `]`,
	} {
		data := []byte(body)
		b.Scan(data, 100)
		if n := testing.AllocsPerRun(100, func() { b.Scan(data, 100) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// A body of nothing but brackets is refused at the 65th, however long it is. The
// best of a hundred runs is taken, for the machine may be busy with something else.
func TestDepthBomb(t *testing.T) {
	const size = 5 << 20
	for _, unit := range []string{"[", `{"a":`, `[{"":`, `[[],`} {
		bomb := []byte(strings.Repeat(unit, size/len(unit)))
		in := []byte(`{"jsonrpc":"2.0","id":1,"method":"m","params":` + string(bomb))
		best := time.Hour
		for range 100 {
			start := time.Now()
			refuseBomb(t, bomb, in)
			best = min(best, time.Since(start))
		}
		if best > time.Millisecond {
			t.Errorf("%q repeated: took %v", unit, best)
		}
	}
}

func refuseBomb(t *testing.T, bomb, in []byte) {
	t.Helper()
	var b Body
	if b.Scan(bomb, 1000) != ParseError || b.Scan(in, 1000) != ParseError {
		t.Errorf("%.10q repeated: no parse error", bomb)
	}
	if _, ok := Elements(nil, bomb); ok {
		t.Errorf("%.10q repeated: Elements took it", bomb)
	}
	if _, ok := Compact(nil, bomb); ok {
		t.Errorf("%.10q repeated: Compact took it", bomb)
	}
	if Fields(bomb, func(_, _ []byte) bool { return true }) {
		t.Errorf("%.10q repeated: Fields took it", bomb)
	}
}

// TestScanLargePauses: nothing of a large body is scanned for long at a stretch, however its
// values are nested.
func TestScanLargePauses(t *testing.T) {
	const size = 1 << 20
	for name, params := range map[string]string{
		"numbers":        "[" + strings.Repeat("1,", size/2) + "1]",
		"numbers inside": "[[[" + strings.Repeat("1,", size/2) + "1]]]",
		"objects":        "[" + strings.Repeat(`{"a":[true]},`, size/13) + "1]",
		"members":        `[{` + strings.Repeat(`"a":1,`, size/6) + `"a":1}]`,
	} {
		t.Run(name, func(t *testing.T) {
			var b Body
			pauses := 0
			body := []byte(`{"jsonrpc":"2.0","id":1,"method":"m","params":` + params + `}`)
			if fault := b.ScanLarge(body, 1, func() { pauses++ }); fault != nil || string(b.Requests[0].Params) != params {
				t.Fatal(fault)
			}
			if pauses < size/(20<<10) {
				t.Errorf("%d pauses", pauses)
			}
		})
	}
}

// TestCompactLargePauses: the same of rewriting one, and of comparing names.
func TestCompactLargePauses(t *testing.T) {
	const size = 1 << 20
	names := make([]string, 0, size/16)
	for i := range size / 16 {
		names = append(names, fmt.Sprintf(`"%09d":%d`, i, i%10))
	}
	for name, value := range map[string]string{
		"numbers": "[" + strings.Repeat("1,", size/2) + "1]",
		"objects": "[" + strings.Repeat(`{"a":[true]},`, size/13) + "1]",
		"members": "{" + strings.Join(names, ",") + "}",
	} {
		t.Run(name, func(t *testing.T) {
			pauses := 0
			if got, ok := CompactLarge(nil, []byte(value), func() { pauses++ }); !ok || string(got) != value {
				t.Fatalf("got %.80s, %v", got, ok)
			}
			if pauses < len(value)/(20<<10) {
				t.Errorf("%d pauses", pauses)
			}
		})
	}
}
