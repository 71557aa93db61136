package nodes_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/nodegate/nodegate/test/harness"
)

// refusal is the error, as JSON, of a query over some blocks that finds so many logs; "" if it is answered.
type refusal func(from, to uint64, found int) string

// The caps of the nodes here: the rollup's 141 blocks have 17 logs, four of them in one block.
const (
	mostBlocks = 20
	mostLogs   = 4
)

func tooWide(code int, text string) refusal {
	return func(from, to uint64, _ int) string {
		if to-from+1 <= mostBlocks {
			return ""
		}
		return fmt.Sprintf(`{"code":%d,"message":%q}`, code, text)
	}
}

// tooMany may suggest the first half of the range, where its text has an %s.
func tooMany(code int, text string) refusal {
	return func(from, to uint64, found int) string {
		if found <= mostLogs {
			return ""
		}
		if strings.Contains(text, "%s") {
			return fmt.Sprintf(`{"code":%d,"message":%q}`, code, fmt.Sprintf(text, fmt.Sprintf("[0x%x, 0x%x]", from, (from+to)/2)))
		}
		return fmt.Sprintf(`{"code":%d,"message":%q}`, code, text)
	}
}

// capWordings are how eight providers and clients refuse a query.
var capWordings = []struct {
	name   string
	refuse refusal
}{
	{"alchemy", tooMany(-32602, "Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and no limit on the response size, or you can request any block range with a cap of 10K logs in the response. Based on your parameters and the response size limit, this block range should work: %s")},
	{"infura", tooMany(-32005, "query returned more than 10000 results. Try with this block range %s.")},
	{"quicknode", tooWide(-32614, "eth_getLogs is limited to a 20 range")},
	{"ankr", tooWide(-32600, "block range is too wide")},
	{"drpc", tooWide(35, "ranges over 20 blocks are not supported on freetier")},
	{"geth", tooWide(-32602, "exceed maximum block range 20")},
	{"besu", tooWide(-32005, "Requested range exceeds maximum RPC range limit")},
	{"nethermind", tooMany(-32005, "Too many logs requested. Max logs per response is 4.")},
}

// logCall is a request of eth_getLogs.
type logCall struct {
	ID     json.RawMessage
	Method string
	Params []struct{ FromBlock, ToBlock string }
}

// cappedNode is a node that refuses some log queries.
func cappedNode(t *testing.T, to string, refuse refusal) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		res, err := http.Post(to, "application/json", bytes.NewReader(body))
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer res.Body.Close()
		answer, _ := io.ReadAll(res.Body)
		var call logCall
		if json.Unmarshal(body, &call) == nil && call.Method == "eth_getLogs" && refuse != nil {
			from, _ := strconv.ParseUint(call.Params[0].FromBlock, 0, 64)
			to, _ := strconv.ParseUint(call.Params[0].ToBlock, 0, 64)
			if refused := refuse(from, to, bytes.Count(answer, []byte(`"logIndex"`))); refused != "" {
				answer = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":%s}`, call.ID, refused)
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// logNetwork is the configuration of a network of three nodes, of which the first ones have a cap.
func logNetwork(t *testing.T, name string, nodes []*harness.Service, capped int, refuse refusal) string {
	yaml := "  - name: " + name + "\n    chain_id: 1338\n    cache: 0\n" + noLedger + "    nodes:\n"
	for i, n := range nodes {
		cap := refuse
		if i >= capped {
			cap = nil
		}
		yaml += fmt.Sprintf("      - {name: n%d, url: %q}\n", i, cappedNode(t, n.URL("rollup", key), cap))
	}
	return yaml
}

// logRanges are fifteen ranges of the rollup's blocks.
func logRanges() (list []string) {
	for _, r := range [][2]int{
		{0, 140}, {0, 19}, {0, 20}, {1, 139}, {10, 10}, {5, 132}, {100, 140}, {130, 140}, {0, 60}, {60, 120}, {2, 3}, {119, 140}, {0, 139}, {8, 136}, {7, 48},
	} {
		list = append(list, fmt.Sprintf(`[{"fromBlock":"0x%x","toBlock":"0x%x"}]`, r[0], r[1]))
	}
	return list
}

// TestCappedLogs: two of three nodes, and then all of them, limit log queries, each network's in the words of another
// provider. Every call is answered, and as a node without limits answers it.
func TestCappedLogs(t *testing.T) {
	nodes := []*harness.Service{harness.Start(t, nil), harness.Start(t, nil), harness.Start(t, nil)}
	yaml := "networks:\n"
	for _, w := range capWordings {
		yaml += logNetwork(t, w.name, nodes, 2, w.refuse) + logNetwork(t, w.name+"-all", nodes, 3, w.refuse)
	}
	f := startFront(t, yaml)
	f.ready(t)
	direct := &front{Service: nodes[0]}
	for _, suffix := range []string{"", "-all"} {
		calls, failed := 0, 0
		for _, w := range capWordings {
			for _, params := range logRanges() {
				calls++
				a, want := f.call(t, w.name+suffix, "eth_getLogs", params), direct.call(t, "rollup", "eth_getLogs", params)
				switch {
				case a.result == "":
					failed++
					t.Logf("%s %s: %s", w.name+suffix, params, a.error)
				case !sameJSON(t, a.result, want.result):
					t.Errorf("%s %s: %s, want %s", w.name+suffix, params, a.result, want.result)
				}
			}
		}
		row(t, 56, "%d of %d calls failed, %d wordings%s", failed, calls, len(capWordings), map[string]string{"": ", two of three nodes capped", "-all": ", all nodes capped"}[suffix])
		if failed > 0 {
			t.Fail()
		}
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		t.Fatalf("not JSON: %s, %s", a, b)
	}
	return reflect.DeepEqual(x, y)
}

// TestLogsCompleteOrError: when no node answers for one block, the call fails.
func TestLogsCompleteOrError(t *testing.T) {
	nodes := []*harness.Service{harness.Start(t, nil)}
	narrow := tooWide(-32614, "eth_getLogs is limited to a 20 range")
	f := startFront(t, "networks:\n"+logNetwork(t, "main", nodes, 1, func(from, to uint64, found int) string {
		if refused := narrow(from, to, found); refused != "" || from > 0x84 || to < 0x84 {
			return refused
		}
		return `{"code":-32603,"message":"Internal error"}`
	}))
	f.ready(t)
	if a := f.call(t, "main", "eth_getLogs", `[{"fromBlock":"0x0","toBlock":"0x8c"}]`); a.result != "" || a.error != "Internal error" {
		t.Errorf("%s, %s", a.result, a.error)
	}
	if a := f.call(t, "main", "eth_getLogs", `[{"fromBlock":"0x0","toBlock":"0x60"}]`); strings.Count(a.result, "logIndex") != 9 {
		t.Errorf("%s, %s", a.result, a.error)
	}
}
