package unixfs

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/ipfs/go-cid"
	"github.com/ipld/go-ipld-prime/datamodel"
	"github.com/ipld/go-ipld-prime/node/basicnode"
	"github.com/multiformats/go-multicodec"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/budget"
	"github.com/nodegate/nodegate/internal/fairshare"
)

// inTurns is the context of a request that takes turns from the start, and counts them.
func inTurns(t *testing.T, pool *fairshare.Pool) (ctx context.Context, turns *int) {
	t.Helper()
	ctx, turns = fairshare.With(t.Context(), pool, "a"), new(int)
	fairshare.TakeTurns(ctx)
	return fairshare.Alone(ctx, func() {}, func() { *turns++ }), turns
}

// TestPutTakesTurns: a value is decoded and encoded in one turn.
func TestPutTakesTurns(t *testing.T) {
	pool, m := fairshare.New(1, 1), newMemory(t)
	opts, err := ParseDagPut(query(t, ""), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]int{}
	decode, encode := opts.input.decode, opts.store.encode
	opts.input.decode = func(a datamodel.NodeAssembler, r io.Reader) error { used["decode"] = pool.Used(); return decode(a, r) }
	opts.store.encode = func(n datamodel.Node, w io.Writer) error { used["encode"] = pool.Used(); return encode(n, w) }
	ctx, _ := inTurns(t, pool)
	if _, err := New(m).DagPut(ctx, m.Begin("a", -1), bytes.NewReader(bodyOf(file("x", `{"a":[1]}`))), boundary, opts); err != nil {
		t.Fatal(err)
	}
	if used["decode"] != 1 || used["encode"] != 1 || !pool.Idle() {
		t.Errorf("slots in use: %v", used)
	}
}

// TestLargeValuesTakeTurns: a large block waits for its turn although the request has just
// begun, and a small one doesn't.
func TestLargeValuesTakeTurns(t *testing.T) {
	pool := fairshare.New(1, 1)
	for size, want := range map[int]int{largeValue / 2: 0, 2 * largeValue: 1} {
		got := -1
		err := withBlock(fairshare.With(t.Context(), pool, "a"), cid.NewCidV1(cid.DagJSON, nil), fmt.Appendf(nil, `"%s"`, strings.Repeat("x", size)),
			func(datamodel.Node) error { got = pool.Used(); return nil })
		if err != nil || got != want {
			t.Errorf("%d bytes: %v, %d slots", size, err, got)
		}
	}
}

// TestPathsTakeTurns: reading and decoding each block of a path is a turn.
func TestPathsTakeTurns(t *testing.T) {
	m := newMemory(t)
	o := New(m)
	leaf := m.keep(cid.DagCBOR, []byte{0xa1, 0x61, 'x', 0x81, 0x01}) // {"x": [1]}
	at := leaf
	for range 3 {
		at = m.keep(cid.DagProtobuf, append(appendLink(nil, "n", at, 0), simpleNode(kindDirectory, nil, stat{})...))
	}
	path := "/ipfs/" + at.String() + "/n/n/n"
	for name, c := range map[string]struct {
		do   func(context.Context) error
		want int
	}{
		"resolve":    {func(ctx context.Context) error { _, err := o.Resolve(ctx, path); return err }, 6},
		"inside":     {func(ctx context.Context) error { _, err := o.Resolve(ctx, path+"/x/0"); return err }, 8},
		"dag/get":    {func(ctx context.Context) error { _, err := o.DagGet(ctx, path+"/x", "dag-json"); return err }, 10},
		"files/stat": {func(ctx context.Context) error { _, err := o.FileStat(ctx, at.String()); return err }, 1},
	} {
		pool := fairshare.New(1, 1)
		ctx, turns := inTurns(t, pool)
		if err := c.do(ctx); err != nil || *turns < c.want {
			t.Errorf("%s: %v, %d turns, want %d", name, err, *turns, c.want)
		}
	}
}

