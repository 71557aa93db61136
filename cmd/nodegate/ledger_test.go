package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/full"
	"github.com/nodegate/nodegate/test/harness"
)

// TestLedger shows, verifies and rebuilds the ledger of a running server, and removes it when
// the server has stopped.
func TestLedger(t *testing.T) {
	full.Slow(t)
	node := harness.Start(t, func(c *config.Config) {
		c.Networks = []config.Network{{Name: "dev", Dialect: "standard", Embedded: &config.Embedded{Preset: "devnet"}}}
		c.DefaultNetwork = "dev"
	})
	cfg := config.Default()
	cfg.Data, cfg.Listen, cfg.AdminListen, cfg.StorageListen = t.TempDir(), "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	cfg.Networks = []config.Network{{
		Name: "devnet", Dialect: "spec", MaxLag: 5, Nodes: []config.Node{{Name: "a", URL: config.NodeURL(node.URL("dev", harness.KeyA)), Role: "primary"}},
		Ledger: config.Ledger{Blocks: 1000, Disk: 1 << 30, Memory: 1 << 20},
	}}
	cfg.DefaultNetwork = "devnet"
	srv, err := start(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	stop := func() { once.Do(func() { drain(srv) }) }
	defer stop()
	admin := strings.TrimPrefix(srv.Addresses().Admin, "http://")
	do := func(want int, args ...string) string {
		t.Helper()
		code, stdout, stderr := runHere(t.Context(), t, append([]string{"--admin-listen", admin, "--data", cfg.Data}, args...)...)
		if code != want {
			t.Errorf("%q: exit code %d, stdout\n%s\nstderr\n%s", args, code, stdout, stderr)
		}
		return stdout + stderr
	}
	whole := func() bool {
		out := do(0, "ledger")
		return strings.Contains(out, "devnet   0 to ") && strings.Contains(out, "MiB  0    ")
	}
	until(t, whole)
	if out := do(0, "ledger", "status", "--json"); !strings.Contains(out, `"lag":0`) || !strings.Contains(out, `"window":1000`) {
		t.Errorf("the status as JSON:\n%s", out)
	}
	if out := do(0, "ledger", "verify", "devnet"); !strings.HasPrefix(out, "devnet: proved 11 of 11 blocks, 0 to 10, with ") {
		t.Errorf("verify says %q", out)
	}
	if out := do(0, "ledger", "rebuild", "devnet"); out != "removed the blocks of the ledger of devnet; the server fetches the newest ones\n" {
		t.Errorf("rebuild says %q", out)
	}
	until(t, whole)
	if out := do(exitFailure, "ledger", "verify", "far"); !strings.Contains(out, "network far has no ledger") {
		t.Errorf("no such ledger: %s", out)
	}
	stop()
	folder := filepath.Join(cfg.Data, "ledger", "devnet")
	if _, err := os.Stat(folder); err != nil {
		t.Error(err)
	}
	if out := do(exitFailure, "ledger"); !strings.Contains(out, "no server runs at ") {
		t.Errorf("the status without a server: %s", out)
	}
	if out := do(0, "ledger", "rebuild", "devnet"); out != "removed the ledger of devnet; the next start fetches the newest blocks\n" {
		t.Errorf("rebuild without a server says %q", out)
	}
	if _, err := os.Stat(folder); err == nil {
		t.Error("the folder is still there")
	}
	do(exitFailure, "ledger", "rebuild", "devnet")
}

// until waits for something.
func until(t *testing.T, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it takes too long")
		}
	}
}
