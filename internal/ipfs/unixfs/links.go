package unixfs

import (
	"bytes"
	"encoding/binary"

	"github.com/ipfs/go-cid"
	"github.com/ipld/go-ipld-prime/codec/dagjson"
	"github.com/ipld/go-ipld-prime/datamodel"
	cidlink "github.com/ipld/go-ipld-prime/linking/cid"
	"github.com/ipld/go-ipld-prime/node/basicnode"
)

// Links are the CIDs that a block links to, in order, repeated ones too. Blocks of
// codecs without links, or that are not known, have none.
//
// Returns ExecutionFailed for a block that is not what its codec says.
func Links(c cid.Cid, data []byte) ([]cid.Cid, error) {
	switch c.Type() {
	case cid.DagProtobuf:
		n, err := decodeNode(c, data)
		if err != nil {
			return nil, err
		}
		list := make([]cid.Cid, len(n.links))
		for i, l := range n.links {
			list[i] = l.cid
		}
		return list, nil
	case cid.DagCBOR:
		return cborLinks(data)
	case cid.DagJSON:
		return jsonLinks(data)
	}
	return nil, nil
}

// cborScan finds the links in dag-cbor without building values: it goes over the
// heads of items with a count of open ones.
type cborScan struct {
	rest  []byte
	links []cid.Cid
	open  []uint64 // items that are to come, for each open list or map
}

// The major types of CBOR, and the tag of a link.
const (
	cborBytes = 2
	cborText  = 3
	cborList  = 4
	cborMap   = 5
	cborTag   = 6
	tagCID    = 42
)

func cborLinks(data []byte) ([]cid.Cid, error) {
	s := &cborScan{rest: data, open: []uint64{1}}
	for len(s.open) > 0 {
		last := len(s.open) - 1
		if s.open[last] == 0 {
			s.open = s.open[:last]
			continue
		}
		s.open[last]--
		if err := s.item(); err != nil {
			return nil, err
		}
	}
	if len(s.rest) > 0 {
		return nil, failed("dag-cbor: %d bytes after the value", len(s.rest))
	}
	return s.links, nil
}

func errCBOR() error { return failed("dag-cbor: invalid block") }

// head cuts off the head of an item.
func (s *cborScan) head() (major byte, value uint64, err error) {
	if len(s.rest) == 0 {
		return 0, 0, errCBOR()
	}
	b := s.rest[0]
	s.rest = s.rest[1:]
	major, info := b>>5, b&31
	if info < 24 {
		return major, uint64(info), nil
	}
	if info > 27 {
		return 0, 0, errCBOR() // of unknown length
	}
	var wide [8]byte
	n := 1 << (info - 24)
	if len(s.rest) < n {
		return 0, 0, errCBOR()
	}
	copy(wide[8-n:], s.rest[:n])
	s.rest = s.rest[n:]
	return major, binary.BigEndian.Uint64(wide[:]), nil
}

func (s *cborScan) item() error {
	major, value, err := s.head()
	if err != nil {
		return err
	}
	switch major {
	case cborBytes, cborText:
		_, err = s.cut(value)
		return err
	case cborList:
		return s.enter(value)
	case cborMap:
		if value > uint64(len(s.rest)) {
			return errCBOR()
		}
		return s.enter(2 * value)
	case cborTag:
		return s.link(value)
	}
	return nil // a number or a simple value: the head was all of it
}

func (s *cborScan) cut(n uint64) ([]byte, error) {
	if n > uint64(len(s.rest)) {
		return nil, errCBOR()
	}
	b := s.rest[:n]
	s.rest = s.rest[n:]
	return b, nil
}

// enter opens a list or map. Each item takes a byte at least.
func (s *cborScan) enter(items uint64) error {
	if items > uint64(len(s.rest)) {
		return errCBOR()
	}
	if len(s.open) >= maxDepth {
		return failed("dag-cbor: nested too deeply")
	}
	s.open = append(s.open, items)
	return nil
}

// link reads what a tag stands before: the only tag in dag-cbor is that of a CID.
func (s *cborScan) link(tag uint64) error {
	major, n, err := s.head()
	if err != nil {
		return err
	}
	if tag != tagCID || major != cborBytes {
		return errCBOR()
	}
	b, err := s.cut(n)
	if err != nil {
		return err
	}
	if len(b) == 0 || b[0] != 0 {
		return errCBOR()
	}
	c, err := cid.Cast(b[1:])
	if err != nil {
		return failed("dag-cbor: %v", err)
	}
	if len(s.links) >= maxLinks {
		return failed("too many links in a block")
	}
	s.links = append(s.links, c)
	return nil
}

func jsonLinks(data []byte) ([]cid.Cid, error) {
	b := basicnode.Prototype.Any.NewBuilder()
	if err := dagjson.Decode(b, bytes.NewReader(data)); err != nil {
		return nil, failedBy(err)
	}
	return valueLinks(nil, b.Build())
}

// valueLinks appends the links in a value. The decoder has bounded how deep it is.
func valueLinks(list []cid.Cid, v datamodel.Node) ([]cid.Cid, error) {
	var err error
	switch v.Kind() {
	case datamodel.Kind_Link:
		l, err := v.AsLink()
		if c, ok := l.(cidlink.Link); ok {
			list = append(list, c.Cid)
		}
		return list, failedBy(err)
	case datamodel.Kind_Map:
		for it := v.MapIterator(); !it.Done() && err == nil; {
			var inner datamodel.Node
			if _, inner, err = it.Next(); err == nil {
				list, err = valueLinks(list, inner)
			}
		}
	case datamodel.Kind_List:
		for it := v.ListIterator(); !it.Done() && err == nil; {
			var inner datamodel.Node
			if _, inner, err = it.Next(); err == nil {
				list, err = valueLinks(list, inner)
			}
		}
	}
	return list, failedBy(err)
}
