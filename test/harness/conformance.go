package harness

import (
	"os"
	"path/filepath"
	"testing"
)

// conformanceFolder is where the files of ethereum/execution-apis are beside a checkout of this
// repository. A relative path counts from the repository's root, where people and make type it.
var conformanceFolder = filepath.Join("..", "shared", "conformance")

// Conformance is the folder with the official test files and the chain that they were recorded
// on, for tests two folders below the root. NODEGATE_CONFORMANCE names it. Without the files the
// test ends here.
func Conformance(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("NODEGATE_CONFORMANCE")
	if dir == "" {
		dir = conformanceFolder
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join("..", "..", dir)
	}
	for _, name := range []string{"genesis.json", "chain.rlp"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Skipf("no conformance files: %v (set NODEGATE_CONFORMANCE to their folder)", err)
		}
	}
	return dir
}
