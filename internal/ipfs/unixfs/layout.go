package unixfs

import (
	"context"

	"github.com/ipfs/go-cid"
)

// child is a finished tree: a leaf, a branch, a directory.
type child struct {
	cid   cid.Cid
	below uint64 // bytes of all blocks in it, each time it occurs: Kubo's Size
	bytes uint64 // of the file's content in it
}

// branch is an inner node of a file while it is filled. Links and sizes are kept
// encoded: what is added last is written once.
type branch struct {
	links []byte
	sizes []byte
	count int
	below uint64
	bytes uint64
}

func (b *branch) add(c child) {
	b.links = appendLink(b.links, "", c.cid, c.below)
	b.sizes = appendUint(b.sizes, tagBlockSize, c.bytes)
	b.count++
	b.below += c.below
	b.bytes += c.bytes
}

// finish encodes the branch, stores it and empties it.
func (b *branch) finish(ctx context.Context, a *adder, s stat) (child, error) {
	u := appendUint(append(make([]byte, 0, len(b.sizes)+64), tagKind, kindFile), tagFileSize, b.bytes)
	u = s.append(append(u, b.sizes...))
	block := appendBytes(b.links, tagNodeData, u)
	c, err := a.opts.scheme.sum(cid.DagProtobuf, block)
	if err != nil {
		return child{}, err
	}
	done := child{cid: c, below: b.below + uint64(len(block)), bytes: b.bytes}
	*b = branch{links: block[:0], sizes: b.sizes[:0]}
	return done, a.put(ctx, c, block)
}

// layout links a file's leaves into a tree. The attributes go into its root.
func (a *adder) layout(ctx context.Context, leaves *stream, s stat) (child, error) {
	if a.opts.Trickle {
		return a.trickle(ctx, leaves, -1, s)
	}
	return a.balanced(ctx, leaves, s)
}

// balanced builds a tree whose leaves are all equally deep: levels[0] collects
// leaves, levels[1] full branches of them, and so on.
func (a *adder) balanced(ctx context.Context, leaves *stream, s stat) (child, error) {
	var levels []*branch
	for {
		more, err := leaves.more(ctx)
		if err != nil {
			return child{}, err
		}
		if !more {
			return a.closeLevels(ctx, levels, s)
		}
		if levels, err = a.push(ctx, levels, 0, leaves.take()); err != nil {
			return child{}, err
		}
	}
}

// push adds a child at a level; a branch that is full moves up first.
func (a *adder) push(ctx context.Context, levels []*branch, at int, c child) ([]*branch, error) {
	if at == len(levels) {
		levels = append(levels, &branch{})
	}
	if b := levels[at]; b.count == a.opts.fileLinks {
		full, err := b.finish(ctx, a, stat{})
		if err != nil {
			return nil, err
		}
		if levels, err = a.push(ctx, levels, at+1, full); err != nil {
			return nil, err
		}
	}
	levels[at].add(c)
	return levels, nil
}

// closeLevels finishes the branches from the bottom up; the last one is the root.
func (a *adder) closeLevels(ctx context.Context, levels []*branch, s stat) (child, error) {
	for at := 0; ; at++ {
		if at == len(levels)-1 {
			return levels[at].finish(ctx, a, s)
		}
		c, err := levels[at].finish(ctx, a, stat{})
		if err != nil {
			return child{}, err
		}
		if levels, err = a.push(ctx, levels, at+1, c); err != nil {
			return child{}, err
		}
	}
}

// repeats is how many subtrees of each depth a trickle tree has before a deeper one.
const repeats = 4

// trickle builds a tree that is good for reading from the start: leaves first, then
// ever deeper subtrees. It goes to the given depth, or as far as needed with -1.
func (a *adder) trickle(ctx context.Context, leaves *stream, depth int, s stat) (child, error) {
	b := &branch{}
	for b.count < a.opts.fileLinks {
		more, err := leaves.more(ctx)
		if err != nil {
			return child{}, err
		}
		if !more {
			return b.finish(ctx, a, s)
		}
		b.add(leaves.take())
	}
	for d := 1; depth == -1 || d < depth; d++ {
		for range repeats {
			more, err := leaves.more(ctx)
			if err != nil {
				return child{}, err
			}
			if !more {
				return b.finish(ctx, a, s)
			}
			c, err := a.trickle(ctx, leaves, d, stat{})
			if err != nil {
				return child{}, err
			}
			b.add(c)
		}
	}
	return b.finish(ctx, a, s)
}
