package doctor_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/nodegate/nodegate/internal/rpc/upstream/doctor"
	"github.com/nodegate/nodegate/test/full"
	"github.com/nodegate/nodegate/test/harness"
)

const key = harness.KeyA

// devnet is a network of nodes that are all well.
func devnet(nodes ...doctor.Node) doctor.Network {
	return doctor.Network{Name: "main", ChainID: 1337, MaxLag: 5, LogBlocks: 10_000, Nodes: nodes}
}

// problems are the texts of what is to be mended, with the node's name before each.
func problems(findings []doctor.Finding) (list []string) {
	for _, f := range findings {
		if f.Problem {
			list = append(list, f.Node+": "+f.Text)
		}
	}
	return list
}

func TestExamine(t *testing.T) {
	full.Slow(t)
	one := harness.Start(t, nil)
	good := doctor.Node{Name: "good", URL: one.URL("devnet", key), WS: one.WS("devnet", key)}
	t.Run("a node that is well", func(t *testing.T) {
		reports, findings := doctor.Examine(t.Context(), devnet(good))
		r := reports[0]
		if r.Err != nil || r.ChainID != 1337 || r.Head != 10 || r.Lag != 0 || r.Syncing || !r.State.All || r.Logs != 11 || !r.Batch || r.Events != nil || r.P50 <= 0 || r.Client == "" {
			t.Errorf("it reports %+v", r)
		}
		if list := problems(findings); len(list) != 0 {
			t.Errorf("found %q", list)
		}
	})
	t.Run("over a WebSocket alone", func(t *testing.T) {
		reports, findings := doctor.Examine(t.Context(), devnet(doctor.Node{Name: "ws", WS: good.WS}))
		if r := reports[0]; r.Err != nil || r.Head != 10 || r.Events != nil || len(problems(findings)) != 0 {
			t.Errorf("it reports %+v, found %q", r, problems(findings))
		}
	})
	t.Run("of another chain", func(t *testing.T) {
		n := devnet(good, doctor.Node{Name: "other", URL: one.URL("rollup", key)})
		for _, n.ChainID = range []uint64{1337, 0} {
			_, findings := doctor.Examine(t.Context(), n)
			if list := strings.Join(problems(findings), "\n"); !strings.Contains(list, "other: serves chain 1338") || strings.Contains(list, "good: serves chain") {
				t.Errorf("found %s", list)
			}
		}
	})
	t.Run("a rollup's own method", func(t *testing.T) {
		n := doctor.Network{Name: "l2", MaxLag: 5, Stack: "linea", Nodes: []doctor.Node{{Name: "l2", URL: one.URL("rollup", key)}, {Name: "l1", URL: good.URL}}}
		reports, _ := doctor.Examine(t.Context(), n)
		if got := fmt.Sprint(reports[0].Missing, reports[1].Missing); strings.Count(got, "linea_estimateGas") != 1 || strings.Contains(fmt.Sprint(reports[0].Missing), "linea") {
			t.Errorf("they lack %s", got)
		}
	})
	t.Run("a key that is wrong", func(t *testing.T) {
		_, findings := doctor.Examine(t.Context(), devnet(doctor.Node{Name: "x", URL: one.URL("devnet", "0000"), WS: one.WS("devnet", "0000")}))
		if list := problems(findings); len(list) != 2 || !strings.Contains(list[0], "can't be reached") {
			t.Errorf("found %q", list)
		}
	})
}

