package jsonrpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// showAnswer renders an answer in one line, with - for what is absent.
func showAnswer(a Answer) string {
	or := func(b []byte) string {
		if b == nil {
			return "-"
		}
		return string(b)
	}
	if a.Error != nil {
		return fmt.Sprintf("error %d %q %s #%s", a.Error.Code, a.Error.Message, or(a.Error.Data), or(a.ID))
	}
	return fmt.Sprintf("%s #%s", or(a.Result), or(a.ID))
}

func TestScanAnswer(t *testing.T) {
	for _, tt := range []struct{ name, body, want string }{
		{"plain", `{"jsonrpc":"2.0","id":1,"result":"0x1"}`, `"0x1" #1`},
		{"any order, spaces", " {\r\n\"result\" : [ 1 ] ,\t\"id\":\"x\" } \n", `[ 1 ] #"x"`},
		{"null", `{"jsonrpc":"2.0","id":1,"result":null}`, `null #1`},
		{"no id", `{"result":true}`, `true #-`},
		{"unknown members", `{"id":1,"result":{"a":1,"a":2},"usage":[{}],"usage":3,"":4}`, `{"a":1,"a":2} #1`},
		{"an error", `{"id":1,"error":{"code":-32000,"message":"h\u00e9 \"x\""}}`, `error -32000 "hé \"x\"" - #1`},
		{"an error with data", `{"error":{"data":{"a":[]},"message":"","code":3,"more":1},"id":null}`, `error 3 "" {"a":[]} #null`},
		{"null data", `{"id":1,"error":{"code":1,"message":"m","data":null}}`, `error 1 "m" null #1`},
		{"a null error", `{"id":1,"error":null,"result":5}`, `5 #1`},
		{"a null result", `{"id":1,"error":{"code":1,"message":"m"},"result":null}`, `error 1 "m" - #1`},
		{"both null", `{"id":1,"error":null,"result":null}`, `null #1`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, ok := ScanAnswer([]byte(tt.body))
			if got := showAnswer(a); !ok || got != tt.want {
				t.Errorf("got %s, %v, want %s", got, ok, tt.want)
			}
		})
	}
}

// notAnswers are bodies that are refused, and why.
var notAnswers = map[string]string{
	"empty":               ``,
	"blank":               ` `,
	"a page":              `<html>502</html>`,
	"a string":            `"0x1"`,
	"a batch":             `[{"id":1,"result":1}]`,
	"two":                 `{"id":1,"result":1}{"id":1,"result":1}`,
	"trailing":            `{"id":1,"result":1}x`,
	"a zero byte after":   "{\"id\":1,\"result\":1}\x00",
	"a byte order mark":   "\ufeff" + `{"id":1,"result":1}`,
	"cut":                 `{"id":1,"result":[1,2`,
	"cut in a string":     `{"id":1,"result":"0x`,
	"neither":             `{"jsonrpc":"2.0","id":1}`,
	"neither, null":       `{"jsonrpc":"2.0","id":1,"error":null}`,
	"both":                `{"id":1,"result":1,"error":{"code":1,"message":""}}`,
	"a request":           `{"id":1,"result":1,"method":"m"}`,
	"version 1":           `{"jsonrpc":"1.0","id":1,"result":1}`,
	"version null":        `{"jsonrpc":null,"id":1,"result":1}`,
	"an id of true":       `{"id":true,"result":1}`,
	"an id in an array":   `{"id":[1],"result":1}`,
	"result twice":        `{"id":1,"result":1,"result":1}`,
	"id twice":            `{"id":1,"id":1,"result":1}`,
	"error twice":         `{"id":1,"error":null,"error":null,"result":1}`,
	"Result":              `{"id":1,"result":1,"Result":2}`,
	"only Result":         `{"id":1,"Result":2}`,
	"an escaped name":     `{"id":1,"result":1,"\u0072esult":2}`,
	"a long s":            `{"id":1,"result":1,"re` + "\u017f" + `ult":2}`,
	"error a string":      `{"id":1,"error":"no"}`,
	"error an array":      `{"id":1,"error":[]}`,
	"error empty":         `{"id":1,"error":{}}`,
	"no message":          `{"id":1,"error":{"code":1}}`,
	"no code":             `{"id":1,"error":{"message":"m"}}`,
	"a code of text":      `{"id":1,"error":{"code":"1","message":"m"}}`,
	"a fraction":          `{"id":1,"error":{"code":1.5,"message":"m"}}`,
	"a huge code":         `{"id":1,"error":{"code":99999999999999999999,"message":"m"}}`,
	"a message of number": `{"id":1,"error":{"code":1,"message":2}}`,
	"message twice":       `{"id":1,"error":{"code":1,"message":"m","message":"n"}}`,
	"Code":                `{"id":1,"error":{"code":1,"message":"m","Code":2}}`,
	"not UTF-8":           "{\"id\":1,\"result\":\"\xff\"}",
	"half a pair":         `{"id":1,"result":"\ud800"}`,
	"a control character": "{\"id\":1,\"result\":\"\n\"}",
	"a leading zero":      `{"id":1,"result":[01]}`,
	"a wrong bracket":     `{"id":1,"result":[1}}`,
	"a missing comma":     `{"id":1,"result":[1 2]}`,
	"a comma too many":    `{"id":1,"result":{"a":1,}}`,
	"no colon":            `{"id":1,"result":{"a" 1}}`,
	"not a number":        `{"id":1,"result":NaN}`,
}

