package cache

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// second is the level behind the memory. Its keys name the chain by its first block:
// two chains of one name never answer for each other.
type second struct {
	store   Shared
	genesis atomic.Pointer[string] // its hash, once it is known
	asked   atomic.Int64           // when it was asked for last, in Unix nanoseconds
}

// askAgain is the pause before the first block is asked for again.
const askAgain = 10 * time.Second

// get looks a call up that may be final. A nil second has nothing.
func (s *second) get(ctx context.Context, c *Cache, f *flight) (result []byte, ok bool) {
	if s == nil || !f.plan.mayBeFinal() {
		return nil, false
	}
	key := s.key(ctx, c, f)
	if key == nil {
		return nil, false
	}
	if result, ok = s.store.Get(ctx, key); !ok || f.plan.settle(result).life != always {
		return nil, false // final for another server, which has come further
	}
	return result, true
}

// put keeps what is final.
func (s *second) put(c *Cache, f *flight) {
	if s == nil || !f.plan.mayBeFinal() || f.plan.settle(f.result).life != always || s.genesis.Load() == nil {
		return
	}
	s.store.Put(s.key(context.Background(), c, f), f.result)
}

// mayBeFinal tells whether it is worth to look. What is there of a chain that was begun
// again since may be of the old one.
func (p *plan) mayBeFinal() bool {
	return p.reason == "" && (p.byAnswer || p.life == always) && p.head.Lost == 0
}

// key names a call among all networks; nil while the chain is not known.
func (s *second) key(ctx context.Context, c *Cache, f *flight) []byte {
	genesis := s.genesis.Load()
	if genesis == nil {
		if genesis = s.learn(ctx, c); genesis == nil {
			return nil
		}
	}
	key := make([]byte, 0, len(c.network)+len(*genesis)+len(f.name)+len(f.params)+3)
	for _, part := range [...]string{c.network, *genesis, f.name} {
		key = append(append(key, part...), ' ')
	}
	return append(key, f.params...)
}

// learn asks for the first block, one caller at a time and not often.
func (s *second) learn(ctx context.Context, c *Cache) *string {
	now, last := time.Now().UnixNano(), s.asked.Load()
	if now-last < int64(askAgain) || !s.asked.CompareAndSwap(last, now) {
		return nil
	}
	block, err := c.next.Call(ctx, method.EthGetBlockByNumber, []byte(`["0x0",false]`))
	if err != nil {
		return nil
	}
	jsonrpc.Fields(block, func(name, value []byte) bool {
		if string(name) == "hash" && len(value) == hashLength {
			hash := string(value[1 : len(value)-1])
			s.genesis.Store(&hash)
			return false
		}
		return true
	})
	return s.genesis.Load()
}
