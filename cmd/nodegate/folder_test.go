package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDeletedPepper: where the pepper is gone, every command refuses, and none puts a
// new one where the old one has to be restored.
func TestDeletedPepper(t *testing.T) {
	data := withKeys(t, 1)
	path := filepath.Join(data, "pepper")
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"account", "list"}, append(anywhere[:len(anywhere)-1:len(anywhere)-1], "serve")} {
		code, stdout, stderr := runHere(t.Context(), t, append(args, "--data", data)...)
		if code != exitMistake || stdout != "" || !strings.Contains(stderr, path+" is missing") {
			t.Errorf("%v: exit code %d, %s%s", args, code, stdout, stderr)
		}
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Fatalf("%v left a pepper: %v", args, err)
		}
	}
	if err := os.WriteFile(path, old, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := runHere(t.Context(), t, "account", "list", "--data", data); code != 0 || !strings.Contains(stdout, "a@example.com") {
		t.Errorf("with the pepper restored: %d %s%s", code, stdout, stderr)
	}
}
