package unixfs

import (
	"cmp"
	"context"
	"io"
	"sync"
	"time"

	chunk "github.com/ipfs/boxo/chunker"
	"github.com/ipfs/go-cid"

	"github.com/nodegate/nodegate/internal/background"
	"github.com/nodegate/nodegate/internal/budget"
	"github.com/nodegate/nodegate/internal/fairshare"
)

// aheadBytes is how much of one file may be between the reader and the store.
const aheadBytes = 2 << 20

// leaf is one chunk on its way from the body to the store. Leaves are used again:
// a file of any size needs a few.
type leaf struct {
	buf   []byte // leafRoom bytes of room, then the content
	block []byte // the encoded block, inside buf
	size  int    // of the content
	cid   cid.Cid
	err   error
	ready chan struct{}
}

// source cuts the next chunk off a file into buf after leafRoom bytes. It returns
// io.EOF when there is no more.
type source func(buf []byte) ([]byte, error)

// What it costs to cut off a chunk by its content: the library moves what it has read ahead,
// some 256 KiB, for each, and looks at each byte.
const (
	cutWork  = 20 * time.Microsecond
	byteWork = 2 * time.Nanosecond
	cutTurn  = 500 * time.Microsecond // of such work come before a turn: small chunks are many
)

// cutter returns the source for a file's content. It is called, and its chunks are cut, in the
// request's own goroutine.
func (o *Options) cutter(ctx context.Context, r io.Reader) (source, error) {
	if size := o.chunkSize; size > 0 {
		return cutBySize(r, size), nil
	}
	splitter, err := chunk.FromString(r, o.Chunker)
	if err != nil {
		return nil, failedBy(err)
	}
	var work time.Duration
	return func(buf []byte) ([]byte, error) {
		data, err := splitter.NextBytes()
		if err != nil {
			return nil, err
		}
		if work += cutWork + time.Duration(len(data))*byteWork; work >= cutTurn {
			if err := countCut(ctx, work); err != nil {
				return nil, err
			}
			work = 0
		}
		return append(buf[:leafRoom], data...), nil
	}, nil
}

// countCut counts what was cut. That may wait for the client, so it can't be done in a turn.
// The turn after it is for the priority and the rests that come with it.
func countCut(ctx context.Context, work time.Duration) error {
	fairshare.Count(ctx, work)
	if err := fairshare.Do(ctx, func() {}); err != nil {
		return cancelled(err)
	}
	return nil
}

// cutBySize reads chunks of one size straight into their leaves.
func cutBySize(r io.Reader, size int) source {
	ended := false
	return func(buf []byte) ([]byte, error) {
		if ended {
			return nil, io.EOF
		}
		if cap(buf) < leafRoom+size+leafTail {
			buf = make([]byte, leafRoom+size+leafTail)
		}
		n, err := io.ReadFull(r, buf[leafRoom:leafRoom+size])
		switch {
		case err == nil:
		case err == io.ErrUnexpectedEOF: // ReadFull's own: a body that ends early is a badBody
			ended = true
		default:
			return nil, err
		}
		return buf[:leafRoom+n], nil
	}
}

// seal wraps and names a leaf. Hashing is the bulk of the work of adding.
func (l *leaf) seal(o *Options, kind byte, s stat) {
	l.size = len(l.buf) - leafRoom
	codec := uint64(cid.DagProtobuf)
	if o.rawLeaves {
		l.block, codec = l.buf[leafRoom:], cid.Raw
	} else {
		l.block = wrapLeaf(l.buf, kind, s)
	}
	l.cid, l.err = o.scheme.sum(codec, l.block)
}

// seal is the leaf's when it is the upload's turn.
func (a *adder) seal(ctx context.Context, l *leaf, s stat) {
	if err := fairshare.Do(ctx, func() { l.seal(a.opts, a.opts.leafKind(), s) }); err != nil {
		l.err = cancelled(err)
	}
}

func (l *leaf) child() child {
	return child{cid: l.cid, below: uint64(len(l.block)), bytes: uint64(l.size)}
}

// leafPool are the leaves of one upload, with buffers that are reserved.
type leafPool struct {
	list    []*leaf
	size    int // of a leaf's content
	buffers *buffers
	hold    *budget.Hold // memory of the request
	narrow  bool         // there was none for another leaf
}

// get returns the i-th leaf.
func (p *leafPool) get(i int) (*leaf, error) {
	if i < len(p.list) {
		return p.list[i], nil
	}
	if err := p.hold.Grow(p.bytes()); err != nil {
		return nil, err
	}
	return p.add(), nil
}

// spare is a leaf beyond the two that an upload can't do without, or nil when there is
// no memory for it: the upload goes on with those that it has.
func (p *leafPool) spare(i int) *leaf {
	if i < len(p.list) {
		return p.list[i]
	}
	if p.narrow = p.narrow || !p.hold.Try(p.bytes()); p.narrow {
		return nil
	}
	return p.add()
}

