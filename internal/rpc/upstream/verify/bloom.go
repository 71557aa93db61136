package verify

// bloomBytes is the length of a bloom filter of logs.
const bloomBytes = 256

// blooms remembers the bits of the last values: the logs of a receipt often share their
// contract and their first topic.
type blooms struct {
	tokens [12][]byte
	bits   [12][3]uint16
	next   int
}

func (b *blooms) reset() { clear(b.tokens[:]) }

// addLog adds a log's address and topics to the bloom filter that is being made.
func (s *scratch) addLog(l *logRow) bool {
	if !s.addToBloom(l.fields[logAddress]) {
		return false
	}
	for _, t := range l.topics() {
		if !s.addToBloom(t) {
			return false
		}
	}
	return true
}

func (s *scratch) addToBloom(token []byte) bool {
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
	sum := s.hash(s.buf)
	at := b.next % len(b.tokens)
	for i := range b.bits[at] {
		b.bits[at][i] = (uint16(sum[2*i])<<8 | uint16(sum[2*i+1])) % (8 * bloomBytes)
	}
	b.tokens[at] = token
	b.next++
	s.set(b.bits[at])
	return true
}

func (s *scratch) set(bits [3]uint16) {
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
