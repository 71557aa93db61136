package blockstore

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// A segment begins with a header and goes on with records, each at a multiple of
// eight bytes. The tag is random for each segment and stands before each record:
// after damage the next record is found by it, and content can't imitate it.
//
//	segment: magic 8 | tag 8 | number 4 | CRC of the 20 bytes before 4 | zero 8
//	record:  tag 8 | kind 1 | key length 1 | zero 2 | data length 4 | batch 8 | time 8 |
//	         CRC of data 4 | CRC of the 36 bytes before and the key 4 | key | data | zero to a multiple of 8
const (
	segmentMagic  = "NGBLOCK1"
	segmentHeader = 32
	recordHeader  = 40
	alignment     = 8
)

// kind says what a record holds.
type kind uint8

const (
	kindBlock  kind = 1 // key: multihash; data: the block. Counts once its batch commits; batch 0: at once
	kindTouch  kind = 2 // data: multihashes of stored blocks that the batch put again
	kindCommit kind = 3 // data: a commit. Ends its batch; batch 0: carried over by compaction
	kindVoid   kind = 4 // data: nothing that counts, and most of it a hole in the file; its checksum is not set
)

// record is the head of one record.
type record struct {
	kind    kind
	key     []byte
	length  uint32 // of the data
	batch   uint64
	time    int64 // when a block of batch 0 was last put; else when it was written
	dataCRC uint32
}

// size is how many bytes the record takes in its segment.
func (r *record) size() int64 { return recordSize(len(r.key), int(r.length)) }

func recordSize(key, data int) int64 {
	return int64(recordHeader+key+data+alignment-1) &^ (alignment - 1)
}

// crcTable returns the table of CRC-32C, which processors compute by themselves.
func crcTable() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// appendHead encodes all of a record that stands before its data.
func (r *record) appendHead(dst []byte, tag uint64) []byte {
	start := len(dst)
	dst = binary.LittleEndian.AppendUint64(dst, tag)
	dst = append(dst, byte(r.kind), byte(len(r.key)), 0, 0)
	dst = binary.LittleEndian.AppendUint32(dst, r.length)
	dst = binary.LittleEndian.AppendUint64(dst, r.batch)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(r.time))
	dst = binary.LittleEndian.AppendUint32(dst, r.dataCRC)
	crc := crc32.Update(crc32.Checksum(dst[start:], crcTable()), crcTable(), r.key)
	dst = binary.LittleEndian.AppendUint32(dst, crc)
	return append(dst, r.key...)
}

// errTorn is what a scan says of bytes that are no record.
var errTorn = errors.New("no record")

// parseHead decodes what appendHead wrote. The key aliases b.
func parseHead(b []byte, tag uint64) (record, error) {
	if len(b) < recordHeader || binary.LittleEndian.Uint64(b) != tag {
		return record{}, errTorn
	}
	keyLength := int(b[9])
	if len(b) < recordHeader+keyLength {
		return record{}, errTorn
	}
	key := b[recordHeader : recordHeader+keyLength]
	crc := crc32.Update(crc32.Checksum(b[:36], crcTable()), crcTable(), key)
	if crc != binary.LittleEndian.Uint32(b[36:]) {
		return record{}, errTorn
	}
	return record{
		kind: kind(b[8]), key: key,
		length:  binary.LittleEndian.Uint32(b[12:]),
		batch:   binary.LittleEndian.Uint64(b[16:]),
		time:    int64(binary.LittleEndian.Uint64(b[24:])),
		dataCRC: binary.LittleEndian.Uint32(b[32:]),
	}, nil
}

func encodeSegmentHeader(number uint32, tag uint64) []byte {
	b := make([]byte, 0, segmentHeader)
	b = append(b, segmentMagic...)
	b = binary.LittleEndian.AppendUint64(b, tag)
	b = binary.LittleEndian.AppendUint32(b, number)
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, crcTable()))
	return b[:segmentHeader]
}

// segmentTag reads a segment's tag from its first bytes. When the header is
// damaged, the first record shows it, and its checksum confirms it.
func segmentTag(b []byte) (uint64, bool) {
	if len(b) < segmentHeader {
		return 0, false
	}
	if string(b[:8]) == segmentMagic && crc32.Checksum(b[:20], crcTable()) == binary.LittleEndian.Uint32(b[20:]) {
		return binary.LittleEndian.Uint64(b[8:]), true
	}
	first := b[segmentHeader:]
	if len(first) < recordHeader {
		return 0, false
	}
	tag := binary.LittleEndian.Uint64(first)
	_, err := parseHead(first, tag)
	return tag, err == nil
}
