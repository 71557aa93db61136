package house

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Tests that test/differ.awk doesn't list run only with -short, in make test: none may be
// missing that does less there.
func TestDiffer(t *testing.T) {
	script, err := filepath.Abs("../differ.awk")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a/a_test.go": "func TestAsks(t *testing.T) {\n\tif testing.Short() {\n\t}\n}\n\n// TestSame has testing.Short() in its comment only.\nfunc TestSame(t *testing.T) {\n\tonce()\n}\n",
		"a/b_test.go": "func TestCalls(t *testing.T) {\n\tt.Run(\"\", func(t *testing.T) { fewer(3) })\n}\n\nfunc TestFewerOfThem(t *testing.T) {\n\tnotfewer(3)\n}\n",
		"a/c_test.go": "func fewer(n int) int {\n\tif testing.Short() {\n\t\treturn 1\n\t}\n\treturn n\n}\n\nfunc BenchmarkAll(b *testing.B) {\n\tfewer(4)\n}\n",
		"b/a_test.go": "func TestFar(t *testing.T) {\n\thelp()\n}\n\nfunc help() {\n\tmore()\n}\n",
		"b/b_test.go": "func more() int {\n\tif underRace {\n\t\treturn 1\n\t}\n\treturn 2\n}\n",
		"c/a_test.go": "//go:build !race\n\npackage c\n\nfunc TestPlain(t *testing.T) {\n}\n",
		"d/a_test.go": "//go:build race\n\npackage d\n\nconst raced = true\n",
		"d/b_test.go": "func (d *desk) count() int {\n\treturn 1\n}\n\nfunc TestAllocations(t *testing.T) {\n\tif raced {\n\t}\n}\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range files {
		files[i], _ = filepath.Rel(dir, files[i])
	}
	cmd := exec.Command("awk", append([]string{"-f", script}, slices.Concat(files, files)...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if want := "a TestAsks\na TestCalls\nb .\nc TestPlain\nc TestPlain\nd TestAllocations\n"; err != nil || sorted(string(out)) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, out, want)
	}
}

// sorted puts lines in order.
func sorted(text string) string {
	lines := strings.SplitAfter(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "")
}
