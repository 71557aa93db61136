package store

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Two stores share a cache: each reads its own blocks, the cache stays within its size, and the
// second one goes on when the first is closed.
func TestSharedCache(t *testing.T) {
	const bytes = 2 << 20
	cache := NewCache(bytes)
	defer cache.Close()
	open := func(seed uint64) (*Store, []*Block) {
		cfg := testConfig(vfs.NewMem())
		cfg.Cache, cfg.Genesis, cfg.memtable = cache, [32]byte{byte(seed)}, 64<<10
		s := openStore(t, cfg)
		var blocks []*Block
		parent := [32]byte{}
		for n := range uint64(400) {
			b := testBlock(n, parent, n+1+seed*1000, [][32]byte{testHash("tx", n+seed*1000), testHash("other", n+seed*1000)})
			must(t, s.Append(b))
			parent = b.Hash
			blocks = append(blocks, b)
		}
		return s, blocks
	}
	one, first := open(1)
	two, second := open(2)
	read := func(s *Store, blocks []*Block) {
		t.Helper()
		for _, b := range blocks {
			must(t, checkBlock(s, b))
		}
		if size := cache.Size(); size == 0 || size > bytes {
			t.Errorf("the cache holds %d of %d bytes", size, bytes)
		}
	}
	read(one, first)
	read(two, second)
	must(t, one.Close())
	read(two, second)
	must(t, two.Close())
}
