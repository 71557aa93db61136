package main

import (
	"bufio"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nodegate/nodegate/test/dbtest"
	"github.com/nodegate/nodegate/test/full"
)

// waiting is where a server listens that waits for Postgres, as its log says.
func waiting(t *testing.T, log *safeBuffer) (public, admin string) {
	t.Helper()
	line := regexp.MustCompile(`Postgres does not answer.* listen=(\S+) admin=(\S+)`)
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if found := line.FindStringSubmatch(log.String()); found != nil {
			return found[1], found[2]
		}
		if time.Now().After(deadline) {
			t.Fatalf("the log doesn't say that the server waits:\n%s", log)
		}
	}
}

// pageAt is an answer, or status 0.
func pageAt(url string) (status int, text string) {
	res, err := http.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(body)
}

// await asks for a page until it has the status.
func await(t *testing.T, url string, want int) (text string) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		status, text := pageAt(url)
		if status == want {
			return text
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %d %s", url, status, text)
		}
	}
}

// TestStartBeforePostgres: a server that is started while its Postgres is away waits, says
// so and serves nothing; it comes up when Postgres does.
func TestStartBeforePostgres(t *testing.T) {
	full.Slow(t)
	postgres := dbtest.PostgresServer(t)
	postgres.Kill()
	cmd := exec.Command("nodegate", append(slices.Clone(anywhere), t.TempDir())...)
	cmd.Env = ownEnv("NODEGATE_STORE_POSTGRES="+postgres.DSN, "NODEGATE_PEPPER="+strings.Repeat("0a", 32))
	var stderr safeBuffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // where the test fails before it ends
	defer func() {
		if t.Failed() {
			t.Logf("the server's log:\n%s", &stderr)
		}
	}()
	public, admin := waiting(t, &stderr)
	for _, url := range []string{"http://" + public + "/readyz", "http://" + admin + "/readyz"} {
		if text := await(t, url, http.StatusServiceUnavailable); !strings.Contains(text, "waiting for Postgres") {
			t.Errorf("%s: %s", url, text)
		}
	}
	if status, text := pageAt("http://" + admin + "/healthz"); status != http.StatusOK {
		t.Errorf("healthz: %d %s", status, text)
	}
	if status, text := pageAt("http://" + public + "/"); status != http.StatusServiceUnavailable {
		t.Errorf("a page: %d %s", status, text)
	}
	postgres.Restart()
	rpc := ""
	for lines := bufio.NewScanner(out); lines.Scan(); { // until the server ends
		if words := strings.Fields(lines.Text()); len(words) == 2 && words[0] == "JSON-RPC" {
			rpc = words[1]
			await(t, rpc+"/readyz", http.StatusOK)
			_ = cmd.Process.Signal(syscall.SIGTERM)
		}
	}
	if err := cmd.Wait(); err != nil || rpc == "" {
		t.Errorf("JSON-RPC at %q, %v", rpc, err)
	}
}

// TestStopWhileWaiting: a signal ends the wait, and that is no failure.
func TestStopWhileWaiting(t *testing.T) {
	cmd := exec.Command("nodegate", append(slices.Clone(anywhere), t.TempDir())...)
	cmd.Env = ownEnv("NODEGATE_STORE_POSTGRES=postgres://u:p@127.0.0.1:1/db")
	var stderr safeBuffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // where the test fails before it ends
	waiting(t, &stderr)
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestPostgresRefuses: a Postgres that answers and refuses is a mistake, and no reason to
// wait.
func TestPostgresRefuses(t *testing.T) {
	full.Slow(t)
	dsn := dbtest.Postgres(t)
	i := strings.Index(dsn, "?")
	t.Setenv("NODEGATE_STORE_POSTGRES", dsn[:strings.LastIndex(dsn[:i], "/")+1]+"nosuchdatabase"+dsn[i:])
	code, _, stderr := runHere(t.Context(), t, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--storage-listen", "127.0.0.1:0", "--data", t.TempDir())
	if code != exitMistake || !strings.Contains(stderr, "nosuchdatabase") {
		t.Errorf("%d %s", code, stderr)
	}
}