func TestScanAnswerRefuses(t *testing.T) {
	for name, body := range notAnswers {
		if a, ok := ScanAnswer([]byte(body)); ok {
			t.Errorf("%s: took %s as %s", name, body, showAnswer(a))
		}
	}
}

func TestScanAnswerDepth(t *testing.T) {
	for _, tt := range []struct {
		open, shut string
		levels     int
	}{{"[", "]", 1}, {`{"a":`, "}", 1}, {`[0,{"a":[],"b":`, "}]", 2}} {
		deep := func(n int) []byte {
			return []byte(`{"id":1,"result":` + strings.Repeat(tt.open, n) + "1" + strings.Repeat(tt.shut, n) + "}")
		}
		fits := (answerDepth - 1) / tt.levels
		if _, ok := ScanAnswer(deep(fits)); !ok {
			t.Errorf("%s: %d times are refused", tt.open, fits)
		}
		if _, ok := ScanAnswer(deep(fits + 1)); ok {
			t.Errorf("%s: %d times pass", tt.open, fits+1)
		}
		if _, ok := ScanAnswer([]byte(`{"id":1,"result":` + strings.Repeat(tt.open, 1<<20))); ok {
			t.Errorf("%s: a bomb passes", tt.open)
		}
	}
}

func TestScanMessage(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{`{"jsonrpc":"2.0","id":1,"result":2}`, `2 #1`},
		{`{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"0x1","result":{"number":"0x2"}}}`, `event "0x1" {"number":"0x2"}`},
		{`{"params":{"result":null,"subscription":7,"x":1},"method":"eth_subscription","id":null}`, `event 7 null`},
		{string(AppendNotification(nil, "eth_subscription", "0xab", []byte("[1]"))), `event "0xab" [1]`},
		{`{"method":"m","params":[]}`, ``},
		{`{"method":"m"}`, ``},
		{`{"method":"m","params":{"subscription":null,"result":1}}`, ``},
		{`{"method":"m","params":{"subscription":["0x1"],"result":1}}`, ``},
		{`{"method":"m","params":{"subscription":"0x1"}}`, ``},
		{`{"method":"m","params":{"subscription":"0x1","result":1,"Result":2}}`, ``},
		{`{"method":"m","params":{"subscription":"0x1","subscription":"0x2","result":1}}`, ``},
		{`{"id":1,"method":"m","params":{"subscription":"0x1","result":1}}`, ``},
		{`{"result":1,"method":"m","params":{"subscription":"0x1","result":1}}`, ``},
		{`[]`, ``},
	} {
		a, e, ok := ScanMessage([]byte(tt.text))
		got := ""
		switch {
		case ok && e.Subscription != nil:
			got = fmt.Sprintf("event %s %s", e.Subscription, e.Result)
		case ok:
			got = showAnswer(a)
		}
		if got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.text, got, tt.want)
		}
	}
}

// answerOf says what ScanAnswer should make of a body, by two other decoders.
func answerOf(t testing.TB, body []byte) (a Answer, ok bool) {
	t.Helper()
	body = bytes.Trim(body, " \t\r\n")
	if !jsontext.Value(body).IsValid(jsontext.AllowDuplicateNames(true)) || depth(body) > answerDepth || body[0] != '{' {
		return a, false
	}
	m, ok := knownMembers(t, body, "jsonrpc", "id", "result", "error", "method", "params")
	if !ok || m["method"] != nil || m["jsonrpc"] != nil && string(m["jsonrpc"]) != `"2.0"` {
		return a, false
	}
	switch decode(m["id"]).(type) {
	case nil, string, json.Number:
	default:
		return a, false
	}
	a.ID = m["id"]
	if decode(m["error"]) == nil {
		a.Result = m["result"]
		return a, a.Result != nil
	}
	a.Error, ok = errorOf(t, m["error"])
	return a, ok && decode(m["result"]) == nil
}

