package main

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate/internal/config"
)

// TestNodes lists and cordons the nodes of a running server.
func TestNodes(t *testing.T) {
	cfg := config.Default()
	cfg.Data, cfg.Listen, cfg.AdminListen, cfg.StorageListen = t.TempDir(), "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	cfg.Networks = []config.Network{{Name: "far", Dialect: "spec", MaxLag: 5, Nodes: []config.Node{{Name: "a", URL: "http://127.0.0.1:1/swordfish", Role: "primary"}}}}
	cfg.DefaultNetwork = "far"
	srv, err := start(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer drain(srv)
	admin := strings.TrimPrefix(srv.Addresses().Admin, "http://")
	do := func(want int, args ...string) string {
		t.Helper()
		code, stdout, stderr := runHere(t.Context(), t, append([]string{"--admin-listen", admin}, args...)...)
		if code != want || strings.Contains(stdout+stderr, "swordfish") {
			t.Errorf("%q: exit code %d, stdout\n%s\nstderr\n%s", args, code, stdout, stderr)
		}
		return stdout + stderr
	}
	for end := time.Now().Add(time.Minute); !strings.Contains(do(0, "nodes"), "refused") && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
	}
	if out := do(0, "nodes"); !strings.Contains(out, "far      a     primary  not used: ") {
		t.Errorf("the list:\n%s", out)
	}
	if out := do(0, "nodes", "cordon", "far", "a"); out != "cordoned a of network far\n" {
		t.Errorf("cordon says %q", out)
	}
	if out := do(0, "nodes", "list", "--json"); !strings.Contains(out, `"cordoned":true`) {
		t.Errorf("the list as JSON:\n%s", out)
	}
	if out := do(0, "nodes"); !strings.Contains(out, "  cordoned  ") {
		t.Errorf("the list:\n%s", out)
	}
	do(0, "nodes", "uncordon", "far", "a")
	if out := do(0, "nodes"); strings.Contains(out, "cordoned") {
		t.Errorf("the list:\n%s", out)
	}
	if out := do(exitFailure, "nodes", "cordon", "far", "b"); !strings.Contains(out, "network far has no node b; nodegate nodes lists them") {
		t.Errorf("no such node: %s", out)
	}
	if out := do(exitFailure, "nodes", "cordon", "near", "a"); !strings.Contains(out, "there is no network near with remote nodes") {
		t.Errorf("no such network: %s", out)
	}
	code, _, stderr := runHere(t.Context(), t, "--admin-listen", "127.0.0.1:1", "nodes")
	if code != exitFailure || !strings.Contains(stderr, "no server runs at 127.0.0.1:1") {
		t.Errorf("without a server: %d, %s", code, stderr)
	}
}
