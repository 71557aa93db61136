package conformance_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// buildIOCheck builds the checker that comes beside the files, from a copy: its
// folder may be read-only. It also validates against the standard's schema.
func buildIOCheck(t *testing.T, dir string) (tool string) {
	t.Helper()
	source := filepath.Join(dir, "..", "tools", "iocheck")
	if _, err := os.Stat(filepath.Join(source, "main.go")); err != nil {
		t.Skipf("no iocheck beside the conformance files: %v", err)
	}
	folder := filepath.Join(t.TempDir(), "iocheck")
	copySource(t, source, folder)
	tool = filepath.Join(folder, "iocheck")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", tool, ".")
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("iocheck can't be built here, its dependencies may be out of reach: %v\n%s", err, out)
	}
	return tool
}

// copySource copies the files of a folder, writable.
func copySource(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Mkdir(to, 0o700); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		data, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, e.Name()), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// runIOCheck runs it and shows its last line, which counts.
func runIOCheck(t *testing.T, tool, dir, url string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, tool, "-dir", dir, "-url", url).CombinedOutput()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	last := lines[len(lines)-1]
	t.Log(last)
	if !strings.HasSuffix(last, " 0 failed") {
		t.Errorf("its last line is %q", last)
	}
}
