package logindex

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
)

// Posting is a block of a section whose logs may match.
type Posting struct {
	Block uint16   // its place in the section
	Txs   []uint32 // the transactions whose logs may match, in order; nil: any of them
}

// entries takes a stored list apart, which may be several, one after the other. It moves by
// an index: the list of a popular value has thousands of entries, and moving a slice that the
// garbage collector has to know of takes longer than reading an entry.
type entries struct {
	raw []byte
	at  int
	bad bool

	block uint16
	count int // of transactions; none: any
	room  [maxListed]uint32
}

// reset begins with another list.
func (e *entries) reset(raw []byte) { e.raw, e.at, e.bad = raw, 0, false }

// next moves on to the next entry, whose transactions txs or skip have to pass then.
func (e *entries) next() bool {
	if len(e.raw)-e.at < 2 {
		e.bad = e.bad || e.at < len(e.raw)
		return false
	}
	head := binary.BigEndian.Uint16(e.raw[e.at:])
	e.at += 2
	e.block, e.count = head>>countBits, int(head&maxListed)
	return !e.bad
}

// txs reads the transactions of the entry.
func (e *entries) txs() []uint32 {
	last := uint64(0)
	for i := range e.count {
		v, n := binary.Uvarint(e.raw[e.at:])
		if n <= 0 || v > math.MaxUint32-last || i > 0 && v == 0 {
			e.bad = true
			return nil
		}
		last += v
		e.at += n
		e.room[i] = uint32(last)
	}
	return e.room[:e.count]
}

// skip passes the transactions of the entry.
func (e *entries) skip() {
	at, raw := e.at, e.raw
	for range e.count {
		for at < len(raw) && raw[at] >= 0x80 {
			at++
		}
		at++
	}
	e.at, e.bad = at, e.bad || at > len(raw)
}

// Search looks for what several lists have in common. It can be used again, and is used by
// one goroutine at a time.
type Search struct {
	list, other []Posting
	txs         []uint32 // the memory of all postings' transactions
	entries     entries
}

// Section returns the blocks that may match within a section. Each of lists is what is stored
// for an address or a topic, or for several of which one is enough, one after the other; all
// of them have to be found. Blocks of the list always are added in any case. The result is
// valid until the next call. It is false if a list can't be read.
func (s *Search) Section(lists [][]byte, always []byte) ([]Posting, bool) {
	s.txs = s.txs[:0]
	list, ok := s.common(lists)
	if !ok || len(always) == 0 {
		return list, ok
	}
	list, ok = s.decode(list, always)
	return settle(list), ok
}

// common returns what all lists have.
func (s *Search) common(lists [][]byte) (list []Posting, ok bool) {
	slices.SortFunc(lists, func(a, b []byte) int { return cmp.Compare(len(a), len(b)) })
	if len(lists) == 0 || len(lists[0]) == 0 {
		return nil, true
	}
	list, ok = s.decode(s.list[:0], lists[0])
	list = settle(list)
	s.list = list
	for _, raw := range lists[1:] {
		if !ok || len(list) == 0 {
			break
		}
		list, ok = s.narrow(list, raw)
	}
	return list, ok
}

// decode appends a list as it is.
func (s *Search) decode(dst []Posting, raw []byte) ([]Posting, bool) {
	e := &s.entries
	e.reset(raw)
	for e.next() {
		dst = append(dst, Posting{e.block, s.keep(e.txs())})
	}
	return dst, !e.bad
}

// keep copies transactions to where they are valid as long as the postings.
func (s *Search) keep(txs []uint32) []uint32 {
	if len(txs) == 0 {
		return nil
	}
	first := len(s.txs)
	s.txs = append(s.txs, txs...)
	return s.txs[first:len(s.txs):len(s.txs)]
}

// narrow keeps of a list what is in another, which is read without being decoded whole: the
// other one may have an entry for every block.
func (s *Search) narrow(list []Posting, raw []byte) ([]Posting, bool) {
	e := &s.entries
	e.reset(raw)
	out, i, last := s.other[:0], 0, -1
	for e.next() {
		if int(e.block) <= last {
			return s.intersect(list, raw)
		}
		last = int(e.block)
		for i < len(list) && list[i].Block < e.block {
			i++
		}
		if i < len(list) && list[i].Block == e.block {
			out = s.add(out, list[i], e.txs())
		} else {
			e.skip()
		}
	}
	s.other, s.list = list[:0], out
	return out, !e.bad
}

// add appends a posting as far as other transactions allow it.
func (s *Search) add(out []Posting, p Posting, txs []uint32) []Posting {
	switch {
	case len(txs) == 0:
		return append(out, p)
	case p.Txs == nil:
		return append(out, Posting{p.Block, s.keep(txs)})
	}
	both := s.keep(p.Txs)[:0]
	for _, tx := range p.Txs {
		if _, ok := slices.BinarySearch(txs, tx); ok {
			both = append(both, tx)
		}
	}
	if len(both) == 0 {
		return out
	}
	return append(out, Posting{p.Block, both})
}

// intersect is narrow for a list that is not in order.
func (s *Search) intersect(list []Posting, raw []byte) ([]Posting, bool) {
	other, ok := s.decode(nil, raw)
	other = settle(other)
	var out []Posting
	for _, p := range list {
		i, found := slices.BinarySearchFunc(other, p.Block, func(q Posting, block uint16) int { return cmp.Compare(q.Block, block) })
		if found {
			out = s.add(out, p, other[i].Txs)
		}
	}
	return out, ok
}

// settle puts postings in order and makes one of those of a block. A stored list is not in
// order where a block was written again or replaced, and where it is several.
func settle(l []Posting) []Posting {
	if slices.IsSortedFunc(l, func(a, b Posting) int { return cmp.Or(cmp.Compare(a.Block, b.Block), -1) }) {
		return l
	}
	slices.SortStableFunc(l, func(a, b Posting) int { return cmp.Compare(a.Block, b.Block) })
	kept := l[:0]
	for _, p := range l {
		if n := len(kept); n > 0 && kept[n-1].Block == p.Block {
			kept[n-1].Txs = unite(kept[n-1].Txs, p.Txs)
			continue
		}
		kept = append(kept, p)
	}
	return kept
}

// unite returns the transactions of either; any of them if one says so.
func unite(a, b []uint32) []uint32 {
	if a == nil || b == nil {
		return nil
	}
	all := append(slices.Clone(a), b...)
	slices.Sort(all)
	return slices.Compact(all)
}
