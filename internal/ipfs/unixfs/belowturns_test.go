package unixfs

import (
	"context"
	"testing"

	"github.com/ipfs/go-cid"

	"github.com/nodegate/nodegate/internal/fairshare"
)

// TestWalkTurns: a walk over blocks that are to be pinned, or counted, reads each of them when
// it is the request's turn.
func TestWalkTurns(t *testing.T) {
	m := newMemory(t)
	at := m.keep(cid.DagProtobuf, inner(nil))
	for range 20 { // one below the other, so that no two are read at once
		at = m.keep(cid.DagProtobuf, inner([]uint64{0}, at))
	}
	for name, read := range map[string]func(context.Context, *Objects, Batch) (Walked, error){
		"pin": func(ctx context.Context, o *Objects, b Batch) (Walked, error) {
			return o.Walk(ctx, b, at, Limits{}, func(Walked) {})
		},
		"stat": func(ctx context.Context, o *Objects, _ Batch) (Walked, error) { return o.Stat(ctx, at, Limits{}) },
	} {
		t.Run(name, func(t *testing.T) {
			w := &turnless{memory: m, pool: fairshare.New(1, 1)}
			ctx := fairshare.With(t.Context(), w.pool, "a")
			fairshare.TakeTurns(ctx)
			walked, err := read(ctx, New(w), turnlessBatch{w.Begin("a", 0), w})
			if err != nil || walked.Blocks != int64(len(m.blocks)) || w.without > 0 {
				t.Errorf("%d of %d blocks, %d of them without a turn; %v", walked.Blocks, len(m.blocks), w.without, err)
			}
		})
	}
}

// TestBelowTurns: looking for what is below pins, and checking pins, takes a turn for each
// block and rests after it.
func TestBelowTurns(t *testing.T) {
	m := newMemory(t)
	at := m.keep(cid.DagProtobuf, inner(nil))
	for range 20 {
		at = m.keep(cid.DagProtobuf, inner([]uint64{0}, at))
	}
	for name, read := range map[string]func(context.Context, *Objects) error{
		"below": func(ctx context.Context, o *Objects) error {
			return o.Below(Limits{}, func(cid.Cid) error { return nil }, func(c cid.Cid, err error) { t.Error(c, err) }).Root(ctx, at)
		},
		"check": func(ctx context.Context, o *Objects) error {
			bad, err := NewVerifier(o, Limits{}).Check(ctx, at)
			if len(bad) > 0 {
				t.Error(bad)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, rests := &turnless{memory: m, pool: fairshare.New(1, 1)}, 0
			ctx := fairshare.With(t.Context(), w.pool, "a")
			fairshare.TakeTurns(ctx)
			if err := read(fairshare.Alone(ctx, func() {}, func() { rests++ }), New(w)); err != nil {
				t.Fatal(err)
			}
			if w.without > 0 || rests < len(m.blocks) {
				t.Errorf("%d of %d blocks were read without a turn; %d rests", w.without, len(m.blocks), rests)
			}
		})
	}
}

// turnless counts blocks that are read although it is not the request's turn.
type turnless struct {
	*memory
	pool    *fairshare.Pool
	without int
}

func (w *turnless) Get(ctx context.Context, c cid.Cid) ([]byte, error) {
	if w.pool.Used() == 0 {
		w.without++
	}
	return w.memory.Get(ctx, c)
}

// turnlessBatch is the same for what a batch reads.
type turnlessBatch struct {
	Batch
	w *turnless
}

func (b turnlessBatch) Get(ctx context.Context, c cid.Cid) ([]byte, error) { return b.w.Get(ctx, c) }
