package snippet_test

import (
	"encoding/json"
	"go/format"
	"os/exec"
	"slices"
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
	e.Network, e.ChainID = "devnet", 1337
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
		pasted := s.Language == "sh" || s.ID == "metamask"
		if pasted != (s.File == "") || (s.Run == "") != (s.File == "") {
			t.Errorf("%s: language %q, file %q, run %q", s.ID, s.Language, s.File, s.Run)
		}
		if strings.Count(s.Text, "\n\n\n") > 0 || !strings.HasSuffix(s.Text, "\n") || strings.HasSuffix(s.Text, "\n\n") {
			t.Errorf("%s has empty lines too many:\n%s", s.ID, s.Text)
		}
	}
}

// TestSyntax holds texts to their languages' own tools, where these are installed. Those of
// Python and Rust are not run everywhere.
func TestSyntax(t *testing.T) {
	checks := map[string][]string{
		"py": {"python3", "-c", "import ast, sys; ast.parse(sys.stdin.read())"},
		"rs": {"rustfmt", "--check", "--edition", "2021"},
	}
	for _, s := range all(t, snippet.Endpoint{HTTP: "http://localhost/v3/k", WS: "ws://localhost/ws/v3/k"}, snippet.Store{URL: "https://localhost", Key: "k"}) {
		check := checks[s.Language]
		if check == nil {
			continue
		}
		if _, err := exec.LookPath(check[0]); err != nil {
			t.Logf("%s is not checked: %v", s.ID, err)
			continue
		}
		cmd := exec.CommandContext(t.Context(), check[0], check[1:]...)
		cmd.Stdin = strings.NewReader(s.Text)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s\nof\n%s", s.ID, err, out, s.Text)
		}
	}
}

// TestBrowsers: what runs in browsers is not shown for a key that requires its secret, nor
// for a chain whose ID is not known.
func TestBrowsers(t *testing.T) {
	set, err := snippet.New()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		e     snippet.Endpoint
		shown bool
	}{{snippet.Endpoint{ChainID: 1}, true}, {snippet.Endpoint{}, false}, {snippet.Endpoint{ChainID: 1, Secret: true}, false}} {
		list, err := set.RPC(c.e)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"wagmi", "metamask"} {
			if slices.ContainsFunc(list, func(s snippet.Snippet) bool { return s.ID == id }) != c.shown {
				t.Errorf("%+v: %s is shown: %v", c.e, id, !c.shown)
			}
		}
	}
}

// TestChain compares what a wallet gets, byte for byte.
func TestChain(t *testing.T) {
	for _, c := range []struct {
		e    snippet.Endpoint
		want string
	}{
		{snippet.Endpoint{Network: "devnet", HTTP: "http://localhost:8545/devnet/v3/k", ChainID: 1337},
			`{"chainId":"0x539","chainName":"nodegate devnet","rpcUrls":["http://localhost:8545/devnet/v3/k"],"nativeCurrency":{"name":"Ether","symbol":"ETH","decimals":18}}`},
		{snippet.Endpoint{Network: "polygon", HTTP: "https://x/polygon/v3/k", ChainID: 137, Currency: "POL", Explorer: "https://polygonscan.com"},
			`{"chainId":"0x89","chainName":"nodegate polygon","rpcUrls":["https://x/polygon/v3/k"],"nativeCurrency":{"name":"POL","symbol":"POL","decimals":18},"blockExplorerUrls":["https://polygonscan.com"]}`},
	} {
		if got, err := json.Marshal(c.e.Chain()); err != nil || string(got) != c.want {
			t.Errorf("%s (%v), want %s", got, err, c.want)
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
