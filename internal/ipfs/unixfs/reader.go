package unixfs

import (
	"context"
	"io"

	"github.com/ipfs/go-cid"

	"github.com/nodegate/nodegate/internal/budget"
	"github.com/nodegate/nodegate/internal/fairshare"
)

// reader goes through a part of one file in order, and fetches leaves ahead: reading
// and checking them is work for other cores while this one writes.
type reader struct {
	ctx   context.Context
	stop  context.CancelFunc
	from  *Objects
	ahead *fetchers
	stack []*level // of inner nodes, the root's first
	data  []byte   // found, but not given out yet
	lent  []byte   // the buffer that it, or what was given out last, is in
	skip  int64    // bytes before the wanted part
	left  int64    // bytes of it that are to come
	held  int      // bytes of the blocks on the stack
	under int      // blocks that are fetched ahead
	err   error

	hold         *budget.Hold // of the request
	reserved     int64        // of it, by this reader
	largest      int          // block that was reserved
	asked, leads bool         // whether to fetch far ahead was asked, and the answer
}

// maxAhead is how many blocks of one file are fetched ahead, on all its levels.
const maxAhead = 24

// sharedAhead is how many blocks all readers together fetch ahead before each of them
// is content with one: many clients that don't read must not fill the memory.
const sharedAhead = 96

// readAhead is how much of a file is fetched ahead, by what its blocks say.
const readAhead = 4 << 20

// level is an inner node whose children are being read.
type level struct {
	links []link
	sizes []uint64
	next  int
	ahead map[int]chan fetched
	leafy bool // its children seem to be leaves
	held  int

	reserved int64
}

// fetched is a block, or why there is none.
type fetched struct {
	node *node
	err  error
}

func (o *Objects) reader(ctx context.Context, f *opened, skip, want int64) *reader {
	r := &reader{from: o, skip: skip, left: want, hold: budget.From(ctx)}
	r.ctx, r.stop = ctx, func() {}
	r.data = f.data
	if f.fs != nil && len(f.root.links) > 0 {
		r.ctx, r.stop = context.WithCancel(ctx)
		r.ahead = newFetchers(ctx, o.blocks)
		r.err = r.descend(f.root, f.fs)
	}
	return r
}

// open reserves the root of one of several files, which are all opened before the first of
// them is read. What was reserved for the download is enough for the first.
func (r *reader) open(first bool, f *opened) error {
	if r.err != nil || first {
		return r.err
	}
	cost := int64(len(f.root.raw)) + int64(len(f.root.links))*linkCost
	if err := reserve(r.hold, cost, readLess); err != nil {
		return err
	}
	r.reserved += cost
	return nil
}

// next returns the next bytes, or io.EOF after the last. They are good until the next
// call.
func (r *reader) next() ([]byte, error) {
	for r.err == nil && r.left > 0 {
		if data := r.trim(); len(data) > 0 {
			return data, nil
		}
		r.err = r.advance()
	}
	if r.err == nil {
		r.err = io.EOF
	}
	return nil, r.err
}

// trim cuts what was found down to what is wanted of it.
func (r *reader) trim() []byte {
	data := r.data
	r.data = nil
	skip := min(r.skip, int64(len(data)))
	r.skip -= skip
	data = data[skip:]
	data = data[:min(r.left, int64(len(data)))]
	r.left -= int64(len(data))
	return data
}

// advance reads the next child that has a part of what is wanted.
func (r *reader) advance() error {
	if len(r.stack) == 0 {
		return failed("malformed file: it ends too early")
	}
	top := r.stack[len(r.stack)-1]
	if top.next == len(top.links) {
		r.held -= top.held
		r.hold.Shrink(top.reserved)
		r.reserved -= top.reserved
		r.stack = r.stack[:len(r.stack)-1]
		return nil
	}
	i := top.next
	top.next++
	size := top.sizes[i]
	if r.skip >= int64(size) { // sizes were checked to fit
		r.skip -= int64(size)
		return nil
	}
	n, err := r.fetch(top, i)
	if err == nil {
		err = r.keep(len(n.raw))
	}
	if err != nil {
		return err
	}
	return r.take(top, n, int64(size))
}

