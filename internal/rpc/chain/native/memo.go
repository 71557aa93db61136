package native

import (
	"github.com/ethereum/go-ethereum/common"
	"github.com/maypok86/otter/v2"
)

// memo remembers the results of calls by block hash and exact parameters. The
// block is immutable, so a result is true forever; failures are not kept.
type memo struct {
	cache table[string, []byte]
}

// maxMemoKey and maxMemoResult keep one caller from filling the memo with a few
// huge entries.
const (
	maxMemoKey    = 4096
	maxMemoResult = 16384
	memoOverhead  = 160
)

func newMemo(budget uint64) (*memo, error) {
	cache, err := otter.New(&otter.Options[string, []byte]{
		MaximumWeight: max(budget, 1),
		Weigher:       func(k string, v []byte) uint32 { return uint32(len(k) + len(v) + memoOverhead) },
	})
	return &memo{cache: cache}, err
}

// key spells out everything the result depends on; "" is not remembered.
func (m *memo) key(kind byte, blk common.Hash, call []byte) string {
	if len(call) > maxMemoKey {
		return ""
	}
	b := make([]byte, 0, 1+common.HashLength+len(call))
	b = append(append(append(b, kind), blk[:]...), call...)
	return string(b)
}

func (m *memo) get(key string) ([]byte, bool) {
	if key == "" {
		return nil, false
	}
	return m.cache.GetIfPresent(key)
}

func (m *memo) put(key string, result []byte) {
	if key != "" && len(result) <= maxMemoResult {
		m.cache.Set(key, result)
	}
}
