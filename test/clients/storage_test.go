package clients_test

import (
	"encoding/json"
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

// TestStorageLibraries runs the clients that were made for Kubo, beside each other.
func TestStorageLibraries(t *testing.T) {
	needNode(t)
	packages := install(t)
	t.Parallel()
	s := harness.Start(t, func(c *config.Config) {
		c.Plans["small"] = config.Plan{StoredBytes: 1 << 20}
		c.Storage.Reserve = 0
	})
	dir := scriptFolder(t, packages)
	for i, library := range []string{"kubo-rpc-client", "ipfs-http-client"} {
		t.Run(library, func(t *testing.T) {
			t.Parallel()
			own := addStorageKey(t, s, library, "unlimited", s.AddStorageKey)
			input, err := json.Marshal(map[string]any{
				"library": library, "url": "http" + strings.TrimPrefix(s.Server.Addresses().Storage, "https"), "seed": 1000 * (i + 1),
				"key": own.Key, "secret": own.Secret,
				"poor":  addStorageKey(t, s, library+"-poor", "unlimited", s.AddKey),
				"small": addStorageKey(t, s, library+"-small", "small", s.AddStorageKey),
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
