package native

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		params string
		want   string // the parameters between bars; "-" is handed over
	}{
		{"", ""},
		{"[]", ""},
		{`["0x1"]`, `"0x1"`},
		{`["0x1","0x2","latest"]`, `"0x1"|"0x2"|"latest"`},
		{`[{"a":"b"},"latest"]`, `{"a":"b"}|"latest"`},
		{`["a",["b","c"],"d"]`, `"a"|["b","c"]|"d"`},
		{`[{"a":{"b":[1,2]}},[[]],5]`, `{"a":{"b":[1,2]}}|[[]]|5`},
		{`["[","]","{"]`, `"["|"]"|"{"`},
		{`[null,true,1]`, `null|true|1`},
		{`[1,2,3,4]`, "-"}, // more than any method takes
		{`["a" ]`, "-"},
		{`[ "a"]`, "-"},
		{`["a", "b"]`, "-"},
		{`["\u0061"]`, "-"},
		{`["a",]`, "-"},
		{`[,]`, "-"},
		{`["a"`, "-"},
		{`"a"`, "-"},
		{`{}`, "-"},
		{`[`, "-"},
		{`]`, "-"},
		{`["]`, "-"},
		{`[[]`, "-"},
	} {
		var a args
		got := "-"
		if a.parse([]byte(c.params)) {
			got = string(bytes.Join(a.raw[:a.n], []byte("|")))
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.params, got, c.want)
		}
	}
}

func TestQuantity(t *testing.T) {
	for _, c := range []struct {
		text string
		n    uint64
		ok   bool
	}{
		{"0x0", 0, true}, {"0x1", 1, true}, {"0xff", 255, true}, {"0xFF", 255, true}, {"0xffffffffffffffff", 1<<64 - 1, true},
		{"0x10000000000000000", 0, false}, {"0x00", 0, false}, {"0x01", 0, false}, {"0x", 0, false}, {"", 0, false}, {"1", 0, false},
		{"0X1", 0, false}, {"0x_1", 0, false}, {"0x1_0", 0, false}, {"0x+1", 0, false}, {"0x-1", 0, false}, {"0xg", 0, false}, {"0x 1", 0, false},
	} {
		if n, ok := quantity([]byte(c.text)); ok != c.ok || (ok && n != c.n) {
			t.Errorf("%s: %d, %v", c.text, n, ok)
		}
	}
	for _, n := range []uint64{0, 1, 15, 16, 255, 256, 1 << 32, 1<<64 - 1} {
		if got := string(quoteUint(n)); got != `"`+hexutil.EncodeUint64(n)+`"` {
			t.Errorf("%d: %s", n, got)
		}
	}
}

func TestStorageKey(t *testing.T) {
	for _, c := range []struct {
		text, want string // "" is handed over
	}{
		{"0x0", "0x0"}, {"0x1", "0x1"}, {"0xffffffffffffffff", "0xffffffffffffffff"}, {fmt.Sprintf("0x%064x", 7), "0x7"},
		{"0x" + strings.Repeat("f", 64), "0x" + strings.Repeat("f", 64)},
		{"0x01", ""}, {"0x", ""}, {"", ""}, {"1", ""}, {"0x10000000000000000", ""}, {"0x" + strings.Repeat("f", 63), ""}, {"0x" + strings.Repeat("g", 64), ""},
	} {
		slot, ok := storageKey([]byte(c.text))
		if ok != (c.want != "") || (ok && slot != common.HexToHash(c.want)) {
			t.Errorf("%s: %s, %v", c.text, slot, ok)
		}
	}
}

func TestProofKeys(t *testing.T) {
	for _, c := range []struct {
		raw  string
		want int // -1 is handed over
	}{
		{`[]`, 0}, {`["0x0"]`, 1}, {`["0x0","0x1"]`, 2}, {`["0x0" ]`, -1}, {`["0x00"]`, -1}, {`[5]`, -1}, {`"0x0"`, -1}, {`{}`, -1}, {`[[]]`, -1}, {``, -1}, {`[`, -1},
	} {
		keys, ok := proofKeys([]byte(c.raw))
		if ok != (c.want >= 0) || (ok && len(keys) != c.want) {
			t.Errorf("%s: %d keys, %v", c.raw, len(keys), ok)
		}
	}
	keys, ok := proofKeys([]byte(fmt.Sprintf(`["0x1","0x%064x"]`, 1)))
	if !ok || keys[0].full || !keys[1].full || keys[0].slot != keys[1].slot {
		t.Errorf("%+v, %v", keys, ok)
	}
}

func TestCallObject(t *testing.T) {
	const addr = "0x00000000000000000000000000000000000000aa"
	for _, raw := range []string{
		`{}`, `{"from":"` + addr + `"}`, `{"to":"` + addr + `","gas":"0x5208","value":"0x1","input":"0xabcd"}`, `{"input":"0x"}`, `{"value":"0x` + strings.Repeat("f", 64) + `"}`,
	} {
		if !new(callObject).parse([]byte(raw)) {
			t.Errorf("%s is handed over", raw)
		}
	}
	for _, raw := range []string{
		``, `[]`, `{"from":"0x"}`, `{"from":null}`, `{"to":""}`, `{"gas":"0x00"}`, `{"gas":5}`, `{"gas":"0x10000000000000000"}`, `{"value":"0x01"}`, `{"value":"0x"}`, `{"value":""}`, `{"value":"1"}`,
		`{"value":"0x1` + strings.Repeat("0", 64) + `"}`, `{"input":"0x1"}`, `{"input":"abcd"}`, `{"data":"0x00"}`, `{"gasPrice":"0x0"}`, `{"nonce":"0x0"}`, `{"accessList":[]}`, `{"chainId":"0x1"}`,
		`{"From":"` + addr + `"}`, `{"from":"` + addr + `",}`, `{"from" :"` + addr + `"}`, `{"from": "` + addr + `"}`, `{"from":"` + addr + `"`, `{"from"}`, `{:}`, `{"":""}`,
	} {
		if new(callObject).parse([]byte(raw)) {
			t.Errorf("%s is taken", raw)
		}
	}
}

// FuzzParse splits arbitrary parameters: never a panic, and of what is canonical
// JSON the parts are those that encoding/json finds. White space is not canonical;
// what is left in a part by it is no plain value and handed over later.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "[]", "[\r]", `["0x1","0x2","latest"]`, `[{"to":"0x","a":[1]},"latest"]`, `["a",["b"],{}]`, `[`, `["`, `[[}`, `["a"]]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, params []byte) {
		var a args
		if !a.parse(params) {
			return
		}
		for i := range a.n {
			proofKeys(a.raw[i])
			new(callObject).parse(a.raw[i])
			storageKey(a.raw[i])
		}
		var want []json.RawMessage
		var compact bytes.Buffer
		if json.Compact(&compact, params) != nil || !bytes.Equal(compact.Bytes(), params) || json.Unmarshal(params, &want) != nil {
			return
		}
		if len(want) != a.n {
			t.Fatalf("%q: %d parameters, want %d", params, a.n, len(want))
		}
		for i, w := range want {
			if got := string(a.raw[i]); got != string(w) {
				t.Errorf("%q: parameter %d is %q, want %q", params, i, got, w)
			}
		}
	})
}
