package blockstore

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
)

// scanWindow is how much a scan reads at once: many small records, or the head of
// a large one.
const scanWindow = 32 << 10

// scanner goes through the records of a segment without reading block bodies.
type scanner struct {
	f      io.ReaderAt
	tag    uint64
	off    int64 // where the next record begins
	end    int64 // the segment's size
	window []byte
	base   int64 // where the window begins
}

func newScanner(f io.ReaderAt, tag uint64, from, end int64) *scanner {
	return &scanner{f: f, tag: tag, off: max(from, segmentHeader), end: end, window: make([]byte, 0, scanWindow)}
}

// next returns the record at the scanner's place and goes behind it. The key is
// valid until the next call. Its error is io.EOF at the end, errTorn for bytes
// that are no record, or what the disk says.
func (s *scanner) next() (r record, off int64, err error) {
	if s.off >= s.end {
		return record{}, s.off, io.EOF
	}
	b, err := s.peek(recordHeader + 255)
	if err != nil {
		return record{}, s.off, err
	}
	r, err = parseHead(b, s.tag)
	if err == nil && s.off+r.size() > alignUp(s.end) {
		err = errTorn // its data is cut off
	}
	if err != nil {
		return record{}, s.off, err
	}
	off = s.off
	s.off += r.size()
	return r, off, nil
}

// alignUp rounds up: the zeros behind the last record may be missing.
func alignUp(n int64) int64 { return (n + alignment - 1) &^ (alignment - 1) }

// peek returns up to n bytes at the scanner's place.
func (s *scanner) peek(n int64) ([]byte, error) {
	n = min(n, s.end-s.off)
	if s.off < s.base || s.off+n > s.base+int64(len(s.window)) {
		want := min(scanWindow, s.end-s.off)
		got, err := s.f.ReadAt(s.window[:want], s.off)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		s.window, s.base = s.window[:got], s.off
	}
	b := s.window[s.off-s.base:]
	return b[:min(n, int64(len(b)))], nil
}

// resync moves to the next place that holds a record. It reports false when there
// is none.
func (s *scanner) resync() bool {
	for s.off += alignment; s.off+recordHeader <= s.end; s.off += alignment {
		b, err := s.peek(recordHeader + 255)
		if err != nil || len(b) < recordHeader {
			return false
		}
		if binary.LittleEndian.Uint64(b) != s.tag {
			continue
		}
		if _, err := parseHead(b, s.tag); err == nil {
			return true
		}
	}
	return false
}

// readData reads the data of the record at off and checks it.
func readData(f io.ReaderAt, r *record, off int64, buf []byte) ([]byte, error) {
	buf = grow(buf, int(r.length))
	if err := readFull(f, buf, off+recordHeader+int64(len(r.key))); err != nil {
		return nil, err
	}
	if crc32.Checksum(buf, crcTable()) != r.dataCRC {
		return nil, errMismatch
	}
	return buf, nil
}

// readFull fills buf or fails; a short file is io.ErrUnexpectedEOF.
func readFull(f io.ReaderAt, buf []byte, off int64) error {
	n, err := f.ReadAt(buf, off)
	switch {
	case n == len(buf):
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	}
	return err
}

// grow returns a slice of n bytes, in buf when they fit.
func grow(buf []byte, n int) []byte {
	if cap(buf) >= n {
		return buf[:n]
	}
	return make([]byte, n)
}
