package unixfs

import (
	"encoding/binary"
	"math/bits"
	"os"
	"time"

	"github.com/ipfs/boxo/files"
	"github.com/ipfs/go-cid"
)

// The kinds of UnixFS nodes, as they are numbered on the wire.
const (
	kindRaw       = 0
	kindDirectory = 1
	kindFile      = 2
	kindMetadata  = 3
	kindSymlink   = 4
	kindShard     = 5
)

// The tags of the two protobuf messages that a dag-pb block nests, one byte each.
const (
	tagNodeData  = 0x0a
	tagNodeLink  = 0x12
	tagLinkHash  = 0x0a
	tagLinkName  = 0x12
	tagLinkSize  = 0x18
	tagKind      = 0x08
	tagData      = 0x12
	tagFileSize  = 0x18
	tagBlockSize = 0x20
	tagMode      = 0x38
	tagMtime     = 0x42
	tagSeconds   = 0x08
	tagNanos     = 0x15
)

// stat is what UnixFS 1.5 can keep of a file's attributes. The zero value is nothing.
type stat struct {
	mode  os.FileMode
	mtime time.Time
}

func (s stat) empty() bool { return s.mode == 0 && s.mtime.IsZero() }

// append adds the attributes to a UnixFS message.
func (s stat) append(b []byte) []byte {
	if perms := files.ModePermsToUnixPerms(s.mode) & 0xfff; perms != 0 {
		b = appendUint(b, tagMode, uint64(perms))
	}
	if s.mtime.IsZero() {
		return b
	}
	m := appendUint(make([]byte, 0, 16), tagSeconds, uint64(s.mtime.Unix()))
	if n := s.mtime.Nanosecond(); n > 0 {
		m = binary.LittleEndian.AppendUint32(append(m, tagNanos), uint32(n))
	}
	return appendBytes(b, tagMtime, m)
}

func appendUint(b []byte, tag byte, v uint64) []byte {
	return binary.AppendUvarint(append(b, tag), v)
}

func appendBytes(b []byte, tag byte, v []byte) []byte {
	return append(appendUint(b, tag, uint64(len(v))), v...)
}

// uvarintLen is how many bytes a number takes.
func uvarintLen(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }

// appendLink adds one link to a dag-pb block.
func appendLink(b []byte, name string, c cid.Cid, size uint64) []byte {
	hash := c.ByteLen()
	n := 1 + uvarintLen(uint64(hash)) + hash + 1 + uvarintLen(uint64(len(name))) + len(name) + 1 + uvarintLen(size)
	b = appendUint(b, tagNodeLink, uint64(n))
	b = appendUint(b, tagLinkHash, uint64(hash))
	b = append(b, c.KeyString()...)
	b = appendUint(b, tagLinkName, uint64(len(name)))
	b = append(b, name...)
	return appendUint(b, tagLinkSize, size)
}

// leafRoom is more than a leaf's wrapping takes before its content.
const leafRoom = 32

// wrapLeaf makes a dag-pb leaf of buf[leafRoom:], writing around the content, not
// moving it. It returns the block, which is inside buf or grown from it.
func wrapLeaf(buf []byte, kind byte, s stat) []byte {
	size := uint64(len(buf) - leafRoom)
	var headBytes [leafRoom]byte
	head := append(headBytes[:0], tagKind, kind)
	if size > 0 {
		head = appendUint(head, tagData, size)
	}
	buf = s.append(appendUint(buf, tagFileSize, size))
	var outerBytes [leafRoom]byte
	outer := appendUint(outerBytes[:0], tagNodeData, uint64(len(head)+len(buf)-leafRoom))
	start := leafRoom - len(head) - len(outer)
	copy(buf[start:], outer)
	copy(buf[start+len(outer):], head)
	return buf[start:]
}

// simpleNode is a dag-pb block without links: a symlink or an empty directory.
func simpleNode(kind byte, data []byte, s stat) []byte {
	u := append(make([]byte, 0, 32+len(data)), tagKind, kind)
	if data != nil {
		u = appendBytes(u, tagData, data)
	}
	return appendBytes(nil, tagNodeData, s.append(u))
}
