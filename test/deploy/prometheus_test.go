package deploy

import (
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nodegate/nodegate/test/harness"
)

// TestPrometheusRuns scrapes a real server with the configuration of deploy/, and asks every
// query of the dashboard.
func TestPrometheusRuns(t *testing.T) {
	program := tool(t, "prometheus", "prometheus")
	srv := harness.Start(t, nil)
	post(srv.URL("devnet", harness.KeyA))
	base := runPrometheus(t, program, srv)
	awaitValue(t, base, `sum(nodegate_rpc_requests_total{job="nodegate", outcome="ok"}) > 0`)
	for _, q := range dashboardQueries(t) {
		if _, err := ask(base, q.expr); err != "" {
			t.Errorf("%s: %s: %s", q.panel, q.expr, err)
		}
	}
	awaitValue(t, base, `count(ALERTS) or vector(0)`)
	if rows, _ := ask(base, `ALERTS{alertstate="firing", severity="critical"}`); rows != 0 {
		t.Errorf("%d critical alerts of a server that is well", rows)
	}
}

// runPrometheus starts Prometheus and waits until it answers.
func runPrometheus(t *testing.T, program string, srv *harness.Service) (base string) {
	t.Helper()
	alerts, err := filepath.Abs(filepath.Join(folder, "prometheus", "alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(read(t, "compose/prometheus.yml"), "/etc/prometheus/alerts.yaml", alerts, 1)
	text = regexp.MustCompile(`targets: .*`).ReplaceAllString(text, `targets: ["`+strings.TrimPrefix(srv.Admin, "http://")+`"]`)
	text = strings.Replace(text, "scrape_interval: 10s", "scrape_interval: 1s\n  evaluation_interval: 1s", 1)
	address := freeAddress(t)
	cmd := exec.Command(program, "--config.file="+write(t, "prometheus.yml", text), "--storage.tsdb.path="+t.TempDir(), "--web.listen-address="+address)
	var out harness.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("Prometheus says:\n%s", &out)
		}
	})
	return "http://" + address
}

// freeAddress is one that nothing listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// ask is one query: how many rows it has, and Prometheus' error.
func ask(base, expr string) (rows int, problem string) {
	res, err := http.Get(base + "/api/v1/query?query=" + url.QueryEscape(expr))
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	var answer struct {
		Error string `json:"error"`
		Data  struct {
			Result []json.RawMessage `json:"result"`
		} `json:"data"`
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return 0, err.Error()
	}
	return len(answer.Data.Result), answer.Error
}

// awaitValue waits until a query has a row.
func awaitValue(t *testing.T, base, expr string) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		rows, problem := ask(base, expr)
		if rows > 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s has no value: %s", expr, problem)
		}
	}
}