func errorOf(t testing.TB, raw []byte) (*AnswerError, bool) {
	t.Helper()
	if raw[0] != '{' {
		return nil, false
	}
	m, ok := knownMembers(t, raw, "code", "message", "data")
	code, isNumber := decode(m["code"]).(json.Number)
	message, isString := decode(m["message"]).(string)
	n, err := strconv.ParseInt(string(code), 10, 64)
	return &AnswerError{Code: int(n), Message: []byte(message), Data: m["data"]}, ok && isNumber && isString && err == nil
}

// knownMembers finds the members of these names; false when one is there in two
// spellings or in another than ours.
func knownMembers(t testing.TB, object []byte, names ...string) (map[string][]byte, bool) {
	t.Helper()
	known := map[string][]byte{}
	for _, p := range pairs(t, object) {
		for _, name := range names {
			if !strings.EqualFold(p.name, name) {
				continue
			}
			if known[name] != nil || p.token != `"`+name+`"` {
				return nil, false
			}
			known[name] = p.value
		}
	}
	return known, true
}

// FuzzScanAnswer holds the scanner to the reference: the same bodies refused, the
// same members found, nothing written.
func FuzzScanAnswer(f *testing.F) {
	for _, body := range notAnswers {
		f.Add([]byte(body))
	}
	f.Add([]byte(receiptAnswer()))
	f.Add([]byte(`{"jsonrpc":"2.0","id":"1","error":{"code":-3,"message":"\u00e9","data":"0x"},"result":null}`))
	f.Add([]byte(`{"id":1,"result":[[{"a":[[]]}],{}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		kept := bytes.Clone(body)
		got, ok := ScanAnswer(body)
		if !bytes.Equal(kept, body) {
			t.Fatal("the body was written to")
		}
		want, good := answerOf(t, body)
		if ok != good {
			t.Fatalf("got %v, want %v", ok, good)
		}
		if ok && showAnswer(got) != showAnswer(want) {
			t.Fatalf("got %s, want %s", showAnswer(got), showAnswer(want))
		}
		a, e, both := ScanMessage(body)
		if ok && (!both || e.Subscription != nil || showAnswer(a) != showAnswer(got)) {
			t.Fatalf("as a message: %s, %v", showAnswer(a), both)
		}
		if both && e.Subscription != nil && (!wellFormed(e.Result) && depth(e.Result) <= maxDepth || !wellFormed(e.Subscription)) {
			t.Fatalf("an event with %s, %s", e.Subscription, e.Result)
		}
	})
}

// receiptAnswer is an answer of about 1.6 KB: the receipt of a token transfer.
func receiptAnswer() string {
	h := func(n int) string { return `"0x` + strings.Repeat("a7", n) + `"` }
	log := `{"address":` + h(20) + `,"topics":[` + h(32) + `,` + h(32) + `,` + h(32) + `],"data":` + h(32) + `,"blockNumber":"0x10d4f","transactionHash":` + h(32) +
		`,"transactionIndex":"0x1","blockHash":` + h(32) + `,"blockTimestamp":"0x5f5e100","logIndex":"0x0","removed":false}`
	return `{"jsonrpc":"2.0","id":12345,"result":{"blockHash":` + h(32) + `,"blockNumber":"0x10d4f","contractAddress":null,"cumulativeGasUsed":"0x1e8d2","effectiveGasPrice":"0x3b9aca07","from":` + h(20) +
		`,"gasUsed":"0xc9a4","logs":[` + log + `],"logsBloom":` + h(256) + `,"status":"0x1","to":` + h(20) + `,"transactionHash":` + h(32) + `,"transactionIndex":"0x1","type":"0x2"}}`
}

func TestScanAnswerAllocatesNothing(t *testing.T) {
	body := []byte(receiptAnswer())
	if n := testing.AllocsPerRun(100, func() { ScanAnswer(body) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkScanAnswer(b *testing.B) {
	receipt := receiptAnswer()
	blocks := `{"id":1,"result":[` + strings.Repeat(receipt+",", 25<<20/len(receipt)) + `0]}`
	for _, bm := range []struct{ name, body string }{{"receipt", receipt}, {"25MiB", blocks}} {
		b.Run(bm.name, func(b *testing.B) {
			body := []byte(bm.body)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := ScanAnswer(body); !ok {
					b.Fatal("refused")
				}
			}
		})
	}
}
