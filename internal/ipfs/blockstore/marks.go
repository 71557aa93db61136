package blockstore

// marks is a set of numbers other than 0, in one and a half to three times their size:
// of the blocks that a collection has seen, or that a batch holds.
type marks[N uint32 | uint64] struct {
	table []N // 0 is free
	count int
}

// markKey names a block by its place, and one way of looking at it. Numbers of
// segments stay below 2^29 and their sizes below 2^35.
func markKey(p position, way uint8) uint64 {
	return uint64(p.segment)<<35 | uint64(p.off/alignment)<<3 | uint64(way)
}

// add reports whether the number is new.
func (m *marks[N]) add(n N) bool {
	if m.count*3 >= len(m.table)*2 {
		m.grow()
	}
	i := m.slot(n)
	if m.table[i] == n {
		return false
	}
	m.table[i] = n
	m.count++
	return true
}

// addAll adds all numbers of another set.
func (m *marks[N]) addAll(other *marks[N]) {
	for _, n := range other.table {
		if n != 0 {
			m.add(n)
		}
	}
}

func (m *marks[N]) has(n N) bool {
	return len(m.table) > 0 && m.table[m.slot(n)] == n
}

// slot is where a number is, or where it would go.
func (m *marks[N]) slot(n N) int {
	mask := len(m.table) - 1
	i := int(uint64(n)*0x9e3779b97f4a7c15>>20) & mask
	for m.table[i] != 0 && m.table[i] != n {
		i = (i + 1) & mask
	}
	return i
}

func (m *marks[N]) grow() {
	old := m.table
	m.table = make([]N, max(16, 2*len(old)))
	for _, n := range old {
		if n != 0 {
			m.table[m.slot(n)] = n
		}
	}
}