// take gives out a leaf, or goes into an inner node.
func (r *reader) take(top *level, n *node, size int64) error {
	r.from.buffers.put(r.lent)
	r.lent = n.lent
	if n.cid.Type() == cid.Raw {
		r.data, top.leafy = n.raw, true
		return r.checkSize(n, int64(len(n.raw)), size)
	}
	f, err := fileOf(n)
	if err != nil {
		return err
	}
	if err := r.checkSize(n, f.size, size); err != nil {
		return err
	}
	r.data = f.data
	top.leafy = len(n.links) == 0
	if top.leafy {
		return nil
	}
	return r.descend(n, f.fs)
}

func (r *reader) checkSize(n *node, got, want int64) error {
	if got != want {
		return failed("malformed file: block %s holds %d bytes, the block above it says %d", n.cid, got, want)
	}
	return nil
}

func (r *reader) descend(n *node, u *unixfs) error {
	if len(r.stack) >= maxDepth || r.held+len(n.raw) > maxPathBytes {
		return failed("malformed file: its blocks are nested too deeply")
	}
	cost := levelCost(n)
	if err := reserve(r.hold, cost, readLess); err != nil {
		return err
	}
	r.held += len(n.raw)
	r.reserved += cost
	r.stack = append(r.stack, &level{links: n.links, sizes: u.blockSizes, held: len(n.raw), reserved: cost, ahead: map[int]chan fetched{}})
	return nil
}

// fetch returns a child of a level, and begins to fetch those that follow it.
func (r *reader) fetch(top *level, i int) (*node, error) {
	r.fetchAhead(top, i)
	if ch, ok := top.ahead[i]; ok {
		delete(top.ahead, i)
		r.under--
		r.from.ahead.Add(-1)
		select {
		case f := <-ch:
			return f.node, f.err
		case <-r.ctx.Done():
			return nil, cancelled(r.ctx.Err())
		}
	}
	return r.from.child(r.ctx, top.links[i], top.sizes[i])
}

// fetchAhead starts what may be in progress after the i-th child. Of inner nodes one
// is enough; the first child tells which they are.
func (r *reader) fetchAhead(top *level, i int) {
	window := 1
	if top.leafy {
		window = int(min(max(readAhead/max(top.sizes[i], 1), 2), 16))
	}
	if window > 1 && (r.from.ahead.Load() >= sharedAhead || !r.mayLead()) {
		window = 1
	}
	reach := r.skip + r.left - int64(top.sizes[i])
	for j := i + 1; j < len(top.links) && j <= i+window && reach > 0 && r.under < maxAhead; j++ {
		reach -= int64(top.sizes[j])
		if _, under := top.ahead[j]; under {
			continue
		}
		ch := make(chan fetched, 1)
		top.ahead[j] = ch
		r.under++
		r.from.ahead.Add(1)
		r.ahead.do(func() {
			n, err := r.from.child(fairshare.Others(r.ctx), top.links[j], top.sizes[j])
			ch <- fetched{n, err}
		})
	}
}

// reuser is a store that can read into memory that it is given.
type reuser interface {
	// GetTo is Get into buf, when the block fits its capacity.
	GetTo(ctx context.Context, c cid.Cid, buf []byte) ([]byte, error)
}

// smallLeaf is a leaf whose memory is not worth keeping.
const smallLeaf = 32 << 10

// child reads a node that says to have so much content. A large one is read into a
// buffer, which is the node's until the reader gives it back.
func (o *Objects) child(ctx context.Context, l link, size uint64) (*node, error) {
	store, ok := o.blocks.(reuser)
	if !ok || size < smallLeaf || size > MaxBlock {
		return getter(o.get).node(ctx, l)
	}
	buf := o.buffers.get(int(size))
	raw, err := inlineOr(func(ctx context.Context, c cid.Cid) ([]byte, error) { return store.GetTo(ctx, c, buf[:0]) })(ctx, l.cid)
	if err != nil {
		return nil, err
	}
	n, err := decodeNode(l.cid, raw)
	if err == nil && len(raw) > 0 && &raw[0] == &buf[0] {
		n.lent = buf
	}
	return n, err
}

// close ends what is in progress.
func (r *reader) close() {
	if r.stop != nil {
		r.stop()
	}
	r.ahead.close()
	if r.under > 0 {
		r.from.ahead.Add(-int64(r.under))
		r.under = 0
	}
	r.hold.Shrink(r.reserved)
	r.reserved = 0
	if r.err == nil {
		r.err = cancelled(context.Canceled)
	}
}
