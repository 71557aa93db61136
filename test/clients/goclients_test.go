package clients_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/harness"
)

// goClient is a Go client of Kubo's API, whose tests are in a module of their own.
type goClient struct {
	name   string // in docs/compatibility.md
	folder string
	module string // of the client
}

// TestGoStorageClients runs the Go clients that were made for Kubo, on both engines. Their
// tests are built before the others of this package begin: compiling takes both cores.
func TestGoStorageClients(t *testing.T) {
	embedded := startStorage(t)
	overKubo := startStorage(t, asNode(t, embedded))
	for _, client := range []goClient{
		{name: "go-ipfs-api", folder: "goipfsapi", module: "github.com/ipfs/go-ipfs-api"},
		{name: "Kubo's Go client, `client/rpc`", folder: "kuborpc", module: "github.com/ipfs/kubo"},
	} {
		t.Run(client.folder, func(t *testing.T) {
			program := client.build(t)
			result := client.run(t, program, goStorage(t, embedded, client.folder))
			client.run(t, program, goStorage(t, overKubo, client.folder))
			compatRow(t, "programs", client.name, client.version(t), "`test/clients/"+client.folder+"` on the storage gateway, both engines", result)
		})
	}
}

// asNode makes a server a node behind another: it speaks Kubo's API.
func asNode(t *testing.T, s *harness.Service) config.KuboEndpoint {
	t.Helper()
	account := addStorageKey(t, s, "node", "unlimited", s.AddStorageKey)
	basic := base64.StdEncoding.EncodeToString([]byte(account.Key + ":" + account.Secret))
	return config.KuboEndpoint{URL: plainStorage(s), Headers: map[string]config.Secret{"Authorization": config.Secret("Basic " + basic)}}
}

// goStorage is what the tests of a client know of the service.
func goStorage(t *testing.T, s *harness.Service, name string) []byte {
	t.Helper()
	input, err := json.Marshal(map[string]any{
		"TLS": s.Server.Addresses().Storage, "URL": plainStorage(s), "CA": filepath.Join(s.Dir, "ca.pem"),
		"Own":   addStorageKey(t, s, name, "unlimited", s.AddStorageKey),
		"Poor":  addStorageKey(t, s, name+"-poor", "unlimited", s.AddKey),
		"Small": addStorageKey(t, s, name+"-small", "small", s.AddStorageKey),
		"Slow":  addStorageKey(t, s, name+"-slow", "slow", s.AddStorageKey),
	})
	if err != nil {
		t.Fatal(err)
	}
	return input
}

// build compiles the tests of a client. Without its modules they are skipped.
func (c goClient) build(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), buildTime)
	defer cancel()
	if out, err := c.goCommand(ctx, "list", "-deps", "-test", ".").CombinedOutput(); err != nil {
		skip(t, "the modules of "+c.name+" can't be downloaded: "+err.Error()+"\n"+string(bytes.TrimSpace(out)))
	}
	program, start := filepath.Join(t.TempDir(), c.folder), time.Now()
	if out, err := c.goCommand(ctx, "test", "-vet=off", "-ldflags=-s -w", "-c", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("built in %s", time.Since(start).Round(time.Second))
	return program
}

// goCommand runs Go in the client's module.
func (c goClient) goCommand(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = c.folder
	cmd.Env = append(os.Environ(), "GOGC=400") // compilers that collect garbage rarely need a fifth less time
	if os.Getenv("NO_INSTALL") != "" {
		cmd.Env = append(cmd.Env, "GOPROXY=off")
	}
	return cmd
}

// The verdicts of tests in what Go prints.
var (
	verdict = regexp.MustCompile(`(?m)^ *--- (PASS|FAIL|SKIP): `)
	passed  = regexp.MustCompile(`(?m)^ *--- PASS: `)
)

// run returns how many tests have passed, as the scripts do.
func (c goClient) run(t *testing.T, program string, storage []byte) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), scriptTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "-test.v")
	cmd.Dir = c.folder
	cmd.Env = append(os.Environ(), "NO_PROXY=127.0.0.1,localhost", "NODEGATE_STORAGE="+string(storage))
	start := time.Now()
	out, err := cmd.CombinedOutput()
	all, good := len(verdict.FindAll(out, -1)), len(passed.FindAll(out, -1))
	if err != nil || good == 0 || good != all {
		t.Fatalf("%d of %d tests passed: %v\n%s", good, all, err, out)
	}
	t.Logf("%d tests in %s", good, time.Since(start).Round(time.Millisecond))
	return fmt.Sprintf("ok %d checks", good)
}

// version is the client's, from the requirements of its tests.
func (c goClient) version(t *testing.T) string {
	t.Helper()
	requirements, err := os.ReadFile(filepath.Join(c.folder, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)\b` + regexp.QuoteMeta(c.module) + ` v(\S+)`).FindSubmatch(requirements)
	if found == nil {
		t.Fatalf("%s/go.mod doesn't require %s", c.folder, c.module)
	}
	return string(found[1])
}
