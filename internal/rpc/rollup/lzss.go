package rollup

// This file counts what the LZSS compressor of github.com/consensys/compress
// would write, without writing it. The compressor itself is the reference that
// the tests compare with, but it can't face the public: on repetitive input its
// search takes quadratic time (40 s for 256 KiB of two alternating bytes), which
// no deadline can stop. The count needs only the lengths of matches, and those
// are found in bounded time (match.go).

// The format: a header, then symbols and references to earlier bytes. A near
// reference reaches back 2^14 bytes; a far one reaches everything before it and
// the dictionary.
const (
	lzssHeader = 3

	symbolBits = 8
	nearBits   = 8 + 8 + 14 // marker, length, address
	farBits    = 8 + 8 + 21

	nearReach = 1 << 14
	maxMatch  = 1 << 8

	// A shorter match would take more bits than the symbols it stands for.
	minNear = (nearBits + 7) / 8
	minFar  = (farBits + 7) / 8

	// The markers can't stand for themselves: they are always references.
	nearMarker byte = 0xfe
	farMarker  byte = 0xff

	// A run of one byte this long is not searched for matches.
	minRun = 160
)

// reference is the best way to write some bytes as a reference: how many they
// are and the bits it takes. No reference has length 0.
type reference struct{ length, bits int }

// gain is by how many bits the reference beats plain symbols.
func (r reference) gain() int {
	if r.length == 0 {
		return -1 << 30 // worse than any reference there is
	}
	return symbolBits*r.length - r.bits
}

// counter walks over the data as the compressor does.
type counter struct {
	data    []byte
	matches matches
	dict    *dictionary
	bits    int
	work    int // comparisons, as in matches
}

// compressedSize is the length in bytes of what the compressor makes of data. It calls rest
// every few microseconds of its work.
func compressedSize(dict *dictionary, data []byte, rest func()) int {
	c := count(dict, data, rest)
	return lzssHeader + (c.bits+7)/8
}

func count(dict *dictionary, data []byte, rest func()) counter {
	c := counter{data: data, matches: findMatches(data, rest), dict: dict}
	c.work = c.matches.work
	for i := 0; i < len(data); {
		rest()
		if run := runLength(data[i:]); run >= minRun {
			i += c.writeRun(i, run)
		} else {
			i += c.writeBest(i)
		}
	}
	return c
}

// writeRun writes equal bytes as a reference to the byte before them. The first
// byte of a run has to be written for that.
func (c *counter) writeRun(i, run int) int {
	if i == 0 || c.data[i-1] != c.data[i] {
		if isMarker(c.data[i]) {
			c.bits += farBits
		} else {
			c.bits += symbolBits
		}
	}
	c.bits += nearBits
	return run
}

// writeBest writes a symbol or a reference, or puts a reference off when a
// better one starts within the next two bytes. It returns the bytes written.
func (c *counter) writeBest(i int) int {
	best := c.best(i)
	switch {
	case isMarker(c.data[i]):
		return c.write(best)
	case best.length == 0:
		return c.writeSymbols(1)
	case i+1 < len(c.data) && c.best(i+1).gain() > best.gain()+1:
		return c.writeSymbols(1)
	case i+2 < len(c.data) && !isMarker(c.data[i+1]) && c.best(i+2).gain() > best.gain()+2:
		return c.writeSymbols(2)
	}
	return c.write(best)
}

func (c *counter) write(r reference) int {
	c.bits += r.bits
	return r.length
}

func (c *counter) writeSymbols(n int) int {
	c.bits += n * symbolBits
	return n
}

// best is the reference that gains most at a place. A marker takes any, and the
// dictionary always has one for it.
func (c *counter) best(at int) reference {
	leastNear, leastFar := minNear, minFar
	if isMarker(c.data[at]) {
		leastNear, leastFar = 1, 1
	}
	near := reference{length: int(c.matches.near[at]), bits: nearBits}
	if near.length < leastNear {
		near.length = 0
	}
	far := reference{length: int(c.matches.far[at]), bits: farBits}
	if rest := c.data[at:]; far.length < min(maxMatch, len(rest)) {
		length, work := c.dict.longest(rest)
		far.length = max(far.length, length)
		c.work += work
	}
	if far.length < leastFar {
		far.length = 0
	}
	if near.gain() > far.gain() {
		return near
	}
	return far
}

func isMarker(b byte) bool { return b == nearMarker || b == farMarker }

// runLength counts how often the first byte repeats, itself included.
func runLength(data []byte) int {
	n := 1
	for n < min(len(data), maxMatch) && data[n] == data[0] {
		n++
	}
	return n
}
