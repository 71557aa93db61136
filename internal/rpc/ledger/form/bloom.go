package form

import "encoding/binary"

// BloomBytes is the length of a bloom filter of logs.
const BloomBytes = 256

// bloomBits are the bits that a value sets in a bloom filter.
type bloomBits [3]uint16

// blooms remembers the bits of values, because hashing them is most of what a receipt
// costs. Addresses and events have a table of their own: a chain has few that are busy, and
// the other topics, which rarely come again outside one transaction, would drive them out.
type blooms struct {
	common [256]bloomValue
	recent [256]bloomValue
}

type bloomValue struct {
	value [hashBytes]byte
	size  uint8 // 0: no value
	bits  bloomBits
}

// addLog adds a log's address and topics to a bloom filter.
func (s *scratch) addLog(bloom *[BloomBytes]byte, l *Log) {
	set(bloom, s.bits(s.blooms.common[:], l.Address))
	for i := range l.Topics() {
		table := s.blooms.recent[:]
		if i == 0 { // the event
			table = s.blooms.common[:]
		}
		set(bloom, s.bits(table, l.Topic(i)))
	}
}

// bits are the bits of an address or a topic. Each value has one place in the table, where
// the next one that falls there takes over.
func (s *scratch) bits(table []bloomValue, value []byte) bloomBits {
	n := len(value)
	// Small numbers differ in their last bytes, addresses and hashes everywhere.
	mixed := (binary.BigEndian.Uint64(value[n-8:]) ^ binary.BigEndian.Uint64(value[4:])) * 0x9e3779b97f4a7c15
	place := &table[mixed>>48%uint64(len(table))]
	if int(place.size) == n && string(place.value[:n]) == string(value) {
		return place.bits
	}
	sum := s.hash(value)
	copy(place.value[:], value)
	place.size = uint8(n)
	for i := range place.bits {
		place.bits[i] = (uint16(sum[2*i])<<8 | uint16(sum[2*i+1])) % (8 * BloomBytes)
	}
	return place.bits
}

func set(bloom *[BloomBytes]byte, bits bloomBits) {
	for _, bit := range bits {
		bloom[BloomBytes-1-bit/8] |= 1 << (bit % 8)
	}
}

// Bloom adds the logs of a receipt's row to a bloom filter. It returns false when the row
// can't be read; the filter is of no use then.
func (w *Writer) Bloom(bloom *[BloomBytes]byte, row []byte) bool {
	s := w.get()
	defer w.put(s)
	r, ok := readRow(row)
	return ok && s.addLogs(bloom, r.logs)
}

// addLogs adds logs to a bloom filter.
func (s *scratch) addLogs(bloom *[BloomBytes]byte, list cursor) bool {
	logs := Logs{rest: list}
	for logs.Next() {
		s.addLog(bloom, &logs.Log)
	}
	return logs.OK()
}
