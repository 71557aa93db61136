package rollup

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
)

// matches has, for every place in the data, the length of the longest match
// that starts before it: within nearReach, and anywhere.
type matches struct {
	near, far []uint16
	work      int // comparisons of at most maxMatch bytes, which the time consists of
}

// findMatches sorts all places by what follows them. The longest match of a
// place among some others is then with one of its two neighbors among them, so
// it is enough to keep the ranks of the places in reach in a set with neighbors.
// That bounds the time whatever the data.
func findMatches(data []byte, rest func()) matches {
	m := matches{near: make([]uint16, len(data)), far: make([]uint16, len(data))}
	var sorted []int32
	sorted, m.work = sortPlaces(data, rest)
	rank := make([]int32, len(data))
	for r, place := range sorted {
		rank[place] = int32(r)
	}
	near, far := newRankSet(len(data)), newRankSet(len(data))
	for i := range data {
		if i%restEvery == 0 {
			rest()
		}
		r := int(rank[i])
		m.near[i] = longestIn(near, r, data, sorted)
		m.far[i] = longestIn(far, r, data, sorted)
		m.work += 4
		near.add(r)
		far.add(r)
		if i >= nearReach {
			near.remove(int(rank[i-nearReach]))
		}
	}
	return m
}

// restEvery is how many steps of a few hundred nanoseconds come between two rests.
const restEvery = 16

// longestIn is the longest match of the place with this rank among a set.
func longestIn(set rankSet, r int, data []byte, sorted []int32) uint16 {
	length := 0
	for _, neighbor := range [2]int{set.below(r), set.above(r)} {
		if neighbor >= 0 {
			length = max(length, commonPrefix(data[sorted[r]:], data[sorted[neighbor]:]))
		}
	}
	return uint16(length)
}

// sortPlaces orders the places of data by the bytes that follow, as many as a
// match can have. It also returns how many comparisons that took.
func sortPlaces(data []byte, rest func()) (places []int32, work int) {
	places = make([]int32, len(data))
	for i := range places {
		places[i] = int32(i)
	}
	slices.SortFunc(places, func(a, b int32) int {
		if work++; work%restEvery == 0 {
			rest()
		}
		return bytes.Compare(atMost(data[a:]), atMost(data[b:]))
	})
	return places, work
}

// atMost cuts what no match can reach.
func atMost(b []byte) []byte { return b[:min(len(b), maxMatch)] }

// commonPrefix is how many first bytes a and b share, up to maxMatch. It takes
// eight at a time, because in repetitive data every match has full length.
func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b), maxMatch)
	i := 0
	for ; i+8 <= n; i += 8 {
		if diff := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); diff != 0 {
			return i + bits.TrailingZeros64(diff)/8
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// dictionary is an index over bytes that matches may also start in.
type dictionary struct {
	data   []byte
	sorted []int32
}

// newDictionary adds the two markers where one is missing, as the format wants.
func newDictionary(data []byte) *dictionary {
	if bytes.IndexByte(data, nearMarker) < 0 || bytes.IndexByte(data, farMarker) < 0 {
		data = append(slices.Clip(data), nearMarker, farMarker)
	}
	sorted, _ := sortPlaces(data, func() {})
	return &dictionary{data: data, sorted: sorted}
}

// longest is the length of the longest prefix of s in the dictionary, and how many
// comparisons it took to find it.
func (d *dictionary) longest(s []byte) (length, work int) {
	s = atMost(s)
	i, _ := slices.BinarySearchFunc(d.sorted, s, func(place int32, s []byte) int {
		work++
		return bytes.Compare(atMost(d.data[place:]), s)
	})
	for _, place := range d.sorted[max(i-1, 0):min(i+1, len(d.sorted))] {
		length = max(length, commonPrefix(s, d.data[place:]))
		work++
	}
	return length, work
}

// rankSet is a set of numbers that knows the neighbors of a number. The first
// level has a bit for each number; each further level has a bit for each word of
// the level before, set when that word is not zero.
type rankSet struct{ levels [][]uint64 }

func newRankSet(n int) rankSet {
	var s rankSet
	for {
		n = (n + 63) / 64
		s.levels = append(s.levels, make([]uint64, n))
		if n <= 1 {
			return s
		}
	}
}

func (s rankSet) add(x int) {
	for _, level := range s.levels {
		level[x/64] |= 1 << (x % 64)
		x /= 64
	}
}

func (s rankSet) remove(x int) {
	for _, level := range s.levels {
		level[x/64] &^= 1 << (x % 64)
		if level[x/64] != 0 {
			return
		}
		x /= 64
	}
}

// below is the largest number in the set that is less than x, or -1.
func (s rankSet) below(x int) int {
	for h, level := range s.levels {
		if word := level[x/64] & (1<<(x%64) - 1); word != 0 {
			found := x/64*64 + bits.Len64(word) - 1
			for h--; h >= 0; h-- {
				found = found*64 + bits.Len64(s.levels[h][found]) - 1
			}
			return found
		}
		x /= 64
	}
	return -1
}

// above is the smallest number in the set that is greater than x, or -1.
func (s rankSet) above(x int) int {
	for h, level := range s.levels {
		if word := level[x/64] &^ (2<<(x%64) - 1); word != 0 {
			found := x/64*64 + bits.TrailingZeros64(word)
			for h--; h >= 0; h-- {
				found = found*64 + bits.TrailingZeros64(s.levels[h][found])
			}
			return found
		}
		x /= 64
	}
	return -1
}
