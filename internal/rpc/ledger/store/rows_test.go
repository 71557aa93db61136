package store

import (
	"bytes"
	"cmp"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// FuzzRows holds the decoders to one form for each value: what decodes encodes to the
// same bytes.
func FuzzRows(f *testing.F) {
	b := testBlock(7, [32]byte{3}, 33, [][32]byte{testHash("tx", 1)})
	b.Withdrawals = []byte{}
	h := b.head(Place{7, 1, b.Hash})
	for kind, row := range [][]byte{
		appendHead(nil, h), appendMark(nil, &Mark{Place: Place{7, 1, b.Hash}, Level: 4, Agreed: 2, Hole: true}), appendRow(nil, &b.Txs[0]),
		appendReceipt(nil, &Receipt{Row{[]byte("data"), []byte("extra")}, 300, 21000}), appendLookup(nil, 1<<40, 1<<20), appendPlace(nil, 1<<40, 255),
		appendState(nil, &state{first: Place{Number: 5}, tip: Place{Number: 9, Branch: 1, Hash: b.Hash}, low: 3}),
	} {
		f.Add(byte(kind), row)
		f.Add(byte(kind), append(row, 0))
		f.Add(byte(kind), row[:len(row)-1])
	}
	f.Add(byte(0), bytes.Repeat([]byte{0xff}, 200))
	f.Fuzz(func(t *testing.T, kind byte, row []byte) {
		again, ok := recode(kind%7, row)
		if ok && !bytes.Equal(again, row) {
			t.Errorf("row %x of kind %d becomes %x", row, kind%7, again)
		}
	})
}

// recode decodes and encodes a row.
func recode(kind byte, row []byte) (again []byte, ok bool) {
	switch kind {
	case 0:
		h, ok := decodeHead(row, 7, 1)
		return appendHead(nil, h), ok
	case 1:
		m, ok := decodeMark(row, 7)
		return appendMark(nil, &m), ok
	case 2:
		r, ok := decodeRow(row)
		return appendRow(nil, &r), ok
	case 3:
		r, ok := decodeReceipt(row)
		return appendReceipt(nil, &r), ok
	case 4:
		n, i, ok := decodeLookup(row)
		return appendLookup(nil, n, i), ok
	case 5:
		n, b, ok := decodePlace(row)
		return appendPlace(nil, n, b), ok
	}
	s, ok := decodeState(row)
	return appendState(nil, s), ok
}

// What was encoded decodes to the same, and no shorter or longer row does.
func TestRows(t *testing.T) {
	bytesOf := rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 40), func(b []byte) []byte {
		if len(b) == 0 {
			return nil
		}
		return b
	})
	hash := rapid.Custom(func(rt *rapid.T) (h [32]byte) {
		copy(h[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(rt, "hash"))
		return h
	})
	rapid.Check(t, func(rt *rapid.T) {
		h := &Head{
			Place: Place{rapid.Uint64().Draw(rt, "number"), rapid.Byte().Draw(rt, "branch"), hash.Draw(rt, "hash")}, Parent: hash.Draw(rt, "parent"),
			Time: rapid.Uint64().Draw(rt, "time"), Level: rapid.Byte().Draw(rt, "level"), Kept: rapid.Bool().Draw(rt, "kept"), Partial: rapid.Bool().Draw(rt, "partial"),
			Header: bytesOf.Draw(rt, "header"), Size: rapid.Uint64().Draw(rt, "size"), Extra: bytesOf.Draw(rt, "extra"),
			Txs: rapid.IntRange(0, maxIndex-1).Draw(rt, "transactions"), Receipts: rapid.IntRange(0, maxIndex-1).Draw(rt, "receipts"),
		}
		if rapid.Bool().Draw(rt, "has withdrawals") {
			h.Withdrawals = append([]byte{}, bytesOf.Draw(rt, "withdrawals")...)
		}
		for range rapid.IntRange(0, 3).Draw(rt, "uncles") {
			h.Uncles = append(h.Uncles, hash.Draw(rt, "uncle"))
		}
		row := appendHead(nil, h)
		if got, ok := decodeHead(row, h.Number, h.Branch); !ok || !reflect.DeepEqual(got, h) {
			rt.Fatalf("head %+v becomes %+v, %v", h, got, ok)
		}
		for n := range row {
			if _, ok := decodeHead(row[:n], h.Number, h.Branch); ok {
				rt.Fatalf("%d of %d bytes decode", n, len(row))
			}
		}
		if _, ok := decodeHead(append(row, 0), h.Number, h.Branch); ok {
			rt.Fatal("a longer row decodes")
		}
		r := &Receipt{Row{bytesOf.Draw(rt, "data"), bytesOf.Draw(rt, "more")}, rapid.Uint64().Draw(rt, "first log"), rapid.Uint64().Draw(rt, "gas")}
		got, ok := decodeReceipt(appendReceipt(nil, r))
		if !ok || got.FirstLog != r.FirstLog || got.GasUsed != r.GasUsed || !bytes.Equal(got.Data, r.Data) || !bytes.Equal(got.Extra, r.Extra) {
			rt.Fatalf("receipt %+v becomes %+v, %v", r, got, ok)
		}
	})
}

// Keys are in the order of heights, branches, parts and indices, and give them back.
func TestKeys(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(name string) (uint64, uint8, part, int) {
			return rapid.Uint64().Draw(rt, name), rapid.Byte().Draw(rt, name), part(rapid.IntRange(0, int(partReceipt)).Draw(rt, name)), rapid.IntRange(0, maxIndex-1).Draw(rt, name)
		}
		n1, b1, p1, i1 := draw("one")
		n2, b2, p2, i2 := draw("other")
		if rapid.Bool().Draw(rt, "same height") {
			n2 = n1
		}
		if rapid.Bool().Draw(rt, "same branch") {
			b2 = b1
		}
		one, other := indexKey(p1, n1, b1, i1), indexKey(p2, n2, b2, i2)
		order := cmp.Or(cmp.Compare(n1, n2), cmp.Compare(b1, b2), cmp.Compare(p1, p2), cmp.Compare(i1, i2))
		if bytes.Compare(one, other) != order {
			rt.Fatalf("%x and %x are in the wrong order", one, other)
		}
		n, b, ok := placeOf(one)
		p, isPart := partOf(one)
		i, whole := indexOf(one)
		if n != n1 || b != b1 || p != p1 || i != i1 || !ok || !isPart || !whole {
			rt.Fatalf("%x gives %d, %d, %d, %d", one, n, b, p, i)
		}
		if _, ok := partOf(orphanKey(n1, b1)); ok || numberOf(markKey(n1)) != n1 {
			rt.Fatalf("%x is part of a block, or %x isn't of its height", orphanKey(n1, b1), markKey(n1))
		}
		for name, ranged := range map[string]struct {
			from, to []byte
			has      bool
		}{
			"part":   {partKey(p1, n1, b1), afterPart(p1, n1, b1), n1 == n2 && b1 == b2 && p1 == p2},
			"block":  {blockKey(n1, b1), afterBlock(n1, b1), n1 == n2 && b1 == b2},
			"height": {heightKey(keyBlock, n1), afterHeight(keyBlock, n1), n1 == n2},
		} {
			if inside := bytes.Compare(other, ranged.from) >= 0 && bytes.Compare(other, ranged.to) < 0; inside != ranged.has {
				rt.Fatalf("%x is in the range of the %s of %x: %v", other, name, one, inside)
			}
		}
	})
}
