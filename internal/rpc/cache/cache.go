package cache

import (
	"bytes"
	"context"
	"hash/maphash"
	"math"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/maypok86/otter/v2"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc"
	"github.com/nodegate/nodegate/internal/tracing"
)

// Config is how much one network's cache may keep.
type Config struct {
	// Network names the chain in the shared level.
	Network string
	// Bytes is the budget in memory: parameters, answers and what it takes to find
	// them. With 0 nothing is kept, and only calls in progress are shared.
	Bytes int64
	// Shared is the second level; nil for none.
	Shared Shared
}

// Shared is a second level behind the memory, shared with other servers. It is a help
// and never a need: whatever goes wrong with it is a miss.
type Shared interface {
	// Get returns what was put under exactly this key. It never takes long.
	Get(ctx context.Context, key []byte) (result []byte, ok bool)
	// Put keeps an answer, or doesn't. It copies what it needs and doesn't wait.
	Put(key, result []byte)
}

// Cache answers calls of one network from memory where it can.
type Cache struct {
	next    nodegate.Node
	network string
	seed    maphash.Seed
	answers table
	largest atomic.Int64 // the heaviest answer that is kept
	second  *second      // nil without one
	sent    atomic.Uint64
	lost    atomic.Uint64 // the most that a head had: see nodegate.Head

	mu      sync.Mutex
	flights map[uint64]*flight
}

var _ nodegate.Feed = (*Cache)(nil)

// table is what Cache uses of otter's cache. That one is generic: without an interface, every
// package from which its type can be reached compiles all of it again.
type table interface {
	GetIfPresent(key uint64) (*answer, bool)
	Set(key uint64, value *answer) (*answer, bool)
	SetMaximum(maximum uint64)
	EstimatedSize() int
	WeightedSize() uint64
	CleanUp()
}

// share is the part of the budget that one answer may take.
const share = 16

// overhead is what one answer costs beyond its bytes: its own fields, the hash table,
// the queues of the replacement policy and what the allocator rounds up.
const overhead = 256

// New puts a cache over a network's nodes.
func New(next nodegate.Node, cfg Config) *Cache {
	c := &Cache{
		next: next, network: cfg.Network, seed: maphash.MakeSeed(), flights: map[uint64]*flight{},
		answers: otter.Must(&otter.Options[uint64, *answer]{
			MaximumWeight: uint64(max(cfg.Bytes, 1)),
			Weigher:       func(_ uint64, a *answer) uint32 { return uint32(min(a.weight(), math.MaxUint32)) },
		}),
	}
	c.largest.Store(cfg.Bytes / share)
	if cfg.Shared != nil {
		c.second = &second{store: cfg.Shared}
	}
	return c
}

// Resize changes the budget in memory.
func (c *Cache) Resize(bytes int64) {
	c.largest.Store(bytes / share)
	c.answers.SetMaximum(uint64(max(bytes, 1)))
}

// Stats is what the memory holds.
type Stats struct {
	Answers int
	Bytes   int64 // by the cache's own accounts
}

// Stats counts what is kept now; answers that are no longer true count until they
// have fallen out.
func (c *Cache) Stats() Stats {
	return Stats{Answers: c.answers.EstimatedSize(), Bytes: int64(c.answers.WeightedSize())}
}

// Head is the node's.
func (c *Cache) Head(ctx context.Context) (nodegate.Head, error) { return c.next.Head(ctx) }

// Subscribe passes a subscription on where the node below can push events.
func (c *Cache) Subscribe(ctx context.Context, params []byte, take nodegate.Take) error {
	return rpc.Subscribe(ctx, c.next, params, take)
}

// Call answers from memory, from an identical call that is in progress, or from the node.
func (c *Cache) Call(ctx context.Context, name string, params []byte) ([]byte, error) {
	info := method.Of(name)
	if info.Kind != method.Read || info.Truth == method.Never {
		return c.bypass(ctx, info.Kind, name, params, neverKept)
	}
	trace := nodegate.TraceFrom(ctx)
	if trace.Spans {
		return c.traced(ctx, trace, info, name, params)
	}
	return c.find(ctx, trace, info, name, params)
}

// traced is find with a span.
func (c *Cache) traced(ctx context.Context, trace *nodegate.Trace, info *method.Row, name string, params []byte) ([]byte, error) {
	ctx, span := tracing.Start(ctx, "cache")
	result, err := c.find(ctx, trace, info, name, params)
	span.Set("nodegate.cache", trace.Cache.String())
	span.Set("nodegate.reason", trace.Reason)
	span.End(err)
	return result, err
}

