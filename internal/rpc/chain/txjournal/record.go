package txjournal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// Hash is a hash of a block or a transaction.
type Hash = [32]byte

// Mark is a block.
type Mark struct {
	Number uint64
	Hash   Hash
}

// The kinds of records.
const (
	kindTx     = 1 // a transaction: its hash and its bytes
	kindHead   = 2 // a block that is on disk
	kindRewind = 3 // the chain is about to be set back to a block
)

// A record is its mark, the length of its payload, the checksum of what follows, up to
// where the file was synced, its kind, and the payload.
const (
	headSize   = 4 + 4 + 4 + 8 + 1
	maxPayload = 16 << 20 // far above the largest transaction that is let in
)

// recordMark begins every record, so that the next one is found after damage.
var recordMark = [4]byte{'n', 'g', 't', 'j'}

var checksums = crc32.MakeTable(crc32.Castagnoli)

// ErrDamaged is for a journal that has lost something that was on disk.
var ErrDamaged = errors.New("damaged")

func appendRecord(to []byte, kind byte, synced int64, payload ...[]byte) []byte {
	begin := len(to)
	to = append(to, recordMark[:]...)
	to = append(to, make([]byte, 8)...)
	to = binary.LittleEndian.AppendUint64(to, uint64(synced))
	to = append(to, kind)
	for _, p := range payload {
		to = append(to, p...)
	}
	record := to[begin:]
	binary.LittleEndian.PutUint32(record[4:], uint32(len(record)-headSize))
	binary.LittleEndian.PutUint32(record[8:], crc32.Checksum(record[12:], checksums))
	return to
}

func appendMark(to []byte, kind byte, synced int64, m Mark) []byte {
	return appendRecord(to, kind, synced, binary.LittleEndian.AppendUint64(nil, m.Number), m.Hash[:])
}

// record is one that was read.
type record struct {
	kind    byte
	synced  int64
	payload []byte
	size    int // of the whole record
}

// readRecord reads the record at the beginning of data.
func readRecord(data []byte) (r record, ok bool) {
	if len(data) < headSize || [4]byte(data) != recordMark {
		return r, false
	}
	length := binary.LittleEndian.Uint32(data[4:])
	if length > maxPayload || int(length) > len(data)-headSize {
		return r, false
	}
	r.size = headSize + int(length)
	if crc32.Checksum(data[12:r.size], checksums) != binary.LittleEndian.Uint32(data[8:]) {
		return r, false
	}
	r.synced, r.kind = int64(binary.LittleEndian.Uint64(data[12:])), data[20]
	r.payload = data[headSize:r.size]
	return r, true
}

// scan calls use for each record up to the first that is not whole, and returns where
// that is. Returns ErrDamaged when a later record shows that it was whole once.
func scan(data []byte, use func(at int64, r record) error) (end int64, err error) {
	at := 0
	for at < len(data) {
		r, ok := readRecord(data[at:])
		if !ok {
			return int64(at), damaged(data, at)
		}
		if err := use(int64(at), r); err != nil {
			return int64(at), err
		}
		at += r.size
	}
	return int64(at), nil
}

// damaged looks behind a record that is not whole for one that was written when it was
// on disk already.
func damaged(data []byte, at int) error {
	for next := at + 1; next+headSize <= len(data); next++ {
		r, ok := readRecord(data[next:])
		if ok && r.synced > int64(at) {
			return fmt.Errorf("%w at byte %d", ErrDamaged, at)
		}
		if ok {
			next += r.size - 1
		}
	}
	return nil
}

// mark reads the payload of a head or a rewind.
func (r *record) mark() (m Mark, err error) {
	if len(r.payload) != 8+len(m.Hash) {
		return m, fmt.Errorf("%w: a block of %d bytes", ErrDamaged, len(r.payload))
	}
	m.Number = binary.LittleEndian.Uint64(r.payload)
	copy(m.Hash[:], r.payload[8:])
	return m, nil
}