func (p *leafPool) add() *leaf {
	l := &leaf{ready: make(chan struct{}, 1), buf: p.buffers.get(p.size)}
	p.list = append(p.list, l)
	return l
}

// bytes is what a leaf's buffer takes.
func (p *leafPool) bytes() int64 { return int64(p.size + wrapping) }

// release gives the buffers back.
func (p *leafPool) release() {
	for _, l := range p.list {
		p.buffers.put(l.buf)
	}
	p.list = nil
}

// leafKind is what leaves are called inside their block: the two layouts differ.
func (o *Options) leafKind() byte {
	if o.Trickle {
		return kindRaw
	}
	return kindFile
}

// ahead is how many leaves may be in progress at once.
func (o *Options) ahead() int {
	size := o.chunkSize
	if size == 0 {
		size = DefaultChunk
	}
	return min(max(aheadBytes/size, 3), 64)
}

// belt carries the leaves of one long file: the caller reads, workers hash, and the
// layout takes them in order. Each channel has room for every leaf there is, so that
// only the wait for a free leaf ever blocks the reader.
type belt struct {
	work, order, free chan *leaf // without workers, work is nil
	leaves            int        // how many are in progress or free
}

// long adds a file of at least two chunks.
func (a *adder) long(ctx context.Context, next source, s stat) (child, error) {
	ctx, stop := context.WithCancelCause(fairshare.Others(ctx)) // workers share it
	defer stop(nil)
	n := a.opts.ahead()
	b := &belt{order: make(chan *leaf, n), free: make(chan *leaf, n)}
	var workers sync.WaitGroup
	if n := hashers(ctx); n > 1 {
		b.work = make(chan *leaf, cap(b.order))
		for range n {
			workers.Go(func() { a.sealAll(ctx, b.work) })
		}
	}
	var root child
	var layoutErr error
	workers.Go(func() {
		if root, layoutErr = a.layout(ctx, &stream{adder: a, belt: b}, s); layoutErr != nil {
			stop(layoutErr)
		}
	})
	for _, l := range a.leaves.list[:2] { // the two that the caller has read
		b.send(l)
	}
	err := a.read(ctx, b, next)
	if b.work != nil {
		close(b.work)
	}
	if err != nil {
		stop(err) // the layout must not take this for the end of the file
	}
	close(b.order)
	workers.Wait()
	return root, failedBy(cmp.Or(err, layoutErr))
}

// hashers is how many goroutines hash the leaves of a file. Where one at a time has its turn,
// the layout does it: what it stores next is then still in the core's cache, and nobody has
// to be woken.
func hashers(ctx context.Context) int {
	n := min(background.Cores(), 4)
	if slots := fairshare.Slots(ctx); slots > 0 {
		n = min(n, slots)
	}
	return n
}

// sealAll is a hasher's work.
func (a *adder) sealAll(ctx context.Context, leaves <-chan *leaf) {
	for l := range leaves {
		a.seal(ctx, l, stat{})
		l.ready <- struct{}{}
	}
}

func (b *belt) send(l *leaf) {
	b.leaves++
	b.order <- l
	if b.work != nil {
		b.work <- l
	}
}

// read fills leaves until the file ends.
func (a *adder) read(ctx context.Context, b *belt, next source) error {
	for {
		var l *leaf
		if b.leaves < cap(b.free) {
			l = a.leaves.spare(b.leaves)
		}
		if l == nil {
			select {
			case l = <-b.free:
				b.leaves--
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		buf, err := next(l.buf)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		l.buf = buf
		b.send(l)
	}
}

// stream is the sequence of a file's leaves, hashed and stored, with one ahead: the
// layouts ask whether there is more before they decide.
type stream struct {
	adder *adder
	belt  *belt
	next  *child
	done  bool
}

// more tells whether there is another leaf.
func (s *stream) more(ctx context.Context) (bool, error) {
	if s.next != nil || s.done {
		return s.next != nil, nil
	}
	l, ok := <-s.belt.order
	if err := ctx.Err(); err != nil {
		return false, context.Cause(ctx)
	}
	if !ok {
		s.done = true
		return false, nil
	}
	if s.belt.work == nil {
		s.adder.seal(ctx, l, stat{})
	} else {
		<-l.ready
	}
	if l.err != nil {
		return false, l.err
	}
	if err := s.adder.put(ctx, l.cid, l.block); err != nil {
		return false, err
	}
	c := l.child()
	s.next = &c
	s.belt.free <- l
	return true, nil
}

// take returns the leaf that more has found.
func (s *stream) take() child {
	c := *s.next
	s.next = nil
	return c
}
