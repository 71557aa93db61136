package snippet_test

import (
	"go/format"
	"os/exec"
	"strings"
	"testing"

	"github.com/nodegate/nodegate/internal/dashboard/snippet"
)

// all renders every branch of every template.
func all(t *testing.T, e snippet.Endpoint, at snippet.Store) (list []snippet.Snippet) {
	t.Helper()
	set, err := snippet.New()
	if err != nil {
		t.Fatal(err)
	}
	for _, yes := range []bool{false, true} {
		e.Secret, at.LocalCA = yes, yes
		rpc, err := set.RPC(e)
		if err != nil {
			t.Fatal(err)
		}
		storage, err := set.Storage(at)
		if err != nil {
			t.Fatal(err)
		}
		list = append(append(list, rpc...), storage...)
	}
	return list
}

// TestGoIsFormatted holds the Go texts to gofmt. test/clients runs all of them.
func TestGoIsFormatted(t *testing.T) {
	for _, s := range all(t, snippet.Endpoint{HTTP: "http://localhost/v3/k", WS: "ws://localhost/ws/v3/k"}, snippet.Store{URL: "https://localhost", Key: "k"}) {
		if s.Language != "go" {
			continue
		}
		formatted, err := format.Source([]byte(s.Text))
		if err != nil || string(formatted) != s.Text {
			t.Errorf("%s is not as gofmt writes it (%v):\n%s", s.ID, err, s.Text)
		}
	}
}

// TestShape wants every snippet to be usable from what it says about itself.
func TestShape(t *testing.T) {
	const address, key = "http://localhost:8545/devnet/v3/0123", "0123"
	for _, s := range all(t, snippet.Endpoint{HTTP: address, WS: "ws" + address[4:]}, snippet.Store{URL: "https://localhost:5001", Key: key}) {
		if !strings.Contains(s.Text, key) || strings.Contains(s.Text, "<no value>") {
			t.Errorf("%s has no key in it:\n%s", s.ID, s.Text)
		}
		if (s.File == "") != (s.Language == "sh") || (s.Run == "") != (s.File == "") || !strings.HasSuffix(s.Run, s.File) {
			t.Errorf("%s: language %q, file %q, run %q", s.ID, s.Language, s.File, s.Run)
		}
		if strings.Count(s.Text, "\n\n\n") > 0 || !strings.HasSuffix(s.Text, "\n") || strings.HasSuffix(s.Text, "\n\n") {
			t.Errorf("%s has empty lines too many:\n%s", s.ID, s.Text)
		}
	}
}

// TestHostileAddress puts into an address what would end its quotes: the shell sees
// one word all the same.
func TestHostileAddress(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("SKIPPED: there is no shell here")
	}
	const address = `http://x'";$(echo stolen)` + "`echo stolen`" + `\` + "\n#&|<>*?[a]"
	for _, s := range all(t, snippet.Endpoint{HTTP: address, WS: address}, snippet.Store{URL: address, Key: address}) {
		if s.Language != "sh" {
			continue
		}
		script := `for tool in curl wscat cast; do eval "$tool() { printf '%s\n--\n' \"\$@\"; }"; done` + "\ncd " + t.TempDir() + "\n" + s.Text
		out, err := exec.CommandContext(t.Context(), "sh", "-c", script).CombinedOutput()
		if err != nil || !strings.Contains(string(out), address) || strings.Contains(string(out), "\nstolen") {
			t.Errorf("%s: %v\n%s\nran as\n%s", s.ID, err, s.Text, out)
		}
	}
}