// TestExaminePoorNode puts a filter before a node that takes abilities away.
func TestExaminePoorNode(t *testing.T) {
	one := harness.Start(t, nil)
	poor := filtered(t, one.URL("devnet", key), func(method, params string) string {
		switch {
		case method == "eth_getProof":
			return `{"code":-32601,"message":"the method eth_getProof does not exist/is not available"}`
		case method == "eth_getBlockReceipts":
			return `{"code":-32000,"message":"Method not supported"}`
		case method == "eth_getLogs" && !strings.Contains(params, `"fromBlock":"0xa"`):
			return `{"code":-32005,"message":"query exceeds max block range"}`
		case method == "eth_getBalance" && !strings.Contains(params, `"0xa"`):
			return `{"code":-32000,"message":"missing trie node"}`
		}
		return ""
	})
	reports, findings := doctor.Examine(t.Context(), devnet(doctor.Node{Name: "poor", URL: poor}))
	r := reports[0]
	if strings.Join(r.Missing, " ") != "eth_getBlockReceipts eth_getProof debug_traceTransaction" || r.Logs != 1 || r.State.All || r.State.Blocks != 0 || r.Batch {
		t.Errorf("it reports %+v", r)
	}
	list := strings.Join(problems(findings), "\n")
	for _, want := range []string{"does not offer eth_getProof", "does not offer eth_getBlockReceipts", "has state of the newest 0 blocks only"} {
		if !strings.Contains(list, want) {
			t.Errorf("found %s, not %q", list, want)
		}
	}
	if strings.Contains(list, "debug_") {
		t.Errorf("a namespace that is off is no problem: %s", list)
	}
}

// TestExamineLogRange: a node's own number is found, where it keeps to it.
func TestExamineLogRange(t *testing.T) {
	one := harness.Start(t, nil)
	for text, want := range map[string]uint64{
		"eth_getLogs is limited to a 4 range": 4, "eth_getLogs is limited to a 7 range": 1, "block range is too wide": 1,
	} {
		capped := filtered(t, one.URL("devnet", key), func(method, params string) string {
			if method == "eth_getLogs" && !strings.Contains(params, `"fromBlock":"0x7"`) && !strings.Contains(params, `"fromBlock":"0xa"`) {
				return `{"code":-32614,"message":"` + text + `"}`
			}
			return ""
		})
		reports, findings := doctor.Examine(t.Context(), devnet(doctor.Node{Name: "capped", URL: capped}))
		note := fmt.Sprintf("answers eth_getLogs over %d blocks at most, and clients may ask for 10000: such calls are split. Set max_log_range of the node to %d", want, want)
		if reports[0].Logs != want || !strings.Contains(fmt.Sprint(findings), note) {
			t.Errorf("%s: %d blocks, found %v", text, reports[0].Logs, findings)
		}
		if _, findings = doctor.Examine(t.Context(), devnet(doctor.Node{Name: "capped", URL: capped, MaxLogRange: want})); strings.Contains(fmt.Sprint(findings), "max_log_range") {
			t.Errorf("%s: it is configured, found %v", text, findings)
		}
	}
}

// filtered is a node some of whose calls are answered with an error instead. It
// takes no batches.
func filtered(t *testing.T, to string, refuse func(method, params string) string) string {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL, r.Out.Host = target, target.Host }}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var call struct {
			ID     json.RawMessage
			Method string
			Params json.RawMessage
		}
		if json.Unmarshal(body, &call) != nil {
			http.Error(w, "no batches", http.StatusBadRequest)
			return
		}
		if refusal := refuse(call.Method, string(call.Params)); refusal != "" {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":%s}`, call.ID, refusal)
			return
		}
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(string(body))), int64(len(body))
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestExamineStranger: what is no node is told so, without its address.
func TestExamineStranger(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"a web page": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>swordfish</html>") },
		"a redirect": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/swordfish/x", http.StatusFound) },
		"an error":   func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "swordfish", http.StatusBadGateway) },
		"not a number": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":"swordfish"}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(handler)
			defer server.Close()
			reports, findings := doctor.Examine(t.Context(), devnet(doctor.Node{Name: "x", URL: server.URL + "/swordfish"}))
			list := strings.Join(problems(findings), "\n")
			if reports[0].Err == nil || !strings.Contains(list, "x: can't be reached") || !strings.Contains(list, "no node can be used") {
				t.Errorf("found %s", list)
			}
			if strings.Contains(list, "swordfish") {
				t.Errorf("it shows what is secret: %s", list)
			}
		})
	}
	reports, findings := doctor.Examine(t.Context(), devnet(doctor.Node{Name: "x", URL: "http://127.0.0.1:1/swordfish"}))
	if list := strings.Join(problems(findings), "\n"); reports[0].Err == nil || strings.Contains(list, "swordfish") {
		t.Errorf("found %s", list)
	}
}
