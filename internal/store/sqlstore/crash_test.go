package sqlstore

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/nodegate/nodegate/internal/store/storetest"
)

// These make a copy of the test binary play a part that needs a process of its own.
const (
	roleVariable = "NODEGATE_TEST_ROLE" // what the accounts are called
	fileVariable = "NODEGATE_TEST_FILE"
	savesOfRole  = 100_000 // far more than a test waits for
)

func TestMain(m *testing.M) {
	if prefix := os.Getenv(roleVariable); prefix != "" {
		roleSave(prefix, os.Getenv(fileVariable))
		return
	}
	os.Exit(m.Run())
}

// roleSave saves accounts and prints each one that is acknowledged.
func roleSave(prefix, path string) {
	s, err := OpenSQLite(context.Background(), path, []byte(storetest.AuditKey), quiet())
	for i := 0; err == nil && i < savesOfRole; i++ {
		id := fmt.Sprint(prefix, i)
		if err = saveOne(s, id); err == nil {
			fmt.Println(id)
		}
	}
	fmt.Println("error:", err)
	os.Exit(1)
}

// writer is a process that saves.
type writer struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

func startWriter(t *testing.T, prefix, path string) *writer {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), roleVariable+"="+prefix, fileVariable+"="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &writer{cmd, bufio.NewScanner(out)}
}

// killAfter reads n acknowledgements, kills the process, and returns all that it
// gave until then.
func (w *writer) killAfter(t *testing.T, n int) (ids []string) {
	t.Helper()
	for w.lines.Scan() {
		ids = append(ids, w.lines.Text())
		if len(ids) == n {
			if err := w.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = w.cmd.Wait() // it was killed
	if len(ids) < n {
		t.Fatalf("the writer ended by itself: %q", ids[max(len(ids)-1, 0):])
	}
	return ids
}

// checkWhole opens the file and checks that it has every acknowledged account, in
// sequences without a gap.
func checkWhole(t *testing.T, path string, ids []string) {
	t.Helper()
	s := openSQLite(t, path)
	for _, id := range ids {
		if _, err := s.Account(t.Context(), id); err != nil {
			t.Fatalf("%s was acknowledged: %v", id, err)
		}
	}
	changes, err := s.Changes(t.Context(), 0, 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	if len(changes) < len(ids) {
		t.Errorf("%d changes for %d accounts", len(changes), len(ids))
	}
	for i, c := range changes {
		if c.Number != int64(i+1) {
			t.Fatalf("change %d has the number %d", i+1, c.Number)
		}
	}
	if n := firstBroken(t, s); n != 0 {
		t.Errorf("the audit chain breaks at %d", n)
	}
	var verdict string
	if err := s.reader.QueryRow("PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("integrity: %s, %v", verdict, err)
	}
}

// A writer is killed in the instant of an acknowledgement, again and again on the
// same file. Nothing acknowledged is lost.
func TestKilledWhileSaving(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	var all []string
	for round := range 8 {
		all = append(all, startWriter(t, fmt.Sprintf("r%d-", round), path).killAfter(t, 1+rand.IntN(60))...)
		checkWhole(t, path, all)
	}
}

// The command line writes while the server does: both get through, and the
// sequences stay whole.
func TestTwoProcesses(t *testing.T) {
	const each = 150
	path := filepath.Join(t.TempDir(), "test.db")
	s := openSQLite(t, path)
	other := startWriter(t, "other", path)
	var all []string
	for i := range each {
		id := fmt.Sprint("own", i)
		if err := saveOne(s, id); err != nil {
			t.Fatal(err)
		}
		all = append(all, id)
	}
	all = append(all, other.killAfter(t, each)...)
	checkWhole(t, path, all)
}
