package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodegate/nodegate/test/full"
)

var update = flag.Bool("update", false, "rewrite the expected errors in testdata/broken")

const divider = "\n----------\n"

// TestBrokenConfigurations runs serve with every file of testdata/broken: a
// configuration, a line of dashes, and what the user is told. Nothing may be
// started, and nothing may be left on the disk. Secrets are called swordfish in
// there, and are never repeated.
func TestBrokenConfigurations(t *testing.T) {
	full.Slow(t)
	cases, err := filepath.Glob("testdata/broken/*.txt")
	if err != nil || len(cases) < 40 {
		t.Fatalf("%d broken configurations, want 40 at least (%v)", len(cases), err)
	}
	for _, file := range cases {
		path, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { playBroken(t, path) })
	}
}

func playBroken(t *testing.T, path string) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	yaml, want, ok := strings.Cut(string(text), divider)
	if !ok {
		t.Fatal("no line of ten dashes")
	}
	before := enterFolder(t, yaml)
	code, stdout, stderr := runHere(t.Context(), t, "--config", "nodegate.yaml")
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	stderr = strings.ReplaceAll(stderr, here, "FOLDER")
	if *update {
		if err := os.WriteFile(path, []byte(yaml+divider+stderr), 0o644); err != nil {
			t.Fatal(err)
		}
		want = stderr
	}
	if stderr != want {
		t.Errorf("it says\n%swant\n%s", stderr, want)
	}
	if code != exitMistake || stdout != "" {
		t.Errorf("exit code %d, stdout %q; want %d and nothing", code, stdout, exitMistake)
	}
	if after := listing(t); after != before {
		t.Errorf("the folder was %q and is now %q", before, after)
	}
	if strings.Contains(stderr, "swordfish") {
		t.Errorf("it shows the secret")
	}
	if !strings.HasPrefix(stderr, "nodegate.yaml:") {
		t.Errorf("the first line does not start with the file's name")
	}
}

// enterFolder goes to a new folder that holds the configuration and the files
// that configurations commonly name.
func enterFolder(t *testing.T, yaml string) string {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"nodegate.yaml": yaml + "\n", "genesis.json": "{}", "chain.rlp": "", "cert.pem": "",
		"secret": "swordfish\n", "stripe-key": "sk_test_swordfish\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("folder", 0o700); err != nil {
		t.Fatal(err)
	}
	return listing(t)
}

func listing(t *testing.T) string {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}
