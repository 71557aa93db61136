package main

import (
	"encoding/json"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/full"
)

// TestStatus shows a server with an embedded network, and one that has it as a remote node
// beside another node that is away.
func TestStatus(t *testing.T) {
	full.Slow(t)
	embedded := config.Default()
	embedded.Data, embedded.Listen, embedded.AdminListen, embedded.StorageListen = t.TempDir(), "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	node, err := start(embedded, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer drain(node)
	host := strings.TrimPrefix(node.Addresses().Admin, "http://")
	code, stdout, stderr := runHere(t.Context(), t, "--admin-listen", host, "status")
	if code != 0 {
		t.Fatal(stderr)
	}
	for _, want := range []string{"version ", "JSON-RPC  ", node.Addresses().RPC, "sqlite, ", " free", "embedded, ", "devnet ", "rollup ", embedded.Data} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the screen lacks %q:\n%s", want, stdout)
		}
	}

	t.Chdir(t.TempDir())
	yaml := "networks: [{name: main, nodes: [{name: a, url: '" + nodeOf(node) + "'}, {name: b, url: 'http://127.0.0.1:1/swordfish'}]}]\n" +
		"listen: 127.0.0.1:0\nadmin_listen: 127.0.0.1:0\nstorage: {engine: 'off'}\n"
	if err := os.WriteFile("nodegate.yaml", []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Options{File: "nodegate.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	srv, err := start(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer drain(srv)
	host = strings.TrimPrefix(srv.Addresses().Admin, "http://")
	until(t, func() bool {
		code, stdout, stderr = runHere(t.Context(), t, "--admin-listen", host, "status")
		return code == 0 && strings.Contains(stdout, "1 of 2 healthy") && strings.Contains(stdout, "degraded")
	})
	if !strings.Contains(stdout, "storage   off") || strings.Contains(stdout, "swordfish") {
		t.Errorf("the screen is\n%s", stdout)
	}
	code, stdout, _ = runHere(t.Context(), t, "--admin-listen", host, "status", "--json")
	var s shownStatus
	if err := json.Unmarshal([]byte(stdout), &s); err != nil || code != 0 || len(s.Networks) != 1 || s.Networks[0].Nodes != 2 || s.Listeners.RPC != srv.Addresses().RPC || strings.Contains(stdout, "swordfish") {
		t.Errorf("%d %s %v", code, stdout, err)
	}
	if code, _, stderr := runHere(t.Context(), t, "--admin-listen", "127.0.0.1:1", "status"); code != exitFailure || !strings.Contains(stderr, "no server runs at 127.0.0.1:1") {
		t.Errorf("%d %s", code, stderr)
	}
}

func TestSize(t *testing.T) {
	for bytes, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1536: "1.5 KiB", 5 << 30: "5.0 GiB", 3 << 50: "3072.0 TiB"} {
		if got := size(bytes); got != want {
			t.Errorf("%d bytes are %q, want %q", bytes, got, want)
		}
	}
}
