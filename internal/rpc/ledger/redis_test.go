package ledger

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodegate/nodegate/internal/store/redisstore"
	"github.com/nodegate/nodegate/test/dbtest"
	"github.com/nodegate/nodegate/test/full"
)

var _ Shared = (*redisstore.Blocks)(nil)

// generous are bounds that a busy machine stays within.
func generous() redisstore.BlockBounds {
	return redisstore.BlockBounds{Within: time.Minute, Lease: time.Minute, Life: ShareLife, Slots: ShareBlocks, Bytes: ShareBytes}
}

// redisServer is a server beside others at a Redis.
func redisServer(t *testing.T, c *chain, redis *dbtest.RedisServer, bounds redisstore.BlockBounds) *rig {
	t.Helper()
	s, err := redisstore.Open(t.Context(), "redis://"+redis.Addr, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	r := newServer(t, c, s.Blocks(bounds))
	r.cfg.SharedWait = time.Minute
	t.Cleanup(r.Close)
	return r
}

// reaches waits until the copy is at the head.
func (r *rig) reaches(number uint64) {
	r.t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if v := r.view.Load(); v != nil && v.last >= number {
			return
		}
	}
	r.t.Fatalf("the ledger doesn't reach block %d: %+v", number, r.Status())
}

// TestRedisBlocks: three servers on one Redis take the calls of one. Without Redis each goes
// on alone, and when it is back they share again.
func TestRedisBlocks(t *testing.T) {
	full.Slow(t)
	redis := dbtest.Redis(t)
	c := newChain()
	c.grow(120)
	var servers []*rig
	for range 3 {
		r := redisServer(t, c, redis, generous())
		r.Start()
		servers = append(servers, r)
	}
	grow := func(blocks int) (calls int) {
		c.called()
		for range blocks {
			c.grow(1)
			for _, r := range servers {
				r.reaches(c.head.Number)
			}
		}
		calls, _ = c.called()
		return calls
	}
	for _, r := range servers {
		r.reaches(120)
	}
	blocks := rounds(40, 12)
	calls := grow(blocks)
	t.Logf("%d blocks of 3 servers took %d calls", blocks, calls)
	if calls > 3*blocks { // 2 for each, if Redis isn't lost for a moment
		t.Errorf("%d blocks of 3 servers took %d calls", blocks, calls)
	}
	redis.Stop()
	if calls := grow(8); calls < 3*8 { // a block of four has no receipts to ask for
		t.Errorf("8 blocks without Redis took %d calls", calls)
	}
	redis.Restart()
	for end := time.Now().Add(2 * time.Minute); ; {
		if grow(4) <= 3*4 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("Redis is back, and the servers don't share")
		}
	}
	for _, r := range servers {
		for n := uint64(1); n <= c.head.Number; n += 5 {
			r.check(c.at(n), true)
		}
	}
}

// TestRedisDeath: a server dies while it fetches a block. The others go on.
func TestRedisDeath(t *testing.T) {
	redis := dbtest.Redis(t)
	bounds := generous()
	bounds.Lease = 200 * time.Millisecond
	c := newChain()
	c.grow(50)
	var hangs atomic.Bool
	dying := redisServer(t, c, redis, bounds)
	dying.cfg.Source = &hanging{c, &hangs}
	dying.Start()
	dying.reaches(50)
	hangs.Store(true)
	c.grow(1)
	other := redisServer(t, c, redis, bounds)
	other.Start()
	other.reaches(51)
	c.grow(1)
	other.reaches(52)
	other.check(c.at(52), true)
}

// hanging is a node that doesn't answer any more.
type hanging struct {
	*chain
	hangs *atomic.Bool
}

func (h *hanging) Call(ctx context.Context, name string, params []byte) ([]byte, error) {
	if h.hangs.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return h.chain.Call(ctx, name, params)
}
