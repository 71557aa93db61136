package blockstore

// marks is a set of numbers in 12 to 24 bytes each, for the blocks that a
// collection has seen.
type marks struct {
	table []uint64 // 0 is free
	count int
}

// markKey names a block by its place, and one way of looking at it. Numbers of
// segments stay below 2^29 and their sizes below 2^35.
func markKey(p position, way uint8) uint64 {
	return uint64(p.segment)<<35 | uint64(p.off/alignment)<<3 | uint64(way)
}

// add reports whether the number is new.
func (m *marks) add(n uint64) bool {
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

func (m *marks) has(n uint64) bool {
	return len(m.table) > 0 && m.table[m.slot(n)] == n
}

// slot is where a number is, or where it would go.
func (m *marks) slot(n uint64) int {
	mask := len(m.table) - 1
	i := int(n*0x9e3779b97f4a7c15>>20) & mask
	for m.table[i] != 0 && m.table[i] != n {
		i = (i + 1) & mask
	}
	return i
}

func (m *marks) grow() {
	old := m.table
	m.table = make([]uint64, max(1024, 2*len(old)))
	for _, n := range old {
		if n != 0 {
			m.table[m.slot(n)] = n
		}
	}
}
