package unixfs

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"

	"github.com/ipfs/go-cid"
	"github.com/ipld/go-ipld-prime/codec/dagcbor"
	"github.com/ipld/go-ipld-prime/datamodel"
	"github.com/ipld/go-ipld-prime/node/basicnode"

	"github.com/nodegate/nodegate/internal/budget"
)

// carReader reads the blocks of a CAR of version 1 or 2 as they come. It does not
// trust lengths, and leaves an index alone.
type carReader struct {
	r     *bufio.Reader
	roots []cid.Cid
	block []byte // used again for each block
	hold  *budget.Hold
}

// maxSection is the length of the longest section: a block and its CID.
const maxSection = MaxBlock + 256

// prefaceV2 is the rest of the start of a version 2: offsets of the data and the
// index.
const prefaceV2 = 40

// carBuffer is how much of a CAR is read at once, and the least that a block is read into.
const carBuffer = 64 << 10

// newCARReader reads the header.
func newCARReader(r io.Reader, hold *budget.Hold) (*carReader, error) {
	if err := hold.Grow(2 * carBuffer); err != nil { // a version 2 has another one inside
		return nil, err
	}
	c := &carReader{r: bufio.NewReaderSize(r, carBuffer), hold: hold}
	version, err := c.header()
	if err != nil || version == 1 {
		return c, err
	}
	if version != 2 {
		return nil, failed("invalid car version: %d", version)
	}
	var preface [prefaceV2]byte
	if _, err := io.ReadFull(c.r, preface[:]); err != nil {
		return nil, carError(err)
	}
	offset := binary.LittleEndian.Uint64(preface[16:])
	size := binary.LittleEndian.Uint64(preface[24:])
	const read = 11 + prefaceV2
	if offset < read || offset > read+maxCARHeader || size > 1<<62 {
		return nil, failed("invalid car: malformed data offset or size")
	}
	if _, err := c.r.Discard(int(offset - read)); err != nil {
		return nil, carError(err)
	}
	c.r = bufio.NewReaderSize(io.LimitReader(c.r, int64(size)), carBuffer)
	if version, err = c.header(); err == nil && version != 1 {
		err = failed("invalid car version: %d inside version 2", version)
	}
	return c, err
}

// carError is the error of a CAR that ends early or can't be read.
func carError(err error) error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return failedBy(err)
}

// header reads the roots and the version. Version 2 has no roots there.
func (c *carReader) header() (version int64, err error) {
	n, err := binary.ReadUvarint(c.r)
	if err != nil {
		return 0, carError(err)
	}
	if n == 0 || n > maxCARHeader {
		return 0, failed("invalid header: its length is %d", n)
	}
	var raw bytes.Buffer
	if _, err := io.CopyN(&raw, c.r, int64(n)); err != nil {
		return 0, carError(err)
	}
	b := basicnode.Prototype.Any.NewBuilder()
	if err := dagcbor.Decode(b, &raw); err != nil {
		return 0, failed("invalid header: %v", err)
	}
	return c.readHeader(b.Build())
}

func (c *carReader) readHeader(h datamodel.Node) (int64, error) {
	v, err := h.LookupByString("version")
	if err != nil {
		return 0, failed("invalid header: %v", err)
	}
	version, err := v.AsInt()
	if err != nil || version != 1 {
		return version, failedBy(err)
	}
	roots, err := h.LookupByString("roots")
	if err != nil || roots.Kind() != datamodel.Kind_List || roots.Length() > maxRoots {
		return 0, failed("invalid header: it must have a list of at most %d roots", maxRoots)
	}
	c.roots, err = valueLinks(nil, roots)
	return version, err
}

// next returns a block, unchecked. Its bytes are good until the next call.
func (c *carReader) next() (cid.Cid, []byte, error) {
	n, err := binary.ReadUvarint(c.r)
	if err == io.EOF {
		return cid.Undef, nil, io.EOF
	}
	if err != nil {
		return cid.Undef, nil, carError(err)
	}
	if n == 0 || n > maxSection {
		return cid.Undef, nil, failed("invalid section data, length of read beyond allowable maximum: %d", n)
	}
	if uint64(cap(c.block)) < n {
		size := max(n, carBuffer)
		if err := c.hold.Grow(int64(size) - int64(cap(c.block))); err != nil {
			return cid.Undef, nil, err
		}
		c.block = make([]byte, size)
	}
	c.block = c.block[:n]
	if _, err := io.ReadFull(c.r, c.block); err != nil {
		return cid.Undef, nil, carError(err)
	}
	used, id, err := cid.CidFromBytes(c.block)
	if err != nil {
		return cid.Undef, nil, failedBy(err)
	}
	return id, c.block[used:], nil
}

// carHeader is the dag-cbor of {"roots": [root], "version": 1} behind its length.
func carHeader(root cid.Cid) []byte {
	b := append([]byte{0xa2, 0x65}, "roots"...)
	b = append(b, 0x81, 0xd8, tagCID)
	b = append(append(b, cborBytesHead(root.ByteLen()+1)...), 0)
	b = append(b, root.KeyString()...)
	b = append(append(b, 0x67), "version"...)
	b = append(b, 1)
	return append(binary.AppendUvarint(nil, uint64(len(b))), b...)
}

func cborBytesHead(n int) []byte {
	switch {
	case n < 24:
		return []byte{cborBytes<<5 | byte(n)}
	case n < 256:
		return []byte{cborBytes<<5 | 24, byte(n)}
	}
	return []byte{cborBytes<<5 | 25, byte(n >> 8), byte(n)}
}