// find answers a call whose answers may be kept.
func (c *Cache) find(ctx context.Context, trace *nodegate.Trace, info *method.Row, name string, params []byte) ([]byte, error) {
	key := c.key(name, params)
	found, ok := c.answers.GetIfPresent(key)
	if ok = ok && found.isFor(name, params); ok && found.life == byHash {
		found.tell(trace)
		return found.result, nil
	}
	head, err := c.next.Head(ctx)
	lost := c.lostBy(head, err)
	why := notThere
	if ok && (err == nil || found.life == always) {
		if why = found.spoiled(head, lost); why == "" {
			found.tell(trace)
			return found.result, nil
		}
	}
	p := planFor(info, params, head, err == nil)
	if p.reason == pending {
		return c.bypass(ctx, info.Kind, name, params, pending)
	}
	return c.ask(ctx, trace, call{key: key, name: name, params: params, plan: p, why: why})
}

// lostBy is how often final blocks were taken back, as far as is known now. A network
// that nobody knows the head of has not changed since it was last known.
func (c *Cache) lostBy(head nodegate.Head, err error) uint64 {
	known := c.lost.Load()
	for err == nil && head.Lost > known && !c.lost.CompareAndSwap(known, head.Lost) {
		known = c.lost.Load()
	}
	return c.lost.Load()
}

// bypass passes on what is never kept nor shared.
func (c *Cache) bypass(ctx context.Context, kind method.Kind, name string, params []byte, reason string) ([]byte, error) {
	trace := nodegate.TraceFrom(ctx)
	trace.Cache, trace.Reason = nodegate.CacheBypass, reason
	result, err := c.next.Call(ctx, name, params)
	if kind == method.Send || kind == method.Other {
		c.sent.Add(1) // calls from now on may see what this one did: see stamp
	}
	return result, err
}

// key finds an answer. Two calls may have the same key: answer.isFor tells them apart,
// and nobody outside can know the seed.
func (c *Cache) key(name string, params []byte) uint64 {
	return maphash.Bytes(c.seed, params) ^ bits.RotateLeft64(maphash.String(c.seed, name), 17)
}

// answer is one kept answer, with what it takes to know whether it is still true.
type answer struct {
	name           string
	params, result []byte
	life           life
	level          nodegate.Level // how well it was verified, by so many nodes
	agreed         int
	block          uint64 // that it speaks of, with untilFork
	head, fork     uint64 // before the node was asked
	lost           uint64 // likewise
}

func (a *answer) isFor(name string, params []byte) bool {
	return a.name == name && bytes.Equal(a.params, params)
}

// tell writes to the trace of a call that the answer is given to.
func (a *answer) tell(t *nodegate.Trace) {
	t.Cache, t.Reason = nodegate.CacheHit, ""
	t.Verified, t.Agreed = a.level, a.agreed
}

func (a *answer) weight() int64 { return int64(len(a.params)) + int64(len(a.result)) + overhead }

// spoiled says why an answer is no longer true, or no longer known to be; "" when it
// is good.
func (a *answer) spoiled(head nodegate.Head, lost uint64) string {
	switch {
	case a.life == byHash:
		return ""
	case a.lost != lost:
		return reorganized
	case a.life == always:
		return ""
	case a.fork != head.Fork:
		return reorganized
	case a.life == untilFork && a.block <= head.Finalized:
		return finalNow
	case a.head != head.Number && (a.life == oneBlock || a.fork == 0):
		return newBlock
	}
	return ""
}

// keep stores an answer, if it may be kept. It says why not.
func (c *Cache) keep(f *flight, result []byte) (reason string) {
	p := f.plan.settle(result)
	if p.life == never {
		return p.reason
	}
	a := &answer{
		name: f.name, params: f.params, result: result, life: p.life, block: p.block, level: f.trace.Verified, agreed: f.trace.Agreed,
		head: p.head.Number, fork: p.head.Fork, lost: p.head.Lost,
	}
	if a.weight() > c.largest.Load() {
		return tooLarge
	}
	if now, err := c.next.Head(context.Background()); err == nil && now.Fork != a.fork && p.life != byHash {
		return reorganized // meanwhile: it would never be given out, or the chain was set back
	}
	// The node's bytes may be a part of something larger, which would be kept with them.
	a.result = slices.Clone(result)
	c.answers.Set(f.key, a)
	return ""
}
