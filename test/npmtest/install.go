package npmtest

import (
	"bytes"
	"context"
	"crypto/sha256"
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

	"github.com/nodegate/nodegate/test/harness"
)

// manifest is what npm reads.
var manifest = []string{".npmrc", "package.json", "package-lock.json"}

const installTime = 5 * time.Minute

// errMistake marks what is wrong in the manifest rather than on this machine.
var errMistake = errors.New("the lock file can't be used")

// NeedNode skips the test where Node.js is missing. npm is not needed when an earlier
// run has installed the packages.
func NeedNode(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		harness.Skip(t, "node is not installed; any version from 18 on will do")
	}
}

// Install returns a folder that has the packages of the lock file in node_modules. It
// asks npm only when no earlier run has done so.
func Install(t testing.TB, files fs.FS) string {
	t.Helper()
	dir, err := installed(files)
	if errors.Is(err, errMistake) {
		t.Fatal(err)
	}
	if err != nil {
		harness.Skip(t, "npm packages can't be installed: "+err.Error())
	}
	return dir
}

func installed(files fs.FS) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	hash, err := manifestHash(files)
	if err != nil {
		return "", err
	}
	cache = filepath.Join(cache, "nodegate-test")
	dir := filepath.Join(cache, "clients-"+hash)
	if exists(dir) {
		return dir, nil
	}
	if os.Getenv("NO_INSTALL") != "" {
		return "", errors.New("NO_INSTALL is set")
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	return dir, installInto(dir, files)
}

// installInto works beside dir and renames at the end: dir is whole or absent,
// whatever other runs do and wherever this one is stopped.
func installInto(dir string, files fs.FS) error {
	work, err := os.MkdirTemp(filepath.Dir(dir), "unfinished-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := WriteFiles(work, files, manifest...); err != nil {
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

// manifestHash names a cache folder by what npm reads.
func manifestHash(files fs.FS) (string, error) {
	sum := sha256.New()
	for _, name := range manifest {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return "", fmt.Errorf("%w: %w", errMistake, err)
		}
		fmt.Fprintf(sum, "%s %d\n%s", name, len(data), data)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8]), nil
}

// Project is a new folder with those files. The packages are linked, so that runs of
// different builds can share them.
func Project(t testing.TB, packages string, files fs.FS, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	if err := WriteFiles(dir, files, names...); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(packages, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// WriteFiles copies files into a folder, with the folders they are in.
func WriteFiles(dir string, files fs.FS, names ...string) error {
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
