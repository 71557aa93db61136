package server

import (
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/rpc/upstream/pool"
)

// TestCreditFile: what nodes were used for survives a restart, and a damaged file does no harm.
func TestCreditFile(t *testing.T) {
	cfg := config.Default()
	cfg.Data = t.TempDir()
	ns := newNetworks(&common{cfg: cfg, log: slog.New(slog.DiscardHandler)})
	f := creditFile{ns}
	f.write()
	if _, err := os.Stat(f.path()); err == nil {
		t.Error("a file is written without a node that has a limit")
	}
	open := func() *pool.Pool {
		p := pool.Open(pool.Config{Network: "far", Nodes: []pool.Node{
			{Name: "a", URL: "http://127.0.0.1:1", CreditsPerDay: 100}, {Name: "b", URL: "http://127.0.0.1:1"},
		}})
		t.Cleanup(p.Close)
		return p
	}
	first := open()
	first.Continue(map[string]pool.Used{"a": {At: time.Now(), Day: 50, Month: 70}})
	ns.remotes["far"] = &remote{pool: first}
	f.write()
	second := open()
	second.Continue(f.read()["far"])
	if got := second.Used(); len(got) != 1 || got["a"].Month < 70 {
		t.Errorf("after a restart: %+v", got)
	}
	if err := os.WriteFile(f.path(), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := f.read(); len(got) != 0 {
		t.Errorf("a damaged file reads as %+v", got)
	}
}
