package eth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nodegate/nodegate"
)

// fewLogs are limits small enough for devnet's ten blocks and eight logs.
func fewLogs(blocks uint64, results int) *Node {
	return New(devnet(), Config{LogBlocks: blocks, LogResults: results})
}

func TestLogSpans(t *testing.T) {
	for _, c := range []struct{ filter, msg string }{
		{`{}`, ""},
		{`{"fromBlock":"latest"}`, ""},
		{`{"fromBlock":"0x1","toBlock":"0x4"}`, ""},
		{`{"fromBlock":"0x1","toBlock":"0x5"}`, "query spans more than 4 blocks: try fromBlock 0x1, toBlock 0x4"},
		{`{"fromBlock":"0x0","toBlock":"latest"}`, "query spans more than 4 blocks: try fromBlock 0x0, toBlock 0x3"},
		{`{"fromBlock":"earliest"}`, "query spans more than 4 blocks: try fromBlock 0x0, toBlock 0x3"},
		{`{"fromBlock":"0x7"}`, ""},
		{`{"fromBlock":"0x6"}`, "query spans more than 4 blocks: try fromBlock 0x6, toBlock 0x9"},
		{`{"fromBlock":"0x6","toBlock":"0xfffffff"}`, "query spans more than 4 blocks: try fromBlock 0x6, toBlock 0x9"},
		{`{"FromBlock":"0x0"}`, `invalid argument 0: unknown field "FromBlock": it is spelled "fromBlock"`},
	} {
		for _, method := range []string{"eth_getLogs", "eth_newFilter"} {
			_, err := fewLogs(4, 1000).Call(t.Context(), method, []byte(`[`+c.filter+`]`))
			if c.msg == "" && err != nil {
				t.Errorf("%s %s: %v", method, c.filter, err)
			}
			if c.msg != "" {
				wantError(t, err, nodegate.InvalidParams, c.msg)
			}
		}
	}
}

// TestPlanLogLimits: the limits of a plan take the place of the server's, wider or narrower.
func TestPlanLogLimits(t *testing.T) {
	total := logsIn(t, "0x0", "latest")
	with := func(p nodegate.Plan) context.Context {
		policy := new(atomic.Pointer[nodegate.Policy])
		policy.Store(&nodegate.Policy{Plan: p})
		grant, _ := nodegate.NewGrant("a", "k", policy)
		return nodegate.WithGrant(t.Context(), grant)
	}
	const whole = `[{"fromBlock":"0x0","toBlock":"latest"}]`
	for name, c := range map[string]struct {
		plan    nodegate.Plan
		blocks  uint64
		results int
		msg     string
	}{
		"neither":         {nodegate.Plan{}, 4, 1000, "query spans more than 4 blocks: "},
		"wider":           {nodegate.Plan{LogBlocks: 1000}, 4, 1000, ""},
		"narrower":        {nodegate.Plan{LogBlocks: 3}, 1000, 1000, "query spans more than 3 blocks: try fromBlock 0x0, toBlock 0x2"},
		"more results":    {nodegate.Plan{LogResults: int64(total)}, 1000, 1, ""},
		"fewer results":   {nodegate.Plan{LogResults: 2}, 1000, 1000, "query returns more than 2 results: "},
		"results alone":   {nodegate.Plan{LogResults: 1000}, 4, 1000, "query spans more than 4 blocks: "},
		"blocks, one log": {nodegate.Plan{LogBlocks: 1000}, 4, 1, "query returns more than 1 results: "},
	} {
		_, err := fewLogs(c.blocks, c.results).Call(with(c.plan), "eth_getLogs", []byte(whole))
		switch {
		case c.msg == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.msg != "":
			wantError(t, err, nodegate.InvalidParams, c.msg)
		}
	}
}

