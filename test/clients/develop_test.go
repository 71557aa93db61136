package clients_test

import (
	"embed"
	"io/fs"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/test/harness"
	"github.com/nodegate/nodegate/test/npmtest"
)

// developFiles are a Hardhat project that uses the chain as Hardhat's own network.
//
//go:embed develop/.npmrc develop/*.json develop/*.js develop/test develop/ignition
var developFiles embed.FS

// TestHardhatHelpers runs Hardhat's network helpers and Ignition on the devnet, with a key
// that has the scope development and without private keys.
func TestHardhatHelpers(t *testing.T) {
	harness.NeedFull(t)
	npmtest.NeedNode(t)
	files, err := fs.Sub(developFiles, "develop")
	if err != nil {
		t.Fatal(err)
	}
	dir := withCounter(t, npmtest.Project(t, npmtest.Install(t, files), files, filesOf(t, files)...), "contracts")
	svc := developService(t)
	start := time.Now()
	count := hardhatTest(t, dir, svc.http("devnet", key), svc.facts["devnet"].ChainID)
	t.Logf("%s tests with network helpers and Ignition passed in %s", count, time.Since(start).Round(time.Millisecond))
	compatRow(t, "programs", "Hardhat 2", manifestOf(t, files).Dependencies["hardhat"],
		"`test/clients/develop` in `make full`, on the devnet: network helpers, Ignition", "ok "+count+" tests")
}

// TestViemTestClient runs viem's test actions in the modes of Hardhat, Anvil and Ganache.
func TestViemTestClient(t *testing.T) {
	needNode(t)
	dir := scriptFolder(t, install(t))
	svc := developService(t)
	cmd := exec.CommandContext(t.Context(), "node", "develop.mjs", svc.http("devnet", key))
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil || !success.Match(out) {
		t.Fatalf("develop.mjs: %v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// developService is a server whose key has the scope development.
func developService(t *testing.T) *service {
	t.Helper()
	svc := startService(t)
	allowDevelopment(t, svc)
	return svc
}

// allowDevelopment gives the server's key the scope development.
func allowDevelopment(t *testing.T, svc *service) {
	t.Helper()
	if err := svc.Server.Control().Accounts.SetDevelopment(t.Context(), nodegate.Actor{Name: "test"}, "a-a", true); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(time.Minute)
	for !develops(t, svc.http("devnet", key)) {
		if time.Now().After(deadline) {
			t.Fatal("the scope is not followed")
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func develops(t *testing.T, url string) bool {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"hardhat_getAutomine"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var b [256]byte
	n, _ := resp.Body.Read(b[:])
	return strings.Contains(string(b[:n]), `"result":true`)
}