// hostileValues are values that take very much memory for their bytes.
func hostileValues() map[string]struct {
	code multicodec.Code
	data []byte
} {
	const n = 50_000
	list := []byte{0x99, n >> 8, n & 0xff}
	type block = struct {
		code multicodec.Code
		data []byte
	}
	return map[string]block{
		"json numbers":    {multicodec.DagJson, []byte("[" + strings.Repeat("1,", n) + "1]")},
		"json lists":      {multicodec.DagJson, []byte("[" + strings.Repeat("[],", n) + "1]")},
		"json full lists": {multicodec.DagJson, []byte("[" + strings.Repeat("[1],", n) + "1]")},
		"json maps":       {multicodec.DagJson, []byte("[" + strings.Repeat(`{"":1},`, n) + "1]")},
		"json empty maps": {multicodec.DagJson, []byte("[" + strings.Repeat(`{},`, n) + "1]")},
		"json wide maps":  {multicodec.DagJson, []byte("[" + strings.Repeat(`{"":1,"1":1,"2":1,"3":1,"4":1,"5":1,"6":1,"7":1,"8":1},`, n/10) + "1]")},
		"json strings":    {multicodec.DagJson, []byte("[" + strings.Repeat(`"",`, n) + "1]")},
		"json deep":       {multicodec.DagJson, []byte("[" + strings.Repeat(strings.Repeat("[", 500)+strings.Repeat("]", 500)+",", n/500) + "1]")},
		"cbor numbers":    {multicodec.DagCbor, append(list[:3:3], bytes.Repeat([]byte{1}, n)...)},
		"cbor lists":      {multicodec.DagCbor, append(list[:3:3], bytes.Repeat([]byte{0x80}, n)...)},
		"cbor maps":       {multicodec.DagCbor, append(list[:3:3], bytes.Repeat([]byte{0xa1, 0x60, 1}, n)...)},
		"cbor empty maps": {multicodec.DagCbor, append(list[:3:3], bytes.Repeat([]byte{0xa0}, n)...)},
		"cbor wide map":   {multicodec.DagCbor, wideMap(8000)},
		"cbor promises":   {multicodec.DagCbor, bytes.Repeat([]byte{0xb9, 4, 0, 0x60}, 1000)}, // maps of 1,024 entries in maps, which never come
		"text":            {multicodec.DagJson, fmt.Appendf(nil, `"%s"`, strings.Repeat("x", 1<<20))},
		"links":           {multicodec.DagPb, bytes.Repeat([]byte{0x12, 6, 0x0a, 4, 1, 0x55, 0, 0}, n)},
	}
}

// wideMap is a dag-cbor map of n entries.
func wideMap(n int) []byte {
	b := []byte{0xb9, byte(n >> 8), byte(n)}
	for i := range n {
		b = append(b, 0x62, byte('0'+i>>7), byte(i&0x7f), 1)
	}
	return b
}

// TestValueCost holds the estimate to the memory that values take: at least as much as
// stays, and no multiple of all that is allocated.
func TestValueCost(t *testing.T) {
	for name, block := range hostileValues() {
		c, _ := codecs(uint64(block.code))
		stays, all := decodedBytes(t, c, block.data)
		cost := valueCost(uint64(block.code), block.data)
		t.Logf("%-16s %8d bytes: reserves %5.1f times, stays %5.1f times, allocates %5.1f times", name, len(block.data),
			float64(cost)/float64(len(block.data)), float64(stays)/float64(len(block.data)), float64(all)/float64(len(block.data)))
		if cost < stays {
			t.Errorf("%s: takes %d bytes, and %d are reserved", name, stays, cost)
		}
		if cost > 4*all+1<<16 {
			t.Errorf("%s: %d bytes are reserved, and %d allocated", name, cost, all)
		}
	}
}

// decodedBytes decodes a block and returns what the value takes, and what was allocated for it.
func decodedBytes(t *testing.T, c valueCodec, data []byte) (stays, all int64) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	b := basicnode.Prototype.Any.NewBuilder()
	err := c.decode(b, bytes.NewReader(data))
	var v datamodel.Node
	if err == nil {
		v = b.Build()
	}
	runtime.ReadMemStats(&after)
	all = int64(after.TotalAlloc - before.TotalAlloc)
	runtime.GC()
	runtime.ReadMemStats(&after)
	stays = int64(after.HeapAlloc) - int64(before.HeapAlloc)
	runtime.KeepAlive(b)
	runtime.KeepAlive(v)
	return stays, all
}

// TestValuesHoldMemory: the memory of a value is reserved while it is decoded, a value that
// is too large for the account is refused, and what is left at the end is the encoded bytes.
func TestValuesHoldMemory(t *testing.T) {
	data := hostileValues()["json numbers"].data
	cost := valueCost(uint64(multicodec.DagJson), data)
	for share, want := range map[int64]nodegate.Code{8 * cost: 0, cost / 2: nodegate.TooLarge} {
		all := budget.New(budget.Config{Process: 1 << 30, Account: share})
		hold := all.Hold("a")
		opts, err := ParseDagPut(query(t, ""), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		out, err := opts.convert(budget.WithHold(t.Context(), &hold), data)
		if want == 0 && (err != nil || all.Usage().Highest < cost+int64(len(out))) || want != 0 && nodegate.AsError(err).Code != want {
			t.Errorf("with %d bytes: %v, %+v", share, err, all.Usage())
		}
		if left := all.Usage().Reserved; left > 4*int64(len(out))+4*heldStep {
			t.Errorf("%d bytes stay reserved for %d", left, len(out))
		}
		hold.Release()
	}
	all := budget.New(budget.Config{Process: 1 << 30, Account: 2 * cost})
	other, hold := all.Hold("a"), all.Hold("a")
	if err := other.Grow(2*cost - 100); err != nil {
		t.Fatal(err)
	}
	opts, _ := ParseDagPut(query(t, ""), Limits{})
	if _, err := opts.convert(budget.WithHold(t.Context(), &hold), data); nodegate.AsError(err).Code != nodegate.AccountBusy {
		t.Errorf("beside other requests: %v", err)
	}
}
