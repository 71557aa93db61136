package logrange

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
)

func TestRead(t *testing.T) {
	for _, c := range []struct{ params, want string }{
		{`[{"fromBlock":"0x1","toBlock":"0x64"}]`, `[{"fromBlock":"0x2","toBlock":"0x3"}]`},
		{` [ {"address":"0x1", "fromBlock":"0x1","topics":[["0x2",null],[]],"toBlock":"0x1"} ] `, `[{"fromBlock":"0x2","toBlock":"0x3","address":"0x1","topics":[["0x2",null],[]]}]`},
		{`[{"fromBlock":"0x1","toBlock":"latest"}]`, ""},
		{`[{"fromBlock":"0x1","toBlock":"pending"}]`, ""},
		{`[{"fromBlock":"0x1"}]`, ""},
		{`[{"fromBlock":"0x1","toBlock":"0x2","blockHash":"0x3"}]`, ""},
		{`[{"fromBlock":"0x1","toBlock":"0x2","fromBlock":"0x3"}]`, ""},
		{`[{"fromBlock":"0x3","toBlock":"0x2"}]`, ""},
		{`[{"fromBlock":"0x1","toBlock":"0x2"},1]`, ""},
		{`[{"fromBlock":1,"toBlock":"0x2"}]`, ""},
		{`[]`, ""}, {`[5]`, ""}, {`{}`, ""}, {``, ""},
	} {
		f, ok := Read([]byte(c.params))
		if ok != (c.want != "") {
			t.Errorf("%s: %+v, %v", c.params, f, ok)
		}
		if ok && string(f.Params(Span{2, 3})) != c.want {
			t.Errorf("%s becomes %s", c.params, f.Params(Span{2, 3}))
		}
	}
}

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		span  Span
		width uint64
		want  string
	}{
		{Span{0, 9}, 10, "[{0 9}]"}, {Span{0, 9}, 4, "[{0 3} {4 7} {8 9}]"}, {Span{5, 5}, 1, "[{5 5}]"}, {Span{5, 6}, 0, "[{5 5} {6 6}]"},
		{Span{0, math.MaxUint64}, math.MaxUint64, "[{0 18446744073709551614} {18446744073709551615 18446744073709551615}]"},
		{Span{math.MaxUint64 - 2, math.MaxUint64}, 2, "[{18446744073709551613 18446744073709551614} {18446744073709551615 18446744073709551615}]"},
	} {
		if got := fmt.Sprint(c.span.Split(c.width)); got != c.want {
			t.Errorf("%v by %d: %s", c.span, c.width, got)
		}
	}
}

func TestMerge(t *testing.T) {
	for _, c := range []struct {
		parts []string
		want  string
	}{
		{nil, `[]`}, {[]string{`[]`, ` [ ] `}, `[]`}, {[]string{`[{"a":1}]`}, `[{"a":1}]`},
		{[]string{`[]`, "[\n{\"a\": 1},2]", `[]`, `[[3]]`}, `[{"a": 1},2,[3]]`},
	} {
		var parts [][]byte
		for _, p := range c.parts {
			parts = append(parts, []byte(p))
		}
		if got := Merge(parts); string(got) != c.want {
			t.Errorf("%q: %s", c.parts, got)
		}
	}
}

// FuzzClassify: no text upsets the reading of it, and a range that it suggests is one.
func FuzzClassify(f *testing.F) {
	f.Add("query returned more than 10000 results. Try with this block range [0xBDE5F8, 0x102DBCC].")
	f.Add("requested too many blocks from 0 to 16777216, maximum is set to 2048")
	f.Add("limited to a 99999999999999999999k range # 10,00 0x")
	f.Fuzz(func(t *testing.T, text string) {
		c := Classify(text)
		if c.Try != nil && c.Try.From > c.Try.To || c.Kind == None && c.Blocks != 0 {
			t.Errorf("%q is read as %s", text, show(c))
		}
	})
}

// FuzzParts splits a query's range and merges the answers: each block is asked for once and in order, and
// every query is read as it was written.
func FuzzParts(f *testing.F) {
	f.Add(`[{"fromBlock":"0x1","toBlock":"0x64","address":"0x1"}]`, uint64(7))
	f.Add(`[{"fromBlock":"0x0","toBlock":"0xffffffffffffffff"}]`, uint64(1<<63))
	f.Add(`[{"fromBlock":"0x0","toBlock":"0x1","\u0061<":[1, 2]}]`, uint64(0))
	f.Fuzz(func(t *testing.T, params string, width uint64) {
		filter, ok := Read([]byte(params))
		if !ok || filter.Parts(width) > 1000 {
			return
		}
		spans := filter.Split(width)
		if uint64(len(spans)) != filter.Parts(width) {
			t.Fatalf("%d parts, not %d", len(spans), filter.Parts(width))
		}
		var answers [][]byte
		next := filter.From
		for _, s := range spans {
			again, ok := Read(filter.Params(s))
			if !ok || again.Span != s || string(again.rest) != string(filter.rest) || s.From != next || s.Width() > max(width, 1) {
				t.Fatalf("part %v of %s by %d: %s", s, params, width, filter.Params(s))
			}
			next = s.To + 1
			answer := fmt.Appendf(nil, ` [{"blockNumber":"0x%x"}, {"blockNumber":"0x%x"} ]`, s.From, s.To)
			if !within(answer, s) {
				t.Fatalf("%s is not within %v", answer, s)
			}
			answers = append(answers, answer)
		}
		var merged []json.RawMessage
		if err := json.Unmarshal(Merge(answers), &merged); err != nil || len(merged) != 2*len(spans) || next != filter.To+1 {
			t.Fatalf("%d logs, %v", len(merged), err)
		}
	})
}

// within tells whether an answer is a list of logs of a span's blocks, and of no others.
func within(answer []byte, s Span) bool {
	list, ok := jsonrpc.Elements(nil, answer)
	if !ok {
		return false
	}
	for _, log := range list {
		if !holds(s, log) {
			return false
		}
	}
	return true
}

// holds tells whether a log says that it is of one of the span's blocks.
func holds(s Span, log []byte) bool {
	found := 0
	ok := jsonrpc.Fields(log, func(name, value []byte) bool {
		if string(name) != "blockNumber" {
			return true
		}
		at, ok := hexjson.Quantity(value)
		found++
		return ok && s.From <= at && at <= s.To
	})
	return ok && found == 1
}
