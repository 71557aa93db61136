package clients_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/nodegate/nodegate/internal/dashboard/snippet"
	"github.com/nodegate/nodegate/test/full"
)

// What the snippets of Python and Rust use.
const (
	web3pyPackage = "web3==7.13.0"
	alloyManifest = `[package]
name = "block"
version = "0.0.0"
edition = "2021"

[dependencies]
alloy = "1"
tokio = { version = "1", features = ["full"] }
`
)

// languageTime is for a first install; alloy takes minutes to compile.
const languageTime = 15 * time.Minute

// canRun tells whether a snippet's language is here, or can be installed. Nothing else of
// nodegate needs Python or Rust, so a machine without their packages skips no test.
func canRun(t *testing.T, s snippet.Snippet) bool {
	t.Helper()
	var err error
	switch s.Language {
	case "py":
		err = havePython(t)
	case "rs":
		err = haveAlloy(t)
	}
	if err != nil {
		t.Logf("%s was not run: %v", s.ID, err)
	}
	return err == nil
}

// languageFolder is where packages of a language stay between runs.
func languageFolder(t *testing.T, name string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(cache, "nodegate-test", name)
}

// mayInstall tells whether libraries of other languages may be downloaded.
func mayInstall() bool { return full.Run() && os.Getenv("NO_INSTALL") == "" }

// havePython finds web3.py, or installs it beside nothing else.
func havePython(t *testing.T) error {
	t.Helper()
	packages := languageFolder(t, web3pyPackage)
	t.Setenv("PYTHONPATH", packages)
	if run(t, "", "python3", "-c", "import web3") == nil {
		return nil
	}
	if !mayInstall() {
		return errors.New("web3.py is not installed; make full installs it")
	}
	return errors.Join(run(t, "", "python3", "-m", "pip", "install", "--quiet", "--retries", "0", "--target", packages, web3pyPackage),
		run(t, "", "python3", "-c", "import web3"))
}

// haveAlloy compiles alloy once.
func haveAlloy(t *testing.T) error {
	t.Helper()
	if !mayInstall() {
		return errors.New("only make full compiles it")
	}
	dir := languageFolder(t, "alloy")
	t.Setenv("CARGO_TARGET_DIR", filepath.Join(dir, "target"))
	t.Setenv("CARGO_NET_RETRY", "0")
	return errors.Join(os.MkdirAll(filepath.Join(dir, "src"), 0o755),
		os.WriteFile(filepath.Join(dir, "Cargo.toml"), []byte(alloyManifest), 0o600),
		os.WriteFile(filepath.Join(dir, "src", "main.rs"), []byte("fn main() {}\n"), 0o600),
		run(t, dir, "cargo", "build", "--quiet"))
}

// cargoFolder is a new project with the packages that haveAlloy compiled.
func cargoFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"Cargo.toml", "Cargo.lock"} {
		data, err := os.ReadFile(filepath.Join(languageFolder(t, "alloy"), name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func run(t *testing.T, dir, program string, args ...string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), languageTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w %s", program, err, bytes.TrimSpace(out))
	}
	return nil
}
