package unixfs

import (
	"bytes"
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
// decoding what it has not met just before, and writes out of turn.
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
	if entries := 1 + 16 + 16*16; rests < entries+2*2 || out.inTurn > 0 {
		t.Errorf("%d rests for %d entries, %d writes in turn", rests, entries, out.inTurn)
	}
}

// TestTarOfTheSame: what an archive has many times is read once, and an entry without a time has
// a header of one block.
func TestTarOfTheSame(t *testing.T) {
	m := newMemory(t)
	at := folderBomb(m, 2)
	tree, err := New(m).Get(t.Context(), at.String())
	if err != nil {
		t.Fatal(err)
	}
	before := m.gets
	var out bytes.Buffer
	if err := tree.WriteTar(t.Context(), &out, false); err != nil {
		t.Fatal(err)
	}
	if n := m.gets - before; n != 2 {
		t.Errorf("%d reads of two blocks", n)
	}
	if entries := 1 + 16 + 16*16; out.Len() != (entries+2)*512 {
		t.Errorf("%d bytes for %d entries", out.Len(), entries)
	}
}

// TestRemembering: the blocks read last are not read again, but older and large ones are.
func TestRemembering(t *testing.T) {
	m, reads := newMemory(t), 0
	get := remembering(func(ctx context.Context, c cid.Cid) ([]byte, error) { reads++; return m.Get(ctx, c) })
	ask := func(c cid.Cid, data []byte, want int) {
		t.Helper()
		if got, err := get(t.Context(), c); err != nil || !bytes.Equal(got, data) || reads != want {
			t.Fatalf("%d bytes, %v after %d reads, want %d", len(got), err, reads, want)
		}
	}
	large := make([]byte, rememberedBytes+1)
	tooLarge := m.keep(cid.Raw, large)
	ask(tooLarge, large, 1)
	ask(tooLarge, large, 2)
	first := m.keep(cid.Raw, []byte{0})
	ask(first, []byte{0}, 3)
	ask(first, []byte{0}, 3)
	for i := range rememberedBlocks {
		b := []byte{1, byte(i)}
		ask(m.keep(cid.Raw, b), b, 4+i)
	}
	ask(first, []byte{0}, 4+rememberedBlocks)
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := get(ended, first); err == nil {
		t.Error("a request that has ended reads on")
	}
}
