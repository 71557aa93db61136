package clients_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/harness"
)

// kuboModule pins Kubo, apart from what nodegate itself requires.
const kuboModule = "../../tools/kubo"

// buildTime is for a first build with an empty cache; later ones only link.
const buildTime = 20 * time.Minute

// ipfs is Kubo's command line for one account.
type ipfs struct {
	*testing.T
	program string
	dir     string // the working directory
	api     string
	auth    string
	env     []string
}

// TestKuboCLI drives the storage gateway with Kubo's own command line.
func TestKuboCLI(t *testing.T) {
	harness.NeedFull(t)
	program := buildKubo(t)
	s := harness.Start(t, func(c *config.Config) { c.Storage.Reserve = 0 })
	start := time.Now()
	for _, part := range []struct {
		name string
		run  func(*ipfs)
	}{
		{"files", kuboFiles}, {"states", kuboStates}, {"directories", kuboDirectories}, {"pins", kuboPins}, {"blocks", kuboBlocks},
		{"values", kuboValues}, {"archives", kuboArchives}, {"tls", kuboTLS}, {"errors", kuboErrors}, {"remote", kuboRemote},
	} {
		t.Run(part.name, func(t *testing.T) {
			account := addStorageKey(t, s, "cli-"+part.name, "unlimited", s.AddStorageKey)
			part.run(newIPFS(t, s, program, account))
		})
	}
	if !t.Failed() {
		compatRow(t, "programs", "Kubo's command line", kuboVersion(t, program), "`test/clients/kubo_test.go` in `make full`: its commands on the storage gateway, and `ipfs pin remote`", "ok")
	}
	t.Logf("Kubo's commands took %s", time.Since(start).Round(time.Millisecond))
}

// buildKubo builds the command line from Go's module cache, or from a module mirror. That
// takes ten minutes at first; NODEGATE_IPFS names one that is built.
func buildKubo(t *testing.T) string {
	t.Helper()
	if program := os.Getenv("NODEGATE_IPFS"); program != "" {
		return program
	}
	ctx, cancel := context.WithTimeout(t.Context(), buildTime)
	defer cancel()
	program := filepath.Join(t.TempDir(), "ipfs")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "github.com/ipfs/kubo/cmd/ipfs")
	build.Dir = kuboModule
	if os.Getenv("NO_INSTALL") != "" {
		build.Env = append(os.Environ(), "GOPROXY=off")
	}
	if out, err := build.CombinedOutput(); err != nil {
		skip(t, "Kubo's command line can't be built: "+err.Error()+"\n"+string(bytes.TrimSpace(out)))
	}
	return program
}

func kuboVersion(t *testing.T, program string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program, "version", "-n").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func newIPFS(t *testing.T, s *harness.Service, program string, account storageKey) *ipfs {
	t.Helper()
	address, err := url.Parse(s.Server.Addresses().Storage)
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(address.Host)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	return &ipfs{
		T: t, program: program, dir: dir, api: "/ip4/127.0.0.1/tcp/" + port, auth: "basic:" + account.Key + ":" + account.Secret,
		// There is no repository: whatever succeeds, nodegate has answered.
		env: []string{"IPFS_PATH=" + filepath.Join(dir, "no-repository"), "NO_PROXY=127.0.0.1,localhost", "SSL_CERT_FILE=" + filepath.Join(s.Dir, "ca.pem")},
	}
}

// try runs a command and returns what it prints, or what it complains about.
func (i *ipfs) try(stdin string, args ...string) (out string, err error) {
	ctx, cancel := context.WithTimeout(i.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, i.program, append([]string{"--api", i.api, "--api-auth", i.auth}, args...)...)
	cmd.Dir, cmd.Env = i.dir, append(os.Environ(), i.env...)
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("ipfs %s: %w: %s%s", strings.Join(args, " "), err, &stdout, &stderr)
	}
	return stdout.String(), nil
}

// feed runs a command that must succeed, with that input.
func (i *ipfs) feed(stdin string, args ...string) string {
	i.Helper()
	out, err := i.try(stdin, args...)
	if err != nil {
		i.Fatal(err)
	}
	return out
}

// run is feed without input and without the last line's end.
func (i *ipfs) run(args ...string) string {
	i.Helper()
	return strings.TrimSuffix(i.feed("", args...), "\n")
}

// want runs a command and compares what it prints.
func (i *ipfs) want(out string, args ...string) {
	i.Helper()
	if got := i.run(args...); got != out {
		i.Errorf("ipfs %s prints\n%s\nwant\n%s", strings.Join(args, " "), got, out)
	}
}

// refused runs a command that must fail with that message.
func (i *ipfs) refused(message string, args ...string) {
	i.Helper()
	if out, err := i.try("", args...); err == nil || !strings.Contains(err.Error(), message) {
		i.Errorf("ipfs %s: %q, %v, want an error with %q", strings.Join(args, " "), out, err, message)
	}
}

// write makes a file in the working directory.
func (i *ipfs) write(name, content string) {
	i.Helper()
	path := filepath.Join(i.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		i.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		i.Fatal(err)
	}
}

// wrote compares a file that a command has written.
func (i *ipfs) wrote(name, content string) {
	i.Helper()
	got, err := os.ReadFile(filepath.Join(i.dir, name))
	if err != nil || string(got) != content {
		i.Errorf("%s has %d bytes (%v), want %d", name, len(got), err, len(content))
	}
}
