package cache

import (
	"context"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
)

// Front stands before a node that answers much by itself faster than a cache helps: an
// embedded chain. It sends the methods that are slow there through a cache, and
// everything else straight to the node.
//
// Tags stay as they are: an answer at latest is kept for as long as the head is the
// same. Nothing on the way changes what the node is asked.
type Front struct {
	next  nodegate.Node
	cache *Cache
}

var _ nodegate.Feed = (*Front)(nil)

// NewFront puts a cache before an embedded chain.
func NewFront(next nodegate.Node, cfg Config) *Front {
	return &Front{next: next, cache: New(next, cfg)}
}

// Call answers from the cache where that pays.
func (f *Front) Call(ctx context.Context, name string, params []byte) ([]byte, error) {
	if Pays(name) {
		return f.cache.Call(ctx, name, params)
	}
	return f.next.Call(ctx, name, params)
}

// Head is the node's.
func (f *Front) Head(ctx context.Context) (nodegate.Head, error) { return f.next.Head(ctx) }

// Subscribe is the node's, where it can push events.
func (f *Front) Subscribe(ctx context.Context, params []byte, take nodegate.Take) error {
	return f.cache.Subscribe(ctx, params, take)
}

// Resize changes the budget in memory.
func (f *Front) Resize(bytes int64) { f.cache.Resize(bytes) }

// Stats counts what is kept now.
func (f *Front) Stats() Stats { return f.cache.Stats() }

// pays tells whether a method's answers are kept before an embedded chain: those that
// take it a hundred times as long as a hit (BenchmarkEmbedded), so that a miss, which costs
// some microseconds, is not felt. A proof takes too little for that: proofs of many
// different slots would get slower by a tenth.
func Pays(name string) bool { return slowEmbedded.Has(name) }

var slowEmbedded = method.SetOf(func(r *method.Row) bool { return r.SlowEmbedded })
