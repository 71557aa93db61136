// Package conformance_test replays the official test files of the Ethereum
// JSON-RPC standard (ethereum/execution-apis) against the whole service: a network
// in dialect `standard` on the chain that the files were recorded on.
//
// The files are not part of this repository. NODEGATE_CONFORMANCE names their
// folder; without them the tests are skipped and say so.
package conformance_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/harness"
)

// apiKey is of the right form, which is all that is asked of it.
const apiKey = harness.KeyA

// TestConformance runs everything against one server: the files only read.
func TestConformance(t *testing.T) {
	dir := harness.Conformance(t)
	base := serve(t, dir)
	http, ws := base+"/compat/v3/"+apiKey, "ws"+strings.TrimPrefix(base, "http")+"/compat/ws/v3/"+apiKey
	tests := load(t, dir)
	t.Run("http", func(t *testing.T) { replay(t, tests, overHTTP(http)) })
	t.Run("ws", func(t *testing.T) { replay(t, tests, overWebSocket(t, ws)) })
	t.Run("iocheck", func(t *testing.T) {
		tool := buildIOCheck(t, dir)
		t.Run("http", func(t *testing.T) { runIOCheck(t, tool, dir, http) })
		t.Run("ws", func(t *testing.T) { runIOCheck(t, tool, dir, ws) })
	})
}

// serve starts the service with the files' chain as its only network.
func serve(t *testing.T, dir string) (base string) {
	t.Helper()
	return harness.Start(t, func(c *config.Config) {
		c.Networks = []config.Network{{
			Name: "compat", Cache: c.Networks[0].Cache, Dialect: "standard",
			Embedded: &config.Embedded{Genesis: filepath.Join(dir, "genesis.json"), Chain: filepath.Join(dir, "chain.rlp")},
		}}
		c.DefaultNetwork = "compat"
	}).RPC
}
