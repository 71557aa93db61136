package unixfs

import (
	"context"
	"io"
	"testing"

	"github.com/ipfs/go-cid"

	"github.com/nodegate/nodegate/internal/fairshare"
)

// watched counts blocks that are read again although it is not the request's turn.
type watched struct {
	*memory
	pool    *fairshare.Pool
	seen    map[string]bool
	without int
}

func (w *watched) Get(ctx context.Context, c cid.Cid) ([]byte, error) {
	if key := c.KeyString(); w.seen[key] && w.pool.Used() == 0 {
		w.without++
	} else {
		w.seen[key] = true
	}
	return w.memory.Get(ctx, c)
}

// TestExportTurns: a CAR that repeats blocks takes turns for each, and rests after them.
func TestExportTurns(t *testing.T) {
	m := newMemory(t)
	at := m.keep(cid.Raw, []byte("leaf"))
	for range 6 {
		at = m.keep(cid.DagProtobuf, inner([]uint64{0, 0}, at, at))
	}
	w := &watched{memory: m, pool: fairshare.New(1, 1), seen: map[string]bool{}}
	rests := 0
	ctx := fairshare.With(t.Context(), w.pool, "a")
	fairshare.TakeTurns(ctx)
	ctx = fairshare.Alone(ctx, func() {}, func() { rests++ })
	e, err := mustFind(t, New(w), at).Export(ctx, ExportOptions{Duplicates: true})
	if err != nil {
		t.Fatal(err)
	}
	clear(w.seen)
	if err := e.Write(ctx, io.Discard); err != nil {
		t.Fatal(err)
	}
	if blocks := 1<<7 - 1; w.without > 0 || rests < 2*blocks-len(m.blocks) {
		t.Errorf("%d blocks were read again without a turn; %d rests for %d blocks", w.without, rests, blocks)
	}
}

// outOfTurn counts writes in turn: a client that doesn't read would hold up others.
type outOfTurn struct {
	pool   *fairshare.Pool
	inTurn int
}

func (w *outOfTurn) Write(data []byte) (int, error) {
	w.inTurn += w.pool.Used()
	return len(data), nil
}

// TestTarTurns: an archive takes a turn for each header, beside those for reading and
// decoding, and writes out of turn.
func TestTarTurns(t *testing.T) {
	m := newMemory(t)
	at := folderBomb(m, 2)
	pool, rests := fairshare.New(1, 1), 0
	ctx := fairshare.With(t.Context(), pool, "a")
	fairshare.TakeTurns(ctx)
	ctx = fairshare.Alone(ctx, func() {}, func() { rests++ })
	tree, err := New(m).Get(ctx, at.String())
	if err != nil {
		t.Fatal(err)
	}
	rests = 0
	out := &outOfTurn{pool: pool}
	if err := tree.WriteTar(ctx, out, false); err != nil {
		t.Fatal(err)
	}
	if entries := 1 + 16 + 16*16; rests < 3*(entries-1)+1 || out.inTurn > 0 {
		t.Errorf("%d rests for %d entries, %d writes in turn", rests, entries, out.inTurn)
	}
}
