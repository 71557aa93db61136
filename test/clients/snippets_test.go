package clients_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/dashboard/snippet"
	"github.com/nodegate/nodegate/internal/server"
	"github.com/nodegate/nodegate/test/harness"
)

// helloCID is what the storage snippets add: the line "hello".
const helloCID = "QmZULkCELmmk5XNfCgTnCyFgAVxBRBXyDHGGMVoLFLiXEN"

// TestSnippets runs what the dashboard shows, as it shows it: on one network with a key
// alone, on the other with a key that requires its secret.
func TestSnippets(t *testing.T) {
	s := startService(t)
	set := snippets(t)
	locked := addStorageKey(t, s.Service, "locked", "unlimited", func(name, plan, key, secret string, _ nodegate.KeySettings) error {
		return s.AddKey(name, plan, key, secret, nodegate.KeySettings{SecretRequired: true})
	})
	for _, c := range []struct {
		network, key, secret string
		want                 *regexp.Regexp // block 10, block 140
	}{
		{"devnet", key, "", regexp.MustCompile(`^(10n?|.*"0xa".*)$`)},
		{"rollup", locked.Key, locked.Secret, regexp.MustCompile(`^(140n?|.*"0x8c".*)$`)},
	} {
		list, err := set.RPC(snippet.Endpoint{
			Network: c.network, HTTP: s.http(c.network, c.key), WS: s.ws(c.network, c.key), Secret: c.secret != "", ChainID: s.facts[c.network].ChainID,
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range list {
			if one.ID == "metamask" || !canRun(t, one) { // test/browser runs that of MetaMask
				continue
			}
			t.Run(c.network+" "+one.ID, func(t *testing.T) {
				out := runSnippet(t, one, nil, "SECRET="+c.secret)
				if !c.want.MatchString(lastLine(out)) {
					t.Errorf("it says\n%s\nwant %s in the last line", out, c.want)
				}
			})
		}
	}
}

// TestStorageSnippets runs those of the storage gateway: with the local authority as
// they say it is trusted, and without a word about it on a machine that trusts it.
func TestStorageSnippets(t *testing.T) {
	s := harness.Start(t, func(c *config.Config) { c.Storage.Reserve = 0 })
	k := addStorageKey(t, s, "files", "unlimited", s.AddStorageKey)
	cfg := harness.Config(s.Dir)
	ca, err := server.OpenAuthority(cfg, nil) // as `nodegate ca` does
	if err != nil {
		t.Fatal(err)
	}
	trusting := filepath.Join(t.TempDir(), "system.pem")
	if err := os.WriteFile(trusting, ca.PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, local := range map[string]bool{"local authority": true, "trusted": false} {
		list, err := snippets(t).Storage(snippet.Store{URL: s.Server.Addresses().Storage, Key: k.Key, LocalCA: local})
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range list {
			t.Run(name+" "+one.ID, func(t *testing.T) {
				env, pem := []string{"SECRET=" + k.Secret}, ca.PEM()
				if !local {
					env, pem = append(env, "SSL_CERT_FILE="+trusting, "CURL_CA_BUNDLE="+trusting, "NODE_EXTRA_CA_CERTS="+trusting), nil
				}
				if out := runSnippet(t, one, pem, env...); !strings.Contains(out, helloCID) {
					t.Errorf("it says\n%s\nwant %s", out, helloCID)
				}
			})
		}
	}
}

func snippets(t *testing.T) *snippet.Set {
	t.Helper()
	set, err := snippet.New()
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// runSnippet saves a snippet to a file and runs it as it says, with the certificate
// beside it where there is one.
func runSnippet(t *testing.T, s snippet.Snippet, pem []byte, env ...string) string {
	t.Helper()
	dir, path := snippetFolder(t, s)
	file, run := s.File, s.Run
	if file == "" {
		file, run = "pasted.sh", "sh pasted.sh"
	}
	file = filepath.Join(dir, file)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(s.Text), 0o600)); err != nil {
		t.Fatal(err)
	}
	if pem != nil {
		if err := os.WriteFile(filepath.Join(dir, "ca.pem"), pem, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), scriptTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", run)
	var out, noise bytes.Buffer
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, silence(t), &out, &noise
	cmd.Env = append(append(os.Environ(), "NO_PROXY=127.0.0.1,localhost", "PATH="+path+string(os.PathListSeparator)+os.Getenv("PATH")), env...)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s\nof\n%s", s.ID, err, &out, &noise, s.Text)
	}
	return out.String()
}

// silence is an input that stays open and says nothing, as a terminal does: wscat ends
// with its input.
func silence(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	return r
}

// snippetFolder is where a snippet finds its tool or its libraries, and what PATH needs
// for that.
func snippetFolder(t *testing.T, s snippet.Snippet) (dir, path string) {
	t.Helper()
	switch tool := strings.TrimPrefix(s.ID, "storage-"); {
	case s.Language == "go": // inside this module, which has what they import
		return goFolder(t), ""
	case s.Language == "rs":
		return cargoFolder(t), ""
	case s.ID == "hardhat":
		return hardhat3Project(t)
	case s.ID == "cast", s.ID == "foundry":
		return t.TempDir(), filepath.Dir(foundryTool(t, "cast"))
	case s.Language == "py":
		return t.TempDir(), ""
	case tool == "curl":
		if _, err := exec.LookPath(tool); err != nil {
			skip(t, "curl is not installed, so its snippets were not run")
		}
		return t.TempDir(), ""
	}
	needNode(t)
	packages := install(t)
	return scriptFolder(t, packages), filepath.Join(packages, "node_modules", ".bin")
}

func goFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(".", ".snippet-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}
