package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/server"
	"github.com/nodegate/nodegate/test/dbtest"
	"github.com/nodegate/nodegate/test/full"
	"github.com/nodegate/nodegate/test/harness"
)

// backupOf runs nodegate backup beside a server, or without one where admin is "".
func backupOf(t *testing.T, data, admin, to string, args ...string) server.BackupReport {
	t.Helper()
	line := append([]string{"backup", to, "--data", data, "--json"}, args...)
	if admin != "" {
		line = append(line, "--admin-listen", strings.TrimPrefix(admin, "http://"))
	}
	code, stdout, stderr := runHere(t.Context(), t, line...)
	if code != 0 {
		t.Fatalf("%v: exit code %d: %s", line, code, stderr)
	}
	var r server.BackupReport
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// verified runs nodegate backup --verify.
func verified(t *testing.T, path string, args ...string) (code int, stderr string) {
	t.Helper()
	code, _, stderr = runHere(t.Context(), t, append([]string{"backup", "--verify", path}, args...)...)
	return code, stderr
}

// restored restores a backup into a new folder.
func restored(t *testing.T, from string, args ...string) (data string) {
	t.Helper()
	data = filepath.Join(t.TempDir(), "restored")
	line := append([]string{"restore", from, "--data", data}, args...)
	if code, _, stderr := runHere(t.Context(), t, line...); code != 0 {
		t.Fatalf("%v: exit code %d: %s", line, code, stderr)
	}
	err := filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 && !strings.Contains(path, "chaindata") { // Pebble's own, in a folder that nobody else enters
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// onRestored starts a server on a restored folder and compares.
func (l *load) onRestored(t *testing.T, data string, want acked, change func(*config.Config)) {
	t.Helper()
	s, err := harness.Launch(data, change)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing the restored server: %v", err)
		}
		if t.Failed() {
			t.Logf("the log of the restored server:\n%s", s.Logs)
		}
	}()
	l.check(t, s, want)
}

// TestBackupUnderLoad backs up beside a server on which everything changes, and compares
// the restored folder with what was acknowledged before the backup began. A second backup
// writes less.
func TestBackupUnderLoad(t *testing.T) {
	full.Slow(t)
	s := harness.Start(t, nil)
	l := startLoad(t, s)
	l.atLeast(t, 5)
	to := filepath.Join(t.TempDir(), "backup")

	first := l.acknowledged()
	r := backupOf(t, s.Dir, s.Admin, to)
	if !r.Running || r.New == 0 {
		t.Errorf("%+v", r)
	}
	l.atLeast(t, 10)
	second := l.acknowledged()
	again := backupOf(t, s.Dir, s.Admin, to)
	l.stop(t)
	if again.New >= again.Bytes {
		t.Errorf("the second backup wrote %d of %d bytes", again.New, again.Bytes)
	}
	if code, stderr := verified(t, to); code != 0 {
		t.Fatal(stderr)
	}
	l.onRestored(t, restored(t, to, "--snapshot", r.Snapshot), first, nil)
	l.onRestored(t, restored(t, to), second, nil)
}

// TestEveryFileIsKnown: a new file in the data folder is either in storedFiles of package
// server, or it is left out on purpose, and docs/backup.md says so.
func TestEveryFileIsKnown(t *testing.T) {
	full.Slow(t)
	s := harness.Start(t, nil)
	l := startLoad(t, s)
	l.atLeast(t, 1)
	l.stop(t)
	list, err := os.ReadDir(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	known := []string{
		"pepper", "format", "ca.pem", "ca-key.pem", "networks.id", "node-credits.json", "networks", "storage", "nodegate.db", "nodegate.db-wal", "nodegate.db-shm", // copied
		"lock", "uploads", "ledger", // not copied
	}
	for _, e := range list {
		if !slices.Contains(known, e.Name()) {
			t.Errorf("does a backup need %s?", e.Name())
		}
	}
}

// TestEncryptedBackup makes a file of a stopped server's folder.
func TestEncryptedBackup(t *testing.T) {
	full.Slow(t)
	dir := t.TempDir()
	s, err := harness.Launch(filepath.Join(dir, "data"), nil)
	if err != nil {
		t.Fatal(err)
	}
	l := startLoad(t, s)
	l.atLeast(t, 3)
	l.stop(t)
	want := l.acknowledged()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	passphrase, to := filepath.Join(dir, "passphrase"), filepath.Join(dir, "nodegate.tar")
	if err := os.WriteFile(passphrase, []byte("correct horse\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := backupOf(t, s.Dir, "", to, "--passphrase-file", passphrase); r.Running {
		t.Errorf("%+v", r)
	}
	info, err := os.Stat(to)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if code, stderr := verified(t, to); code != 2 || !strings.Contains(stderr, "encrypted") {
		t.Errorf("without the passphrase: %d %s", code, stderr)
	}
	t.Setenv(passphraseVariable, "correct horse")
	if code, stderr := verified(t, to); code != 0 {
		t.Error(stderr)
	}
	l.onRestored(t, restored(t, to), want, nil)
}

// TestRestoreRefuses names what is wrong and changes nothing.
func TestRestoreRefuses(t *testing.T) {
	full.Slow(t)
	s := harness.Start(t, nil)
	dir := t.TempDir()
	to := filepath.Join(dir, "backup")
	backupOf(t, s.Dir, s.Admin, to)

	used := filepath.Join(dir, "used")
	if err := errors.Join(os.Mkdir(used, 0o700), os.WriteFile(filepath.Join(used, "mine"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := runHere(t.Context(), t, "restore", to, "--data", used); code != 1 || !strings.Contains(stderr, "not empty") {
		t.Errorf("a used folder: %d %s", code, stderr)
	}
	if list, err := os.ReadDir(used); err != nil || len(list) != 1 {
		t.Errorf("the used folder was changed: %v, %v", list, err)
	}
	if code, _, stderr := runHere(t.Context(), t, "backup", to, "--data", filepath.Join(dir, "none")); code != 2 || !strings.Contains(stderr, "no nodegate data") {
		t.Errorf("no data: %d %s", code, stderr)
	}
	if code, _, stderr := runHere(t.Context(), t, "backup", to, "--data", s.Dir, "--admin-listen", "127.0.0.1:1"); code != 2 || !strings.Contains(stderr, "admin listener") {
		t.Errorf("a server that can't be reached: %d %s", code, stderr)
	}
	other := harness.Start(t, nil)
	if code, _, stderr := runHere(t.Context(), t, "backup", to, "--data", s.Dir, "--admin-listen", strings.TrimPrefix(other.Admin, "http://")); code != 2 || !strings.Contains(stderr, "uses the data folder") {
		t.Errorf("another server: %d %s", code, stderr)
	}

	// A restore that was interrupted leaves a folder that no server takes.
	half := restored(t, to)
	if err := os.WriteFile(filepath.Join(half, "restoring"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := harness.Launch(half, nil); err == nil || !strings.Contains(err.Error(), "restore") {
		t.Errorf("a folder that was restored in part: %v", err)
	}
	damage(t, to)
	if code, stderr := verified(t, to); code != 1 || !strings.Contains(stderr, "damaged") {
		t.Errorf("a flipped byte: %d %s", code, stderr)
	}
	if code, _, stderr := runHere(t.Context(), t, "restore", to, "--data", filepath.Join(dir, "new")); code != 1 || !strings.Contains(stderr, "damaged") {
		t.Errorf("restoring a flipped byte: %d %s", code, stderr)
	}
}

// damage flips a byte of every chunk.
func damage(t *testing.T, backup string) {
	t.Helper()
	chunks, err := filepath.Glob(filepath.Join(backup, "chunks", "*", "*"))
	if err != nil || len(chunks) == 0 {
		t.Fatal(chunks, err)
	}
	for _, path := range chunks {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		data[len(data)-1] ^= 1
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestKilledBackup kills the program in the middle. There is no backup then, or the one
// before; the next one is whole, and the server lets go of what it held.
func TestKilledBackup(t *testing.T) {
	full.Slow(t)
	s := harness.Start(t, nil)
	l := startLoad(t, s)
	l.atLeast(t, 3)
	l.stop(t)
	want := l.acknowledged()
	to := killedBackup(t, s)
	if code, stderr := verified(t, to); code == 0 || !strings.Contains(stderr, "no complete backup") && !strings.Contains(stderr, "not a backup") {
		t.Errorf("a part of a backup: %d %s", code, stderr)
	}
	if code, _, stderr := runHere(t.Context(), t, "restore", to, "--data", filepath.Join(t.TempDir(), "r")); code == 0 {
		t.Errorf("a part of a backup can be restored: %s", stderr)
	}
	var stderr string
	for deadline := time.Now().Add(soon); ; time.Sleep(10 * time.Millisecond) { // until the server has noticed
		var code int
		if code, _, stderr = runHere(t.Context(), t, "backup", to, "--data", s.Dir, "--admin-listen", strings.TrimPrefix(s.Admin, "http://")); code == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(stderr)
		}
	}
	l.onRestored(t, restored(t, to), want, nil)
}

// killedBackup kills a backup after its first chunk and before its end.
func killedBackup(t *testing.T, s *harness.Service) (to string) {
	t.Helper()
	for range 20 { // it may have ended before we look
		to = filepath.Join(t.TempDir(), "backup")
		cmd := exec.Command("nodegate", "backup", to, "--data", s.Dir, "--admin-listen", strings.TrimPrefix(s.Admin, "http://"))
		cmd.Env = ownEnv()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() { defer close(ended); _ = cmd.Wait() }()
		for waiting := true; waiting; {
			chunks, _ := filepath.Glob(filepath.Join(to, "chunks", "*", "[0-9a-f]*"))
			select {
			case <-ended:
				waiting = false
			default:
				waiting = len(chunks) == 0
			}
		}
		_ = cmd.Process.Kill()
		<-ended
		if whole, _ := filepath.Glob(filepath.Join(to, "snapshots", "[0-9]*")); len(whole) == 0 {
			return to
		}
	}
	t.Fatal("every backup had ended before it was killed")
	return ""
}

// TestPostgresBackup: the accounts are elsewhere, and the command says how to get them.
func TestPostgresBackup(t *testing.T) {
	full.Slow(t)
	dsn := dbtest.Postgres(t)
	postgres := func(c *config.Config) { c.Store.Postgres = config.Secret(dsn) }
	s, err := harness.Launch(filepath.Join(t.TempDir(), "data"), postgres)
	if err != nil {
		t.Fatal(err)
	}
	l := startLoad(t, s)
	l.atLeast(t, 3)
	want := l.acknowledged()
	t.Setenv("NODEGATE_STORE_POSTGRES", dsn)
	to := filepath.Join(t.TempDir(), "backup")
	r := backupOf(t, s.Dir, s.Admin, to)
	l.stop(t)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(r.Elsewhere, func(line string) bool { return strings.Contains(line, "pg_dump") }) {
		t.Errorf("nothing about pg_dump: %q", r.Elsewhere)
	}
	data := filepath.Join(t.TempDir(), "restored")
	if code, stdout, stderr := runHere(t.Context(), t, "restore", to, "--data", data); code != 0 || !strings.Contains(stdout, "pg_restore") {
		t.Fatalf("%d %s %s", code, stdout, stderr)
	}
	l.onRestored(t, data, want, postgres) // the database is as it was left
}
