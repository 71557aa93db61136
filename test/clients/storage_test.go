package clients_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/credential"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/harness"
)

// storageKey is what a script needs of an account of the storage gateway.
type storageKey struct {
	Key    string `json:"key"`
	Secret string `json:"secret"`
}

// startStorage runs a server with the plans that the clients' tests need. Its blocks are on
// the nodes, if there are any, and with KUBO_API=URL on that node.
func startStorage(t *testing.T, nodes ...config.KuboEndpoint) *harness.Service {
	t.Helper()
	if node := os.Getenv("KUBO_API"); node != "" {
		nodes = []config.KuboEndpoint{{URL: node}}
	}
	return harness.Start(t, func(c *config.Config) {
		c.Plans["small"] = config.Plan{StoredBytes: 1 << 20}
		c.Plans["slow"] = config.Plan{StorageReads: 1}
		c.Storage.Reserve = 0
		if len(nodes) > 0 {
			c.Storage.Engine, c.Storage.Kubo.Endpoints = "kubo", nodes
		}
	})
}

// plainStorage is the address of the storage gateway without TLS.
func plainStorage(s *harness.Service) string {
	return "http" + strings.TrimPrefix(s.Server.Addresses().Storage, "https")
}

// TestStorageLibraries runs the clients that were made for Kubo, beside each other.
func TestStorageLibraries(t *testing.T) {
	needNode(t)
	packages := install(t)
	t.Parallel()
	s := startStorage(t)
	dir := scriptFolder(t, packages)
	for i, library := range []string{"kubo-rpc-client", "ipfs-http-client"} {
		t.Run(library, func(t *testing.T) {
			t.Parallel()
			own := addStorageKey(t, s, library, "unlimited", s.AddStorageKey)
			input, err := json.Marshal(map[string]any{
				"library": library, "url": plainStorage(s), "seed": 1000 * (i + 1),
				"key": own.Key, "secret": own.Secret,
				"poor":  addStorageKey(t, s, library+"-poor", "unlimited", s.AddKey),
				"small": addStorageKey(t, s, library+"-small", "small", s.AddStorageKey),
				"slow":  addStorageKey(t, s, library+"-slow", "slow", s.AddStorageKey),
			})
			if err != nil {
				t.Fatal(err)
			}
			result := runScript(t, dir, "storage.mjs", input)
			compatRow(t, "programs", library, packageVersion(t, library), "`test/clients/storage.mjs` on the storage gateway", result)
		})
	}
}

func addStorageKey(t *testing.T, s *harness.Service, name, plan string, add func(name, plan, key, secret string, settings nodegate.KeySettings) error) storageKey {
	t.Helper()
	k := storageKey{credential.NewKey(), credential.NewSecret()}
	if err := add(name, plan, k.Key, k.Secret, nodegate.KeySettings{}); err != nil {
		t.Fatal(err)
	}
	return k
}
