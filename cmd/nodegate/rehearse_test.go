package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodegate/nodegate/test/dbtest"
)

// TestRehearsal rehearses the upgrade of an earlier build's data: the steps are tried on a
// copy, and every file stays as it is.
func TestRehearsal(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("tar", "-xzf", "../../test/upgrade/testdata/v1-sqlite.tar.gz", "--no-same-owner", "-C", dir).CombinedOutput(); err != nil {
		t.Fatalf("tar: %v %s", err, out)
	}
	data, temp := filepath.Join(dir, "data"), t.TempDir()
	t.Setenv("TMPDIR", temp)
	before := sqliteRows(t, data)
	code, stdout, stderr := runHere(t.Context(), t, "serve", "--dry-run", "--data", data)
	if code != 0 || !strings.Contains(stdout, "-> ") || !strings.Contains(stdout, "on a copy of") || !strings.Contains(stdout, "back up first") {
		t.Errorf("%d %s%s", code, stdout, stderr)
	}
	after := sqliteRows(t, data)
	for table, rows := range before {
		if !sameRows(rows, after[table]) {
			t.Errorf("the table %s was changed", table)
		}
	}
	if len(before) != len(after) {
		t.Errorf("there were %d tables, now %d", len(before), len(after))
	}
	if _, err := os.Stat(filepath.Join(data, "format")); err == nil {
		t.Error("the format was written")
	}
	if list, err := os.ReadDir(temp); err != nil || len(list) != 0 {
		t.Errorf("left behind: %v %v", list, err)
	}
}

// TestRehearsalRefused: a newer folder, and newer tables, are refused as by a start.
func TestRehearsalRefused(t *testing.T) {
	data := withKeys(t, 1)
	if code, stdout, stderr := runHere(t.Context(), t, "serve", "--dry-run", "--data", data); code != 0 || !strings.Contains(stdout, "records the format") {
		t.Errorf("%d %s%s", code, stdout, stderr)
	}
	edit(t, data, "INSERT INTO migrations (number, at) VALUES (99, 0)")
	if code, _, stderr := runHere(t.Context(), t, "serve", "--dry-run", "--data", data); code != exitMistake || !strings.Contains(stderr, "newer nodegate") {
		t.Errorf("newer tables: %d %s", code, stderr)
	}
	if err := os.WriteFile(filepath.Join(data, "format"), []byte("99"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"serve", "--dry-run"}, {"serve"}, {"account", "list"}, {"migrate", "--to-config", os.DevNull}} {
		if code, _, stderr := runHere(t.Context(), t, append(args, "--data", data)...); code != exitMistake {
			t.Errorf("a newer folder, %v: %d %s", args, code, stderr)
		}
	}
	t.Setenv("NODEGATE_STORE_POSTGRES", dbtest.Postgres(t))
	if code, stdout, stderr := runHere(t.Context(), t, "serve", "--dry-run", "--data", t.TempDir()); code != 0 || !strings.Contains(stdout, "tables 0 -> ") || !strings.Contains(stdout, "lock the tables") {
		t.Errorf("Postgres: %d %s%s", code, stdout, stderr)
	}
}
