package clients_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nodegate/nodegate/internal/web"
)

// retryWait is what clients are asked to wait.
const retryWait = 15 * time.Second

// limiter refuses the first two requests of each path. The last element of the path is the
// Retry-After, in the form of the service or another: the service itself sends only one.
type limiter struct {
	mu    sync.Mutex
	tries map[string]int
}

func (l *limiter) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var call struct{ ID json.RawMessage }
	_ = json.NewDecoder(req.Body).Decode(&call)
	l.mu.Lock()
	l.tries[req.URL.Path]++
	n := l.tries[req.URL.Path]
	l.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if n > 2 {
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":"0xa"}`, call.ID)
		return
	}
	w.Header().Set("Retry-After", req.URL.Path[strings.LastIndexByte(req.URL.Path, '/')+1:])
	w.WriteHeader(http.StatusTooManyRequests)
	_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32005,"message":"rate limit exceeded"}}`))
}

// TestRetryAfterForms shows what clients make of "15" and of "015", which the service sends.
func TestRetryAfterForms(t *testing.T) {
	srv := httptest.NewServer(&limiter{tries: map[string]int{}})
	defer srv.Close()
	forms := []string{"15", web.RetryAfter(retryWait)}
	url := func(client, form string) string { return srv.URL + "/" + client + "/" + form }
	t.Run("libraries", func(t *testing.T) {
		for library, waits := range libraryWaits(t, forms, url) {
			compatRow(t, "retry-after", library, waits[forms[0]].String(), waits[forms[1]].String())
			if ms := waits[forms[1]].Delays; len(ms) > 0 && ms[0] < 100 {
				t.Errorf("%s tries again after %v ms", library, ms)
			}
		}
	})
	for client, seconds := range map[string]func(*testing.T, string) string{"curl": curlWait, "Python requests": requestsWait} {
		t.Run(client, func(t *testing.T) {
			got := [2]string{}
			for i, form := range forms {
				got[i] = seconds(t, url(strings.Fields(client)[0], form))
			}
			if got[1] != "15 s" {
				t.Errorf("it waits %s", got[1])
			}
			compatRow(t, "retry-after", client, got[0], got[1])
		})
	}
}

// waited is what a library did after a refusal.
type waited struct {
	End    string
	Delays []float64 // milliseconds
}

// String sums up delays: ethers has random ones of its own, in multiples of 250 ms.
func (w waited) String() string {
	if w.End != "answered" {
		return "gives up: " + w.End
	}
	for _, ms := range w.Delays {
		switch {
		case ms == 15_000:
			return "15 s"
		case ms == 15:
			return "15 ms"
		case ms == 150:
			return "its own: 150 ms, doubling"
		}
	}
	return "its own: random, doubling"
}

func libraryWaits(t *testing.T, forms []string, url func(client, form string) string) map[string]map[string]waited {
	t.Helper()
	input := map[string]map[string]string{}
	names := map[string]string{"viem": "viem", "ethers6": "ethers 6", "ethers5": "ethers 5"}
	for library := range names {
		input[library] = map[string]string{}
		for _, form := range forms {
			input[library][form] = url(library, form)
		}
	}
	waits := map[string]map[string]waited{}
	for library, byForm := range ask[map[string]map[string]waited](t, "retry.mjs", input) {
		waits[names[library]] = byForm
	}
	return waits
}

var curlRetry = regexp.MustCompile(`Will retry in (\d+)`)

// curlWait reads how long curl says that it is going to wait, and does not wait.
func curlWait(t *testing.T, url string) string {
	t.Helper()
	if _, err := exec.LookPath("curl"); err != nil {
		skip(t, "curl is not installed")
	}
	cmd := exec.CommandContext(t.Context(), "curl", "--no-progress-meter", "--retry", "1", "-d", `{"id":1}`, url)
	text, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = cmd.Process.Kill(), cmd.Wait() }()
	for lines := bufio.NewScanner(text); lines.Scan(); {
		if m := curlRetry.FindStringSubmatch(lines.Text()); m != nil {
			return m[1] + " s"
		}
	}
	return "doesn't retry"
}

// requestsProgram has urllib3, which requests uses, retry with a sleep that only prints.
const requestsProgram = `
import sys, time
try:
    import requests
    from urllib3.util.retry import Retry
except ImportError:
    print("missing"); sys.exit()
time.sleep = lambda s: print("%g s" % s)
s = requests.Session()
s.mount("http://", requests.adapters.HTTPAdapter(max_retries=Retry(total=3, status_forcelist=[429], allowed_methods=None)))
s.post(sys.argv[1], json={"id": 1}).raise_for_status()
`

func requestsWait(t *testing.T, url string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "python3", "-c", requestsProgram, url)
	out, err := cmd.Output()
	if err != nil || strings.HasPrefix(string(out), "missing") {
		skip(t, "Python's requests is not installed")
	}
	first, _, _ := strings.Cut(string(out), "\n")
	return first
}