// logsIn counts the logs of a range without limits.
func logsIn(t *testing.T, from, to string) int {
	t.Helper()
	var list []json.RawMessage
	result := ask(t, fewLogs(1000, 1000), "eth_getLogs", `[{"fromBlock":"`+from+`","toBlock":"`+to+`"}]`)
	if err := json.Unmarshal([]byte(result), &list); err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// One result more than the limit is refused, and the range that is named works.
func TestLogResults(t *testing.T) {
	total := logsIn(t, "0x0", "latest")
	if total < 5 {
		t.Fatalf("devnet has %d logs", total)
	}
	const whole = `[{"fromBlock":"0x0","toBlock":"latest"}]`
	ask(t, fewLogs(1000, total), "eth_getLogs", whole)
	for limit := 1; limit < total; limit++ {
		_, err := fewLogs(1000, limit).Call(t.Context(), "eth_getLogs", []byte(whole))
		wantError(t, err, nodegate.InvalidParams, fmt.Sprintf("query returns more than %d results: ", limit))
		_, hint, _ := strings.Cut(nodegate.AsError(err).Msg, "try fromBlock ")
		from, to, ok := strings.Cut(hint, ", toBlock ")
		if !ok {
			t.Errorf("no range is named: %v", err)
			continue
		}
		if n := logsIn(t, from, to); n > limit {
			t.Errorf("with limit %d, blocks %s to %s are named and have %d logs", limit, from, to, n)
		}
	}
}

// A block with more logs than the limit can't be split by range.
func TestLogResultsOfOneBlock(t *testing.T) {
	_, err := fewLogs(1000, 1).Call(t.Context(), "eth_getLogs", []byte(`[{"fromBlock":"0xa","toBlock":"0xa"}]`))
	wantError(t, err, nodegate.InvalidParams, "query returns more than 1 results: narrow it by address or topic")
	hash := members(t, ask(t, devnet(), "eth_getBlockByNumber", `["0xa",false]`))["hash"]
	_, err = fewLogs(1, 1).Call(t.Context(), "eth_getLogs", []byte(`[{"blockHash":`+string(hash)+`}]`))
	wantError(t, err, nodegate.InvalidParams, "query returns more than 1 results: narrow it by address or topic")
}

func TestFilterLogsAreLimited(t *testing.T) {
	id := ask(t, fewLogs(1000, 1000), "eth_newFilter", `[{"fromBlock":"0x0","toBlock":"0xa"}]`)
	_, err := fewLogs(1000, 1).Call(t.Context(), "eth_getFilterLogs", []byte("["+id+"]"))
	wantError(t, err, nodegate.InvalidParams, "query returns more than 1 results: ")
}

func TestLogQueriesRefused(t *testing.T) {
	for _, params := range []string{`[]`, `[5]`, `["x"]`, `[{"fromBlock":5}]`, `[{"fromBlock":"0x5","toBlock":"0x1"}]`, `[{"blockHash":"0x1"}]`, `[{"topics":5}]`, `[{},{}]`, `{}`, `[{"topics":[],"topics":[]}]`} {
		_, err := fewLogs(1000, 1000).Call(t.Context(), "eth_getLogs", []byte(params))
		if e := nodegate.AsError(err); err == nil || e.Code == nodegate.Internal {
			t.Errorf("%s: %v", params, err)
		}
	}
}

// wideNode answers ranges from a block on, and knows nothing of others.
type wideNode struct {
	nodegate.Node
	asked []string
	err   error
}

func (w *wideNode) Call(ctx context.Context, name string, params []byte) ([]byte, error) {
	w.asked = append(w.asked, string(params))
	if w.err != nil {
		return nil, w.err
	}
	return w.Node.Call(ctx, name, params)
}

// TestWideLogs: a range that is too wide to ask nodes for may be answered by somebody who
// asks none. The number of results is limited all the same, and filters are not wider.
func TestWideLogs(t *testing.T) {
	const wide, narrow = `[{ "fromBlock":"0x1","toBlock":"latest"}]`, `[{"fromBlock":"0x1","toBlock":"0x4"}]`
	const tooWide = "query spans more than 4 blocks: try fromBlock 0x1, toBlock 0x4"
	w := &wideNode{Node: devnet()}
	n := New(devnet(), Config{LogBlocks: 4, LogResults: 1000, WideLogs: w})
	if got, want := ask(t, n, "eth_getLogs", wide), ask(t, fewLogs(1000, 1000), "eth_getLogs", wide); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if len(w.asked) != 1 || w.asked[0] != `[{"fromBlock":"0x1","toBlock":"latest"}]` {
		t.Errorf("asked %q", w.asked)
	}
	ask(t, n, "eth_getLogs", narrow)
	_, err := n.Call(t.Context(), "eth_newFilter", []byte(wide))
	wantError(t, err, nodegate.InvalidParams, tooWide)
	if len(w.asked) != 1 {
		t.Errorf("asked %q", w.asked)
	}
	_, err = New(devnet(), Config{LogBlocks: 4, LogResults: 2, WideLogs: w}).Call(t.Context(), "eth_getLogs", []byte(wide))
	wantError(t, err, nodegate.InvalidParams, "query returns more than 2 results: ")
	w.err = &nodegate.Error{Code: nodegate.NotFound}
	_, err = n.Call(t.Context(), "eth_getLogs", []byte(wide))
	wantError(t, err, nodegate.InvalidParams, tooWide)
	w.err = &nodegate.Error{Code: nodegate.ResponseTooLarge, Msg: "response too large"}
	_, err = n.Call(t.Context(), "eth_getLogs", []byte(wide))
	wantError(t, err, nodegate.ResponseTooLarge, "response too large")
}

// TestLogsAreBounded: the layers below are told how many logs are refused.
func TestLogsAreBounded(t *testing.T) {
	for method, most := range map[string]int{"eth_getLogs": 8, "eth_getFilterLogs": 8, "eth_getFilterChanges": 0} {
		trace := new(nodegate.Trace)
		_, _ = New(newFake(), Config{LogBlocks: 9, LogResults: 7}).Call(nodegate.WithTrace(t.Context(), trace), method, []byte(`[{}]`))
		if trace.MostLogs != most {
			t.Errorf("%s needs %d logs, want %d", method, trace.MostLogs, most)
		}
	}
}

// TestLogsWithoutHead: a range of numbers, or a hash, can be asked for while no node reports
// its head. A tag has no meaning then.
func TestLogsWithoutHead(t *testing.T) {
	node := newFake()
	node.noHead = &nodegate.Error{Code: nodegate.NoNode}
	node.answers["eth_getLogs"] = `[]`
	n := New(node, Config{LogBlocks: 100, LogResults: 10})
	for query, fine := range map[string]bool{
		`{"fromBlock":"0x1","toBlock":"0x64"}`: true, `{"blockHash":"0x` + strings.Repeat("ab", 32) + `"}`: true, `{"fromBlock":"earliest","toBlock":"0x5"}`: true,
		`{}`: false, `{"fromBlock":"0x1"}`: false, `{"fromBlock":"0x1","toBlock":"latest"}`: false, `{"fromBlock":"safe","toBlock":"0x5"}`: false,
	} {
		_, err := n.Call(t.Context(), "eth_getLogs", []byte("["+query+"]"))
		if fine && err != nil || !fine && !errors.Is(err, nodegate.NoNode) {
			t.Errorf("%s: %v", query, err)
		}
	}
	if _, err := n.Call(t.Context(), "eth_getLogs", []byte(`[{"fromBlock":"0x1","toBlock":"0x65"}]`)); !errors.Is(err, nodegate.InvalidParams) {
		t.Errorf("a range that is too wide: %v", err)
	}
}

// TestSafeIsNoNumber: the tag safe is not the block 0xfe, in ranges of logs and in history
// windows.
func TestSafeIsNoNumber(t *testing.T) {
	node := newFake()
	node.head.Number = 10_000
	node.answers["eth_getLogs"] = `[]`
	node.answers["eth_getBlockByNumber"] = `{"number":"0x2700"}`
	node.answers["eth_call"] = `"0x"`
	n := New(node, Config{LogBlocks: 100, LogResults: 10, HistoryWindow: map[string]uint64{"eth_call": 128}})
	if _, err := n.Call(t.Context(), "eth_getLogs", []byte(`[{"fromBlock":"safe","toBlock":"latest"}]`)); err != nil {
		t.Errorf("logs: %v", err)
	}
	if _, err := n.Call(t.Context(), "eth_call", []byte(`[{"to":"0x00000000000000000000000000000000000000ee"},"safe"]`)); err != nil {
		t.Errorf("a call: %v", err)
	}
}
