package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nodegate/nodegate/test/dbtest"
)

// freePort is an address that nobody listens on.
func freePort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// page is an answer, or status 0.
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
	postgres := dbtest.PostgresServer(t)
	postgres.Kill()
	public, admin := freePort(t), freePort(t)
	cmd := exec.Command("nodegate", "--listen", public, "--admin-listen", admin, "--storage-listen", "127.0.0.1:0", "--data", t.TempDir())
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
	defer func() {
		if t.Failed() {
			t.Logf("the server's log:\n%s", &stderr)
		}
	}()
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
	if !strings.Contains(stderr.String(), "Postgres does not answer") {
		t.Error("the log doesn't say so")
	}
	postgres.Restart()
	ready := false
	for lines := bufio.NewScanner(out); !ready && lines.Scan(); {
		ready = strings.Contains(lines.Text(), "is ready")
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	await(t, "http://"+public+"/readyz", http.StatusOK)
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil || !ready {
		t.Errorf("ready %v, %v", ready, err)
	}
}

// TestStopWhileWaiting: a signal ends the wait, and that is no failure.
func TestStopWhileWaiting(t *testing.T) {
	public, admin := freePort(t), freePort(t)
	cmd := exec.Command("nodegate", "--listen", public, "--admin-listen", admin, "--storage-listen", "127.0.0.1:0", "--data", t.TempDir())
	cmd.Env = ownEnv(fmt.Sprintf("NODEGATE_STORE_POSTGRES=postgres://u:p@%s/db", freePort(t)))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "http://"+public+"/readyz", http.StatusServiceUnavailable)
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestPostgresRefuses: a Postgres that answers and refuses is a mistake, and no reason to
// wait.
func TestPostgresRefuses(t *testing.T) {
	dsn := dbtest.Postgres(t)
	i := strings.Index(dsn, "?")
	t.Setenv("NODEGATE_STORE_POSTGRES", dsn[:strings.LastIndex(dsn[:i], "/")+1]+"nosuchdatabase"+dsn[i:])
	code, _, stderr := runHere(t.Context(), t, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--storage-listen", "127.0.0.1:0", "--data", t.TempDir())
	if code != exitMistake || !strings.Contains(stderr, "nosuchdatabase") {
		t.Errorf("%d %s", code, stderr)
	}
}
