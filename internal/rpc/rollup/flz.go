package rollup

// The numbers of FastLZ, level 1.
const (
	flzSlots    = 1 << 13
	flzDistance = 1<<13 - 1 // how far back a match may be
	flzLiterals = 32        // most bytes of one run without a match
	flzMatch    = 262       // longest match of one instruction
	flzShort    = 6         // a shorter match takes two bytes, not three
	flzTail     = 13        // no match begins this close to the end,
	flzMargin   = 4         // and none reaches closer than this
)

// flzLen is how many bytes FastLZ makes of data. The OP stack's oracle compresses
// with it, so the fee follows it to the byte.
func flzLen(data []byte) int {
	f := flz{data: data}
	anchor, at := 0, 2
	for {
		from, to := f.find(at)
		if to < 0 {
			return f.size + literalSize(len(data)-anchor)
		}
		length := f.match(from, to)
		f.size += literalSize(to-anchor) + matchSize(length)
		// The two places before the next one are looked up later too.
		f.note(to + length)
		f.note(to + length + 1)
		at = to + length + 2
		anchor = at
	}
}

type flz struct {
	data  []byte
	slots [flzSlots]int // where three bytes with a hash were seen last
	size  int
}

// find looks from at on for three bytes that stood before, and returns both places;
// to is negative when there are none.
func (f *flz) find(at int) (from, to int) {
	for ; at < len(f.data)-flzTail; at++ {
		three := f.three(at)
		slot := &f.slots[flzHash(three)]
		from, *slot = *slot, at
		if at-from <= flzDistance && three == f.three(from) {
			return from, at
		}
	}
	return 0, -1
}

// match is how far two places with three equal bytes agree, less two: as the
// format counts.
func (f *flz) match(from, to int) int {
	length := 0
	for end := len(f.data) - flzMargin; to+3+length < end; {
		length++
		if f.data[from+2+length] != f.data[to+2+length] {
			break
		}
	}
	return length
}

func (f *flz) note(at int) { f.slots[flzHash(f.three(at))] = at }

func (f *flz) three(i int) uint32 {
	return uint32(f.data[i]) | uint32(f.data[i+1])<<8 | uint32(f.data[i+2])<<16
}

func flzHash(three uint32) uint32 { return three * 2654435769 >> 19 & (flzSlots - 1) }

// literalSize is what n bytes without a match take: one more for every run of them.
func literalSize(n int) int {
	return n + (n+flzLiterals-1)/flzLiterals
}

// matchSize is what a match takes.
func matchSize(length int) int {
	length--
	size := 3 * (length / flzMatch)
	if length%flzMatch >= flzShort {
		return size + 3
	}
	return size + 2
}
