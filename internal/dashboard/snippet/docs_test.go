package snippet_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/nodegate/nodegate/internal/dashboard/snippet"
)

var update = flag.Bool("update", false, "write the snippets into docs/tools.md")

const (
	docsPage  = "../../../docs/tools.md"
	docsStart = "<!-- snippets, by go test ./internal/dashboard/snippet -run TestDocsPage -update -->\n"
)

// TestDocsPage holds the programs of docs/tools.md to those that the dashboard shows. Shell
// commands are in the README.
func TestDocsPage(t *testing.T) {
	page, err := os.ReadFile(docsPage)
	if err != nil {
		t.Fatal(err)
	}
	head, got, found := strings.Cut(string(page), docsStart)
	if !found {
		t.Fatalf("%s has no line %s", docsPage, docsStart)
	}
	want := sections(t)
	if got == want {
		return
	}
	if !*update {
		t.Fatalf("%s is not what the dashboard shows: run the test with -update", docsPage)
	}
	if err := os.WriteFile(docsPage, []byte(head+docsStart+want), 0o600); err != nil {
		t.Fatal(err)
	}
}

func sections(t *testing.T) string {
	t.Helper()
	set, err := snippet.New()
	if err != nil {
		t.Fatal(err)
	}
	list, err := set.RPC(snippet.Endpoint{Network: "devnet", HTTP: "http://localhost:8545/devnet/v3/KEY", WS: "ws://localhost:8545/devnet/ws/v3/KEY", ChainID: 1337})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, s := range list {
		if s.Language == "sh" {
			continue
		}
		words := s.Note
		if s.File != "" {
			words = strings.TrimSpace(fmt.Sprintf("Install it with `%s`, save this as `%s` and run `%s`. %s", s.Needs, s.File, s.Run, s.Note))
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n```%s\n%s```\n", s.Name, words, s.Language, s.Text)
	}
	return b.String()
}
