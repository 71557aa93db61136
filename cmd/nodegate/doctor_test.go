package main

import (
	"os"
	"strings"
	"testing"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/server"
	"log/slog"
)

// onFreePorts keeps a test away from the ports of a server that may run here.
const onFreePorts = "listen: 127.0.0.1:0\nstorage_listen: 127.0.0.1:0\nadmin_listen: 127.0.0.1:0\n"

// TestDoctor asks a real server as a node, and one that is not there.
func TestDoctor(t *testing.T) {
	cfg := config.Default()
	cfg.Data, cfg.Listen, cfg.AdminListen, cfg.StorageListen = t.TempDir(), "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	srv, err := start(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer drain(srv)
	node := nodeOf(srv)
	for _, c := range []struct {
		name, yaml string
		args       []string
		code       int
		out, not   string
	}{
		{"well", "networks: [{name: main, nodes: [{name: a, url: '" + node + "'}]}]", nil, 0, "main     a     primary  ", "PROBLEM"},
		{"one is away", "networks: [{name: main, nodes: [{name: a, url: '" + node + "'}, {name: b, url: 'http://127.0.0.1:1/swordfish'}]}]", nil, exitFailure, "PROBLEM  main/b: can't be reached", "swordfish"},
		{"the other network", "networks: [{name: main, nodes: [{url: '" + node + "'}]}, {name: x, nodes: [{url: 'http://127.0.0.1:1'}]}]", []string{"--network", "main"}, 0, "node-1", "PROBLEM"},
		{"no such network", "networks: [{name: main, nodes: [{url: '" + node + "'}]}]", []string{"--network", "mian"}, exitFailure, "", "node-1"},
		{"an embedded one", "networks: [{name: main, embedded: {}}]", nil, 0, "No remote nodes configured", "PROBLEM"},
		{"an embedded one, by name", "networks: [{name: main, embedded: {}}]", []string{"--network", "main"}, exitMistake, "", "PROBLEM"},
		{"a broken file", "networks: [{name: main, nodes: []}]", nil, exitMistake, "", "PROBLEM"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if err := os.WriteFile("nodegate.yaml", []byte(onFreePorts+c.yaml), 0o600); err != nil {
				t.Fatal(err)
			}
			code, stdout, stderr := runHere(t.Context(), t, append([]string{"--config", "nodegate.yaml", "doctor"}, c.args...)...)
			if code != c.code || !strings.Contains(stdout, c.out) || strings.Contains(stdout+stderr, c.not) {
				t.Errorf("exit code %d, stdout\n%s\nstderr\n%s", code, stdout, stderr)
			}
			if key := node[strings.LastIndex(node, "/")+1:]; strings.Contains(stdout+stderr, key) {
				t.Errorf("it shows the node's key")
			}
		})
	}
}

// nodeOf is a network of a server as a node of another.
func nodeOf(srv *server.Server) string {
	return srv.Addresses().RPC + "/devnet/v3/" + srv.FirstKey().Value
}
