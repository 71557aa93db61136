package accounts_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/server"
	"github.com/nodegate/nodegate/test/dbtest"
	"github.com/nodegate/nodegate/test/harness"
)

// chainClaim starts servers with one embedded network on one Postgres.
type chainClaim struct {
	t       *testing.T
	network config.Network
	dsn     string
}

func (c *chainClaim) configure(cfg *config.Config) {
	cfg.Networks, cfg.DefaultNetwork, cfg.Storage.Engine = []config.Network{c.network}, c.network.Name, "off"
	cfg.Pepper, cfg.Store.Postgres = pepper, config.Secret(c.dsn)
}

// start starts a server in a folder; it is closed with the test, or before.
func (c *chainClaim) start(dir string) (*harness.Service, error) {
	s, err := harness.Launch(dir, c.configure)
	if err == nil {
		c.t.Cleanup(func() { _ = s.Close() })
	}
	return s, err
}

func (c *chainClaim) must(dir string) *harness.Service {
	c.t.Helper()
	s, err := c.start(dir)
	if err != nil {
		c.t.Fatal(err)
	}
	return s
}

func (c *chainClaim) refused(dir string) {
	c.t.Helper()
	if _, err := c.start(dir); !errors.Is(err, nodegate.BadConfig) || !strings.Contains(err.Error(), "nodegate adopt") {
		c.t.Errorf("a second server with the same embedded network: %v", err)
	}
}

// TestSecondEmbeddedNetwork: two servers never serve two chains under a name that
// somebody configured. A server comes back in its folder, and another can take over.
func TestSecondEmbeddedNetwork(t *testing.T) {
	t.Parallel()
	c := &chainClaim{t: t, network: config.Default().Networks[0], dsn: dbtest.Postgres(t)}
	c.network.Name = "ours"
	first, other := t.TempDir(), t.TempDir()
	running := c.must(first)
	c.refused(other)
	if err := running.Close(); err != nil {
		t.Fatal(err)
	}
	again := c.must(first)
	cfg := harness.Config(other)
	c.configure(cfg)
	if err := server.Adopt(t.Context(), cfg, again.Server.Control().Store); err != nil {
		t.Fatal(err)
	}
	c.must(other)
	c.refused(t.TempDir())
	c.network.Name = "others"
	c.must(t.TempDir())
}

// TestSecondBuiltinNetwork: servers that have the built-in networks because nobody
// configured any start, and say what is wrong with that.
func TestSecondBuiltinNetwork(t *testing.T) {
	t.Parallel()
	c := &chainClaim{t: t, network: config.Default().Networks[0], dsn: dbtest.Postgres(t)}
	const warning = "another server on this Postgres also has this built-in network"
	if first := c.must(t.TempDir()); logged(first, warning) != 0 {
		t.Errorf("the first server warns:\n%s", first.Logs)
	}
	if second := c.must(t.TempDir()); logged(second, warning) != 1 {
		t.Errorf("the second server does not warn:\n%s", second.Logs)
	}
}
