package main

import (
	"bufio"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/nodegate/nodegate/test/dbtest"
	"github.com/nodegate/nodegate/test/full"
)

// TestSecondBlockStore starts two servers on one Postgres, each with a block store
// of its own: the second one is refused, until it adopts the storage.
func TestSecondBlockStore(t *testing.T) {
	full.Slow(t)
	env := []string{"NODEGATE_STORE_POSTGRES=" + dbtest.Postgres(t), "NODEGATE_PEPPER=0123456789abcdef0123456789abcdef"}
	startProcess(t, env...)
	other := t.TempDir()
	in := func(more []string, args ...string) (int, string) {
		t.Helper()
		cmd := exec.Command("nodegate", args...)
		cmd.Env = ownEnv(slices.Concat(env, more)...)
		text, err := cmd.CombinedOutput()
		if err != nil && cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return cmd.ProcessState.ExitCode(), string(text)
	}
	code, text := in(nil, append(slices.Clone(anywhere), other)...)
	if code != exitMistake || !strings.Contains(text, "nodegate adopt") || !strings.Contains(text, "storage.engine") {
		t.Errorf("the second server: %d %s", code, text)
	}
	if code, text := in([]string{"NODEGATE_STORAGE_ENGINE=off"}, "adopt", "--data", other); code != 0 {
		t.Errorf("adopt without a block store: %d %s", code, text)
	}
	if code, text := in(nil, append(slices.Clone(anywhere), other)...); code != exitMistake || !strings.Contains(text, "storage.engine") {
		t.Errorf("after that it has the networks and not the content: %d %s", code, text)
	}
	if code, text := in(nil, "adopt", "--data", other); code != 0 || !strings.Contains(text, "Start the server") {
		t.Fatalf("adopt: %d %s", code, text)
	}
	if code, text := in(nil, append(slices.Clone(anywhere), t.TempDir())...); code != exitMistake {
		t.Errorf("a third server: %d %s", code, text)
	}
	runsAt(t, other, env)
	if code, text := in([]string{"NODEGATE_STORAGE_ENGINE=off"}, "gc", "--admin-listen", "127.0.0.1:1", "--data", other); code != exitMistake || !strings.Contains(text, "storage.engine is off") {
		t.Errorf("gc without storage: %d %s", code, text)
	}
}

// runsAt starts a server in a folder and ends it when it is ready.
func runsAt(t *testing.T, data string, env []string) {
	t.Helper()
	cmd := exec.Command("nodegate", append(slices.Clone(anywhere), data)...)
	cmd.Env = ownEnv(env...)
	var stderr safeBuffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.Contains(lines.Text(), "is ready") {
			ready = true
			_ = cmd.Process.Signal(syscall.SIGTERM)
		}
	}
	if err := cmd.Wait(); err != nil || !ready {
		t.Errorf("after adopt: %v\n%s", err, &stderr)
	}
}

// TestAdoptOnSQLite has nothing to do.
func TestAdoptOnSQLite(t *testing.T) {
	code, _, text := runProcess(t, withKeys(t, 0), "", "adopt")
	if code != exitMistake || !strings.Contains(text, "nothing to adopt") {
		t.Errorf("%d %s", code, text)
	}
}
