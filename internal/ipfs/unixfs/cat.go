package unixfs

import (
	"context"
	"io"
	"math"

	"github.com/ipfs/go-cid"
)

// Span is the part of some content that is wanted. The zero value is nothing of it:
// say ToEnd for all.
type Span struct {
	Offset int64
	Length int64
	ToEnd  bool // Length does not count
}

// opened is a file whose root block was read.
type opened struct {
	root *node
	fs   *unixfs // nil for a raw block
	data []byte  // content in the root itself
	size int64
}

// openFile reads the root of a file and checks what it says about its size.
func (o *Objects) openFile(ctx context.Context, text string) (*opened, error) {
	r, err := o.Resolve(ctx, text)
	if err != nil {
		return nil, err
	}
	n, err := getter(o.get).node(ctx, link{cid: r.CID})
	if err != nil {
		return nil, err
	}
	return fileOf(n)
}

// fileOf takes a node for a file.
func fileOf(n *node) (*opened, error) {
	if n.cid.Type() == cid.Raw {
		return &opened{root: n, data: n.raw, size: int64(len(n.raw))}, nil
	}
	u, err := n.fs()
	if err != nil {
		return nil, err
	}
	switch u.kind {
	case kindFile, kindRaw, kindSymlink:
	case kindDirectory, kindShard:
		return nil, failed("this dag node is a directory")
	default:
		return nil, failed("unrecognized node type")
	}
	f := &opened{root: n, fs: u, data: u.data}
	f.size, err = u.contentSize(n)
	return f, err
}

// contentSize adds up a file's content from what its root says of its children. The
// reader holds every child to that.
func (u *unixfs) contentSize(n *node) (int64, error) {
	if len(u.blockSizes) != len(n.links) {
		return 0, failed("malformed file %s: %d links, but sizes for %d", n.cid, len(n.links), len(u.blockSizes))
	}
	total := uint64(len(u.data))
	for _, s := range u.blockSizes {
		if s > math.MaxInt64-total {
			return 0, failed("malformed file %s: its size is impossible", n.cid)
		}
		total += s
	}
	return int64(total), nil
}

// Content is the wanted part of one or more files, one after the other. It is read
// by Read or WriteTo. A block that is missing or damaged is an error there: what was
// given out before is right, but not all.
type Content struct {
	size   int64
	cids   []cid.Cid
	pieces []*reader
	rest   []byte // of a leaf that Read has begun
}

// Cat opens the files at some paths. Everything is resolved, and the roots are read,
// before it returns. The offset runs over all of them.
func (o *Objects) Cat(ctx context.Context, paths []string, span Span) (*Content, error) {
	if span.Offset < 0 {
		return nil, failed("cannot specify negative offset")
	}
	if span.Length < 0 && !span.ToEnd {
		return nil, failed("cannot specify negative length")
	}
	left := span.Length
	if span.ToEnd {
		left = math.MaxInt64
	}
	c := &Content{}
	for _, text := range paths {
		if left == 0 {
			break
		}
		f, err := o.openFile(ctx, text)
		if err != nil {
			c.Close()
			return nil, err
		}
		c.cids = append(c.cids, f.root.cid)
		skip := min(span.Offset, f.size)
		span.Offset -= skip
		want := min(f.size-skip, left)
		left -= want
		if want > math.MaxInt64-c.size {
			c.Close()
			return nil, failed("the files are too large together")
		}
		c.size += want
		if err := o.limits.Check(c.size); err != nil {
			c.Close()
			return nil, err
		}
		piece := o.reader(ctx, f, skip, want)
		c.pieces = append(c.pieces, piece)
		if err := piece.open(len(c.pieces) == 1, f); err != nil {
			c.Close()
			return nil, err
		}
	}
	return c, nil
}

// Size is how many bytes there are to read.
func (c *Content) Size() int64 { return c.size }

// CIDs are the roots of the files, in order. Those past the wanted part are not
// resolved and missing here.
func (c *Content) CIDs() []cid.Cid { return c.cids }

// Read implements io.Reader.
func (c *Content) Read(b []byte) (int, error) {
	if len(c.rest) == 0 && len(b) > 0 {
		data, err := c.next()
		if err != nil {
			return 0, err
		}
		c.rest = data
	}
	n := copy(b, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// WriteTo implements io.WriterTo: a write for each leaf, without a copy.
func (c *Content) WriteTo(w io.Writer) (int64, error) {
	total := int64(0)
	for {
		data := c.rest
		if len(data) == 0 {
			var err error
			if data, err = c.next(); err == io.EOF {
				return total, nil
			} else if err != nil {
				return total, err
			}
		}
		c.rest = nil
		n, err := w.Write(data)
		total += int64(n)
		if err != nil {
			return total, err
		}
	}
}

// next returns the next leaf's content.
func (c *Content) next() ([]byte, error) {
	for len(c.pieces) > 0 {
		data, err := c.pieces[0].next()
		if err == nil {
			return data, nil
		}
		c.pieces[0].close()
		c.pieces = c.pieces[1:]
		if err != io.EOF {
			c.Close()
			c.pieces = []*reader{{err: err}} // it stays failed
			return nil, err
		}
	}
	return nil, io.EOF
}

// Close ends reading. It never fails.
func (c *Content) Close() error {
	for _, p := range c.pieces {
		p.close()
	}
	c.pieces = nil
	return nil
}
