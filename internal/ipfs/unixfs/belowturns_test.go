package unixfs

import (
	"context"
	"testing"

	"github.com/ipfs/go-cid"

	"github.com/nodegate/nodegate/internal/fairshare"
)

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
