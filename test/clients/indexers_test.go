package clients_test

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
)

// TestSubsquid lets Subsquid's processor read every log of the demo contract.
func TestSubsquid(t *testing.T) {
	dir, _ := fullProject(t, "indexers")
	svc := startService(t)
	out := runSquid(t, svc, dir)
	compatRow(t, "programs", "Subsquid", fullVersion(t, "indexers", "@subsquid/evm-processor"), "`test/clients/indexers/squid.mjs` in `make full`: the processor on the devnet", lastLine(out))
}

// runSquid runs the processor to the end of the chain, and returns what it prints.
func runSquid(t *testing.T, svc *service, dir string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "node", "squid.mjs")
	cmd.Dir, cmd.Env = dir, indexerEnv(svc)
	out, err := cmd.CombinedOutput()
	if err != nil || !success.Match(out) {
		t.Fatalf("squid.mjs: %v\n%s", err, out)
	}
	return string(out)
}

// TestPonder indexes an event of the demo contract, those of the chain so far and a new one.
func TestPonder(t *testing.T) {
	dir, _ := fullProject(t, "indexers")
	svc := startService(t)
	url := startPonder(t, svc, dir)
	f := &foundry{T: t, dir: t.TempDir(), url: svc.http("devnet", key)}
	f.run("cast", "send", "--private-key", privateKeys(castAccount)[0], svc.facts["devnet"].Demo.Hex(), "setValue(uint256)", "77")
	var changes []struct {
		Hash        string
		Value, Read int
	}
	await(t, "the new event", func() bool {
		res, err := http.Get(url + "/changes")
		if err != nil {
			return false
		}
		defer res.Body.Close()
		return json.NewDecoder(res.Body).Decode(&changes) == nil && len(changes) > 0 && changes[len(changes)-1].Value == 77
	})
	if len(changes) != 4 || changes[0].Hash != svc.facts["devnet"].tx(t, "legacy call").Hash.Hex() {
		t.Errorf("Ponder has %+v", changes)
	}
	for _, c := range changes {
		if c.Value != c.Read {
			t.Errorf("the event says %d, and a call at its block %d", c.Value, c.Read)
		}
	}
	if !t.Failed() {
		compatRow(t, "programs", "Ponder", fullVersion(t, "indexers", "ponder"), "`test/clients/indexers` in `make full`: an app on the devnet, with its history, new blocks over WebSocket and calls", "ok")
	}
}

// startPonder runs the app until the test ends, and returns where its API is.
func startPonder(t *testing.T, svc *service, dir string) string {
	t.Helper()
	return serveOn(t, "Ponder", func(port string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), filepath.Join("node_modules", ".bin", "ponder"), "start", "--schema", "test", "--port", port, "--log-format", "json")
		cmd.Dir, cmd.Env = dir, append(indexerEnv(svc), "PONDER_TELEMETRY_DISABLED=true")
		return cmd
	}, func(url string) bool {
		res, err := http.Get(url + "/ready")
		if err != nil {
			return false
		}
		_ = res.Body.Close()
		return res.StatusCode == http.StatusOK
	})
}

// indexerEnv is all that an indexer knows of the service.
func indexerEnv(svc *service) []string {
	return append(os.Environ(), "NO_PROXY=127.0.0.1,localhost", "NODEGATE_URL="+svc.http("devnet", key), "NODEGATE_WS="+svc.ws("devnet", key),
		"NODEGATE_FACTS="+string(svc.facts["devnet"].raw), "NODEGATE_ABI="+strings.TrimSpace(string(devchain.DemoABI())))
}
