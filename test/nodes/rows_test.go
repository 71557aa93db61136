package nodes_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
)

// rounds is how often a test does its work: in make chaos as often as its row says.
func rounds(short, all int) int {
	if os.Getenv("NODEGATE_CHAOS") == "" {
		return short
	}
	return all
}

// row prints a line of the table of faults.
func row(t *testing.T, number int, format string, args ...any) {
	t.Helper()
	t.Logf("row %d: "+format, append([]any{number}, args...)...)
}

// nodeErrors are errors that providers and clients answer with HTTP 200, and that have
// nothing to do with the call.
var nodeErrors = []struct {
	code int
	text string
}{
	{-32005, "daily request count exceeded, request rate limited"}, {-32000, "project ID does not have access to this network"},
	{-32001, "Unable to complete request at this time."}, {-32000, "App is inactive"}, {-32600, "Must be authenticated!"},
	{429, "Monthly capacity limit exceeded. Visit the dashboard to upgrade your scaling policy."},
	{-32007, "50/second request limit reached - reduce calls per second or upgrade your account"},
	{-32052, "API key is not allowed to access blockchain"}, {19, "Temporary internal error. Please retry"},
	{30, "Request timeout on the free tier, please upgrade your tier to the paid one"}, {-32603, "Internal error"},
	{-32005, "You've exceeded the RPS limit available on the current plan."}, {-32603, "method handler crashed"},
	{-32002, "request timed out"}, {-32000, "database closed"}, {-32011, "no backend is currently healthy to serve traffic"},
}

// erringNode answers the health check, and everything else with an error.
func erringNode(t *testing.T, to string, code int, text string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // what is cut short is answered with an error all the same
		var call struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.Unmarshal(body, &call)
		switch call.Method {
		case "eth_getBalance", "eth_call":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, call.ID, code, text)
			return
		}
		passOn(w, to, body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// passOn has another node answer.
func passOn(w http.ResponseWriter, to string, body []byte) {
	resp, err := http.Post(to, "application/json", bytes.NewReader(body))
	if err != nil {
		http.Error(w, "next", http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	_, _ = io.Copy(w, resp.Body)
}

// TestErrorsOfOneNode is row 55: one of three nodes answers errors with HTTP 200, and no
// client sees one.
func TestErrorsOfOneNode(t *testing.T) {
	node := miner(t)
	direct := node.URL("dev", key)
	yaml := "networks:\n"
	for i, e := range nodeErrors {
		yaml += network(fmt.Sprint("net", i), "", erringNode(t, direct, e.code, e.text), mirror(t, direct).URL, mirror(t, direct).URL)
	}
	f := startFront(t, yaml)
	f.ready(t)
	failed, calls := 0, rounds(10, 40)
	for i, e := range nodeErrors {
		for n := range calls {
			if a := f.call(t, fmt.Sprint("net", i), "eth_getBalance", fmt.Sprintf(`["0x%040x","latest"]`, 1000*i+n)); a.result == "" {
				failed++
				t.Errorf("%q: %+v", e.text, a)
			}
		}
	}
	row(t, 55, "%d of %d calls failed, %d texts", failed, calls*len(nodeErrors), len(nodeErrors))
}

// TestDeadSideNetwork is row 54: a balancer that asks /readyz keeps sending calls of the
// networks that work.
func TestDeadSideNetwork(t *testing.T) {
	node := miner(t)
	side := mirror(t, node.URL("dev", key))
	f := startFront(t, "networks:\n"+network("main", "", node.URL("dev", key))+network("side", "", side.URL))
	f.ready(t)
	side.Close()
	failed, away, calls := 0, 0, rounds(50, 300)
	for n := range calls {
		if status, _ := get(t, f.RPC+"/readyz"); status != http.StatusOK {
			away++
			continue
		}
		if a := f.call(t, "main", "eth_getBalance", fmt.Sprintf(`["0x%040x","latest"]`, n)); a.result == "" {
			failed++
		}
	}
	if failed+away > 0 {
		t.Errorf("%d of %d calls failed, %d found the server taken out", failed, calls, away)
	}
	row(t, 54, "side network dead: %d of %d calls of the other failed, %d times not ready", failed, calls, away)
}
