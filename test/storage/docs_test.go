package storage_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDocs runs the curl lines of docs/storage.md as a reader would, with an account
// and a file of its own.
func TestDocs(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl")
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "storage.md"))
	if err != nil {
		t.Fatal(err)
	}
	n, dir := newTenant(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "photo.jpg"), []byte("a photo"), 0o600); err != nil {
		t.Fatal(err)
	}
	cid := n.add(t, "pin-name=Photos", file("photo.jpg", []byte("a photo")))[0]
	fill := strings.NewReplacer(
		"curl ", "curl -sS --fail --cacert "+filepath.Join(n.Dir, "ca.pem")+" ",
		"KEY:SECRET", n.key+":"+n.secret, "KEY.SECRET", n.key+"."+n.secret, "CID", cid, "https://localhost:5001", n.secure)
	lines := 0
	for line := range strings.Lines(string(page)) {
		if !strings.HasPrefix(line, "    curl ") {
			continue
		}
		lines++
		run := exec.CommandContext(t.Context(), "sh", "-c", fill.Replace(strings.TrimSpace(line)))
		run.Dir = dir
		out, err := run.CombinedOutput()
		if err != nil || !strings.Contains(line, " -o ") && !strings.Contains(string(out), "a photo") && !strings.Contains(string(out), cid) {
			t.Errorf("%s%v: %s", line, err, out)
		}
	}
	if lines < 5 {
		t.Errorf("only %d lines: the test looks in the wrong place", lines)
	}
}
