package clients_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// files are embedded so that a change to one of them is a change to the test: results
// of an older script are never taken from the test cache.
//
//go:embed .npmrc package.json package-lock.json *.mjs
var files embed.FS

// manifest is what npm reads.
var manifest = []string{".npmrc", "package.json", "package-lock.json"}

const installTime = 5 * time.Minute

// errMistake marks what is wrong in this folder rather than on this machine.
var errMistake = errors.New("the lock file can't be used")

// needNode skips the test where the scripts can't run. npm is not needed when an
// earlier run has installed the packages.
func needNode(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		skip(t, "node is not installed, so the JavaScript libraries were not tested; any version from 18 on will do")
	}
}

// install returns a folder that has the packages of the lock file in node_modules. It
// asks npm only when no earlier run has done so.
func install(t *testing.T) string {
	t.Helper()
	dir, err := installed()
	if errors.Is(err, errMistake) {
		t.Fatal(err)
	}
	if err != nil {
		skip(t, "the JavaScript libraries can't be installed, so they were not tested: "+err.Error())
	}
	return dir
}

// skip says why, and on a build machine, where nobody expects a skip, twice.
func skip(t *testing.T, reason string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		line := strings.Repeat("!", 80)
		fmt.Fprintf(os.Stderr, "%s\nSKIPPED %s: %s\n%s\n", line, t.Name(), reason, line)
	}
	t.Skip("SKIPPED: " + reason)
}

func installed() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	cache = filepath.Join(cache, "nodegate-test")
	dir := filepath.Join(cache, "clients-"+manifestHash())
	if exists(dir) {
		return dir, nil
	}
	if os.Getenv("NO_INSTALL") != "" {
		return "", errors.New("NO_INSTALL is set")
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	return dir, installInto(dir)
}

// installInto works beside dir and renames at the end: dir is whole or absent,
// whatever other runs do and wherever this one is stopped.
func installInto(dir string) error {
	work, err := os.MkdirTemp(filepath.Dir(dir), "unfinished-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := writeFiles(work, manifest...); err != nil {
		return err
	}
	if err := npmInstall(work); err != nil {
		return err
	}
	if err := os.Rename(work, dir); err != nil && !exists(dir) { // another run may have been first
		return err
	}
	return nil
}

// npmInstall runs no package's own scripts. It tries twice and not, as npm by
// default does where there is no registry, for minutes.
func npmInstall(dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), installTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", "ci", "--no-audit", "--no-fund", "--prefer-offline", "--ignore-scripts",
		"--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-timeout=60000")
	cmd.Dir = dir
	cmd.WaitDelay = time.Second // a child of npm may hold the pipe
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		return nil
	case strings.Contains(string(out), "EUSAGE"), strings.Contains(string(out), "EINTEGRITY"):
		return fmt.Errorf("%w: npm ci: %w\n%s", errMistake, err, bytes.TrimSpace(out))
	}
	return fmt.Errorf("npm ci: %w\n%s", err, bytes.TrimSpace(out))
}

// manifestHash names a cache folder by what npm was told.
func manifestHash() string {
	sum := sha256.New()
	for _, name := range manifest {
		data, err := files.ReadFile(name)
		if err != nil {
			panic(err) // embedded by this very list
		}
		fmt.Fprintf(sum, "%s %d\n%s", name, len(data), data)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// scriptFolder is a new folder with the scripts of this build. The packages are
// linked, so that runs of different builds can share them.
func scriptFolder(t *testing.T, packages string) string {
	t.Helper()
	dir := t.TempDir()
	scripts, err := fs.Glob(files, "*.mjs")
	if err != nil {
		t.Fatal(err)
	}
	if err := writeFiles(dir, append(scripts, "package.json")...); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(packages, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func writeFiles(dir string, names ...string) error {
	for _, name := range names {
		data, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
