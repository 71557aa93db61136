package unixfs

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"math"
	"slices"

	"github.com/ipfs/go-cid"

	"github.com/nodegate/nodegate/internal/ipfs/identity"
)

// Scope is how much of a DAG a CAR has.
type Scope uint8

// The scopes, by the trustless gateway's names.
const (
	ScopeAll    Scope = iota // everything below
	ScopeEntity              // a file whole, a directory without what its entries lead to
	ScopeBlock               // one block
)

// ExportOptions are what a CAR shall have. The zero value is a whole DAG, each block
// once.
type ExportOptions struct {
	Scope      Scope
	Bytes      ByteSpan // of a file, with ScopeEntity
	Duplicates bool     // a block stands wherever it is linked
	Limits     Limits
}

// ByteSpan is a part of a file from one byte to another, both in it. Negative ones
// count from the end. The zero value is all.
type ByteSpan struct {
	From, To int64
	Bounded  bool // To counts
}

// within is the span in a file of a size: from, and the first byte after it.
func (s ByteSpan) within(size int64) (from, end int64) {
	from, end = s.From, size
	if from < 0 {
		from = max(0, from+size)
	}
	if s.Bounded && s.To < 0 {
		end = max(0, size+s.To+1)
	} else if s.Bounded && s.To < size {
		end = s.To + 1
	}
	return from, end
}

// Export is a DAG that is about to be written as a CAR.
type Export struct {
	found   *Found
	whole   bool // the blocks on the way to it too
	options ExportOptions
}

// Export opens the DAG at a path. That its root is there is known when it returns.
func (o *Objects) Export(ctx context.Context, text string, limits Limits) (*Export, error) {
	c, _, err := o.BlockGet(ctx, text)
	if err != nil {
		return nil, err
	}
	return &Export{found: &Found{CID: c, objects: o}, options: ExportOptions{Limits: limits}}, nil
}

// Export opens what was found, with the blocks that show the way to it. That its
// root is there is known when it returns.
func (f *Found) Export(ctx context.Context, options ExportOptions) (*Export, error) {
	_, err := f.Block(ctx)
	return &Export{found: f, whole: true, options: options}, err
}

// Root is the root of the CAR.
func (e *Export) Root() cid.Cid { return e.found.CID }

// Write writes a CAR of version 1, parents before children.
func (e *Export) Write(ctx context.Context, w io.Writer) error {
	out := &carWriter{w: bufio.NewWriterSize(w, 256<<10), seen: map[blockKey]struct{}{}, duplicates: e.options.Duplicates, limit: e.options.Limits.blocks()}
	out.reads = e.found.objects.limits
	out.repeats = out.reads.nodes()
	if _, err := out.w.Write(carHeader(e.found.CID)); err != nil {
		return err
	}
	if err := e.write(ctx, out.following(e.found.objects.get)); err != nil {
		return err // nothing was sent yet of a small one, so the client can be told
	}
	return out.w.Flush()
}

// write reads what the CAR shall have; what is read is written.
func (e *Export) write(ctx context.Context, get getter) error {
	if e.whole {
		if _, err := get.resolve(ctx, e.found.path, func(cid.Cid) {}); err != nil {
			return err
		}
	}
	switch e.options.Scope {
	case ScopeAll:
		return everything(ctx, get, e.found.CID, e.options)
	case ScopeEntity:
		return get.entity(ctx, e.found.CID, e.options.Bytes)
	}
	_, err := get(ctx, e.found.CID)
	return err
}

// everything goes through a DAG in order.
func everything(ctx context.Context, get getter, root cid.Cid, o ExportOptions) error {
	if !o.Duplicates {
		return inOrder(ctx, get, root, o.Limits, func(cid.Cid, []byte) error { return nil })
	}
	todo := []step{{root, 0}}
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		data, err := get(ctx, s.cid)
		if err != nil {
			return err
		}
		links, err := linksInTurn(ctx, s.cid, data)
		if err != nil {
			return err
		}
		if s.depth > maxDepth || len(todo)+len(links) > maxPending {
			return tooLarge("too many links at once, or too deep")
		}
		for _, l := range slices.Backward(links) {
			todo = append(todo, step{l, s.depth + 1})
		}
	}
	return nil
}

// carWriter writes blocks as sections.
type carWriter struct {
	w          *bufio.Writer
	head       []byte
	seen       map[blockKey]struct{}
	duplicates bool // a block is written each time again
	count      int
	limit      int

	reads    ReadLimits
	repeats  int   // how much may still be read again
	repeated int64 // bytes that were written again
}

