package verify

// bloomBytes is the length of a bloom filter of logs.
const bloomBytes = 256

// bloomBits are the bits that a value sets in a bloom filter.
type bloomBits [3]uint16

// blooms remembers the bits of values, so that they need not be hashed again: those of the
// last few, because the logs of a receipt often share them, and those of contracts and
// events for longer, because a chain has few that are busy.
type blooms struct {
	tokens [12][]byte
	bits   [12]bloomBits
	next   int
	common [commonValues]struct {
		value [32]byte
		size  int // 0: no value
		bits  bloomBits
	}
}

// commonValues is how many contracts and events are remembered, about 10 kB of them.
const commonValues = 256

func (b *blooms) reset() { clear(b.tokens[:]) }

// addLog adds a log's address and topics to the bloom filter that is being made.
func (s *scratch) addLog(l *logRow) bool {
	if !s.addToBloom(l.fields[logAddress], s.commonBits) {
		return false
	}
	for i, t := range l.topics() {
		bits := s.bitsOf
		if i == 0 { // the event
			bits = s.commonBits
		}
		if !s.addToBloom(t, bits) {
			return false
		}
	}
	return true
}

func (s *scratch) addToBloom(token []byte, bits func([]byte) bloomBits) bool {
	b := &s.blooms
	for i, known := range b.tokens {
		if known != nil && string(known) == string(token) {
			s.set(b.bits[i])
			return true
		}
	}
	hex, ok := digits(token)
	if !ok {
		return false
	}
	if s.buf, ok = appendHex(s.buf[:0], hex); !ok {
		return false
	}
	at := b.next % len(b.tokens)
	b.tokens[at], b.bits[at] = token, bits(s.buf)
	b.next++
	s.set(b.bits[at])
	return true
}

// bitsOf hashes a value.
func (s *scratch) bitsOf(value []byte) (bits bloomBits) {
	sum := s.hash(value)
	for i := range bits {
		bits[i] = (uint16(sum[2*i])<<8 | uint16(sum[2*i+1])) % (8 * bloomBytes)
	}
	return bits
}

// commonBits is bitsOf for values that are likely to come again. Each has one place in the
// table, where the next one that falls there takes over.
func (s *scratch) commonBits(value []byte) bloomBits {
	n := len(value)
	if n == 0 || n > 32 {
		return s.bitsOf(value)
	}
	place := &s.blooms.common[(int(value[n-1])^int(value[n/2])<<1)%commonValues]
	if place.size == n && string(place.value[:n]) == string(value) {
		return place.bits
	}
	copy(place.value[:], value)
	place.size, place.bits = n, s.bitsOf(value)
	return place.bits
}

func (s *scratch) set(bits bloomBits) {
	for _, bit := range bits {
		s.working[bloomBytes-1-bit/8] |= 1 << (bit % 8)
	}
}

// within tells whether every bit of one filter is in another.
func within(inner, outer *[bloomBytes]byte) bool {
	for i, b := range inner {
		if b&^outer[i] != 0 {
			return false
		}
	}
	return true
}
