package clients_test

import (
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

var update = flag.Bool("update", false, "write what the clients do into docs/compatibility.md")

const compatPage = "../../docs/compatibility.md"

// compatLock is held while the page is read and written: tests run beside each other.
var compatLock sync.Mutex

// compatRow holds a row of docs/compatibility.md to what a test has seen; with -update it
// writes the row. A table begins behind the comment <!-- table: NAME -->, and its first
// column names the row.
func compatRow(t *testing.T, table string, cells ...string) {
	t.Helper()
	compatLock.Lock()
	defer compatLock.Unlock()
	page, err := os.ReadFile(compatPage)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(page), "\n")
	at, found := findRow(lines, table, cells[0])
	want := "| " + strings.Join(cells, " | ") + " |"
	switch {
	case at < 0:
		t.Fatalf("docs/compatibility.md has no table %q", table)
	case found && lines[at] == want:
		return
	case !*update:
		t.Fatalf("docs/compatibility.md doesn't have this row in the table %q; if it is right, run the test with -update:\n%s", table, want)
	case found:
		lines[at] = want
	default:
		lines = slices.Insert(lines, at, want)
	}
	if err := os.WriteFile(compatPage, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
}

// findRow is where a row is, or where it belongs: at the end of its table.
func findRow(lines []string, table, name string) (at int, found bool) {
	start := slices.Index(lines, "<!-- table: "+table+" -->")
	if start < 0 {
		return -1, false
	}
	for at = start + 1; at < len(lines) && (lines[at] == "" || strings.HasPrefix(lines[at], "|")); at++ {
		if strings.HasPrefix(lines[at], "| "+name+" |") {
			return at, true
		}
		if lines[at] == "" && at > start+1 {
			break
		}
	}
	return at, false
}

// cell makes a text fit into a table.
func cell(text string) string {
	return "`" + strings.NewReplacer("|", "\\|", "\n", " ", "`", "'").Replace(strings.TrimSpace(text)) + "`"
}

// packageVersion is the version of a package from npm.
func packageVersion(t *testing.T, name string) string {
	t.Helper()
	version := manifestOf(t, files).Dependencies[name]
	return version[strings.LastIndexByte(version, '@')+1:] // npm:ethers@5.8.0
}

// optionalVersion is that of a package that npm has for some machines only.
func optionalVersion(t *testing.T, name string) string {
	t.Helper()
	return manifestOf(t, files).OptionalDependencies[name]
}

// manifest is what package.json says.
type manifest struct {
	Dependencies, OptionalDependencies map[string]string
}

func manifestOf(t *testing.T, files fs.FS) (m manifest) {
	t.Helper()
	data, err := fs.ReadFile(files, "package.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	return m
}