// following returns a getter that writes every block it reads. To read one again is a small
// piece of work, of which there may be many: it waits for the request's turn.
func (c *carWriter) following(get getter) getter {
	return func(ctx context.Context, id cid.Cid) (data []byte, err error) {
		again, err := c.note(id)
		if err != nil {
			return nil, err
		}
		if again {
			data, err = get.inTurn(ctx, id)
		} else {
			data, err = get(ctx, id)
		}
		if err == nil {
			err = c.put(id, data, again)
		}
		return data, err
	}
}

// note counts a block before it is read, and tells whether it was read before.
func (c *carWriter) note(id cid.Cid) (again bool, err error) {
	k := keyOf(id)
	if _, again = c.seen[k]; again {
		err = c.repeat(id)
	}
	c.seen[k] = struct{}{}
	if !again || c.duplicates {
		c.count++
	}
	if err == nil && c.count > c.limit {
		err = tooLarge("too many blocks: at most %d", c.limit)
	}
	return again, err
}

// repeat counts a block that is read again. Written again, it counts as in a listing, but
// for raw blocks: they are content, and lead nowhere.
func (c *carWriter) repeat(id cid.Cid) error {
	if c.repeats--; c.duplicates && id.Type() != cid.Raw {
		c.repeats -= repeatCost
	}
	switch {
	case c.repeats >= 0:
		return nil
	case c.duplicates:
		return tooLarge("the same blocks are linked too often (storage.max_nodes). Export without duplicates instead")
	}
	return tooLarge("the same blocks are linked too often (storage.max_nodes). Export all of the DAG instead")
}

// put writes a block, unless it was written and that is enough.
func (c *carWriter) put(id cid.Cid, data []byte, again bool) error {
	if _, ok := identity.Data(id); ok || again && !c.duplicates {
		return nil
	}
	if again {
		c.repeated += int64(len(data))
		if err := c.reads.Check(c.repeated); err != nil {
			return err
		}
	}
	c.head = binary.AppendUvarint(c.head[:0], uint64(id.ByteLen()+len(data)))
	c.head = append(c.head, id.KeyString()...)
	_, err := c.w.Write(c.head)
	if err == nil {
		_, err = c.w.Write(data)
	}
	return err
}

// entity reads what makes up a file or a directory. Of anything else that is its
// block alone.
func (g getter) entity(ctx context.Context, root cid.Cid, span ByteSpan) error {
	raw, err := g(ctx, root)
	if err != nil || root.Type() != cid.DagProtobuf {
		return err
	}
	n, err := decodeNode(root, raw)
	if err != nil {
		return nil // one block, and it is written
	}
	u, err := n.fs()
	if err != nil {
		return nil
	}
	switch u.kind {
	case kindShard:
		_, err = g.entries(ctx, n, u)
		return err
	case kindFile:
		f, err := fileOf(n)
		if err != nil {
			return err
		}
		from, end := span.within(f.size)
		return g.leaves(ctx, n, u, from, end, nesting{})
	}
	return nil
}

// nesting is how deep a walk is, and what the blocks above hold.
type nesting struct{ depth, bytes int }

// leaves reads the blocks below a node of a file that hold the bytes from one to
// before another.
func (g getter) leaves(ctx context.Context, n *node, u *unixfs, from, end int64, in nesting) error {
	in.depth, in.bytes = in.depth+1, in.bytes+len(n.raw)
	if in.depth > maxDepth || in.bytes > maxPathBytes {
		return failed("malformed file: its blocks are nested too deeply")
	}
	at := int64(len(u.data))
	for i, l := range n.links {
		start, size := at, int64(min(u.blockSizes[i], math.MaxInt64)) // the sizes were checked to fit
		at += size
		if at <= from || start >= end {
			continue
		}
		below, err := g.node(ctx, l)
		if err != nil {
			return err
		}
		if below.cid.Type() == cid.Raw {
			continue
		}
		f, err := fileOf(below)
		if err != nil {
			return err
		}
		if f.size != size {
			return failed("malformed file: block %s holds %d bytes, the block above it says %d", below.cid, f.size, size)
		}
		if err := g.leaves(ctx, below, f.fs, from-start, end-start, in); err != nil {
			return err
		}
	}
	return nil
}
