package unixfs

import (
	"encoding/binary"
	"errors"
	"os"
	"time"

	"github.com/ipfs/boxo/files"
	"github.com/ipfs/go-cid"
)

// link is one link of a dag-pb block.
type link struct {
	name string
	cid  cid.Cid
	size uint64 // what the block says that all below it takes; not to be trusted
}

// node is a parsed block.
type node struct {
	cid   cid.Cid
	raw   []byte // the whole block
	data  []byte // the dag-pb Data field; nil when there is none
	links []link
	lent  []byte // the buffer that raw is in, if it can be used again
}

// size is the node's cumulative size, as Kubo counts it.
func (n *node) size() uint64 {
	total := uint64(len(n.raw))
	for _, l := range n.links {
		total += l.size
	}
	return total
}

// unixfs is a parsed UnixFS message.
type unixfs struct {
	kind       uint64
	data       []byte
	fileSize   uint64
	blockSizes []uint64
	hashType   uint64
	fanout     uint64
	stat       stat
}

func (u *unixfs) isDir() bool { return u.kind == kindDirectory || u.kind == kindShard }

var errProtobuf = errors.New("protobuf: (PBNode) invalid block")

// field is one field of a protobuf message.
type field struct {
	number uint64
	wire   byte
	value  uint64
	bytes  []byte
}

// nextField cuts a field off b. Groups and unknown wire types are refused.
func nextField(b []byte) (f field, rest []byte, ok bool) {
	key, n := binary.Uvarint(b)
	if n <= 0 || key>>3 == 0 {
		return f, nil, false
	}
	b, f.number, f.wire = b[n:], key>>3, byte(key&7)
	switch f.wire {
	case 0:
		f.value, n = binary.Uvarint(b)
		if n <= 0 {
			return f, nil, false
		}
		return f, b[n:], true
	case 1, 5:
		n = 8 - int(f.wire-1) // 8 bytes or 4
		if len(b) < n {
			return f, nil, false
		}
		f.bytes = b[:n]
		return f, b[n:], true
	case 2:
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			return f, nil, false
		}
		f.bytes = b[n : n+int(size)]
		return f, b[n+int(size):], true
	}
	return f, nil, false
}

// decodeNode parses a block by its codec: dag-pb with its links, raw as data. Other
// codecs have no UnixFS meaning.
func decodeNode(c cid.Cid, raw []byte) (*node, error) {
	n := &node{cid: c, raw: raw}
	switch c.Type() {
	case cid.Raw:
		n.data = raw
		return n, nil
	case cid.DagProtobuf:
		if err := n.parse(raw); err != nil {
			return nil, failed("failed to decode Protocol Buffers: %v (%s)", err, c)
		}
		return n, nil
	}
	return nil, failed("unknown node type")
}

// parse reads a dag-pb block as strictly as its specification: links before data or
// after it, each field once, nothing else.
func (n *node) parse(b []byte) error {
	linksDone := false
	for len(b) > 0 {
		f, rest, ok := nextField(b)
		if !ok || f.wire != 2 || f.number > 2 {
			return errProtobuf
		}
		b = rest
		if f.number == 1 {
			if n.data != nil {
				return errors.New("protobuf: (PBNode) duplicate Data section")
			}
			n.data, linksDone = f.bytes, len(n.links) > 0
			continue
		}
		if linksDone {
			return errors.New("protobuf: (PBNode) duplicate Links section")
		}
		l, err := parseLink(f.bytes)
		if err != nil {
			return err
		}
		if len(n.links) >= maxLinks {
			return errors.New("too many links in a block")
		}
		n.links = append(n.links, l)
	}
	return nil
}

// parseLink reads a link: hash, name, size in this order, each at most once.
func parseLink(b []byte) (l link, err error) {
	last := uint64(0)
	for len(b) > 0 {
		f, rest, ok := nextField(b)
		if !ok || f.number > 3 || f.number <= last {
			return l, errors.New("protobuf: (PBLink) invalid link")
		}
		b, last = rest, f.number
		switch {
		case f.number == 1 && f.wire == 2:
			if l.cid, err = cid.Cast(f.bytes); err != nil {
				return l, errors.New("invalid Hash field found in link, expected CID (" + err.Error() + ")")
			}
		case f.number == 2 && f.wire == 2:
			l.name = string(f.bytes)
		case f.number == 3 && f.wire == 0:
			l.size = f.value
		default:
			return l, errors.New("protobuf: (PBLink) wrong wireType")
		}
	}
	if !l.cid.Defined() {
		return l, errors.New("invalid Hash field found in link, expected CID")
	}
	return l, nil
}

// decodeUnixFS parses the message inside a dag-pb block.
func decodeUnixFS(b []byte) (*unixfs, error) {
	u, kinded := &unixfs{}, false
	for len(b) > 0 {
		f, rest, ok := nextField(b)
		if !ok {
			return nil, failed("proto: cannot parse invalid wire-format data")
		}
		b = rest
		kinded = kinded || f.number == 1 && f.wire == 0
		if !u.set(f) {
			return nil, failed("proto: cannot parse invalid wire-format data")
		}
	}
	if !kinded {
		return nil, failed("proto: required field \"unixfs.v1.pb.Data.Type\" not set")
	}
	return u, nil
}

// set takes over a field; a field that it does not know is ignored.
func (u *unixfs) set(f field) bool {
	switch {
	case f.number == 1 && f.wire == 0:
		u.kind = f.value
	case f.number == 2 && f.wire == 2:
		u.data = f.bytes
	case f.number == 3 && f.wire == 0:
		u.fileSize = f.value
	case f.number == 4 && f.wire == 0:
		u.blockSizes = append(u.blockSizes, f.value)
	case f.number == 4 && f.wire == 2:
		return u.setPacked(f.bytes)
	case f.number == 5 && f.wire == 0:
		u.hashType = f.value
	case f.number == 6 && f.wire == 0:
		u.fanout = f.value
	case f.number == 7 && f.wire == 0:
		u.stat.mode = modeOf(u.kind, f.value)
	case f.number == 8 && f.wire == 2:
		return u.setMtime(f.bytes)
	}
	return true
}

func (u *unixfs) setPacked(b []byte) bool {
	for len(b) > 0 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return false
		}
		u.blockSizes, b = append(u.blockSizes, v), b[n:]
	}
	return true
}

func modeOf(kind, bits uint64) os.FileMode {
	mode := files.UnixPermsToModePerms(uint32(bits & 0xfff))
	switch {
	case mode == 0:
	case kind == kindDirectory, kind == kindShard:
		mode |= os.ModeDir
	case kind == kindSymlink:
		mode |= os.ModeSymlink
	}
	return mode
}

func (u *unixfs) setMtime(b []byte) bool {
	var seconds int64
	var nanos uint32
	known := false
	for len(b) > 0 {
		f, rest, ok := nextField(b)
		if !ok {
			return false
		}
		switch b = rest; {
		case f.number == 1 && f.wire == 0:
			seconds, known = int64(f.value), true
		case f.number == 2 && f.wire == 5:
			nanos = binary.LittleEndian.Uint32(f.bytes)
		}
	}
	if known && nanos <= 999_999_999 {
		u.stat.mtime = time.Unix(seconds, int64(nanos))
	}
	return true
}
