package kubo

import (
	"bytes"
	"context"
	"errors"
	"sync"

	"github.com/ipfs/go-cid"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/ipfs/blockstore"
	"github.com/nodegate/nodegate/internal/ipfs/identity"
)

// Batch is one upload: blocks and pins. Its methods may be called by several
// goroutines at once, but none after Commit or Abort. Nodes may show its blocks to
// others before Commit; its pins nobody sees.
type Batch struct {
	e       *Engine
	account string
	quota   int64

	mu       sync.Mutex
	ops      []nodegate.PinOp
	known    map[string]struct{} // multihashes that were put, as long as they are few
	bytes    int64               // that all blocks put count toward the quota
	unpinned int64               // of those that no pin of the batch keeps, where it has pins
	used     int64               // bytes of the quota, when it was last looked at; -1 before
	sure     int64               // bytes that are new beyond doubt
	ended    bool
	failed   error // of a stream: what it had can't be sent again

	kept      []keptBlock    // while it can all be sent again
	keptAt    map[string]int // by multihash
	keptBytes int64
	streams   []*upload // once it can't
	homes     []*node   // that have all that was streamed
	sources   []*node   // that blocks were read from
}

// keptBlock is a block that waits to be sent.
type keptBlock struct {
	frame []byte
	data  []byte // the end of it
}

// maxKnown bounds the memory of a batch. What is put twice beyond it is sent twice.
const maxKnown = 1 << 16

// Begin starts a batch of an account that may have quota bytes stored; 0 is no
// limit. It ends with Commit or Abort.
func (e *Engine) Begin(account string, quota int64) *Batch {
	return &Batch{e: e, account: account, quota: quota, used: -1, known: map[string]struct{}{}, keptAt: map[string]int{}}
}

// Put adds a block. The caller has made sure that data has the hash of c; the nodes
// check it too.
//
// Returns QuotaReached when the account would certainly have more stored than it
// may, and Busy when no node takes it.
func (b *Batch) Put(ctx context.Context, c cid.Cid, data []byte) error {
	if err := blockstore.Allowed(c); err != nil {
		return err
	}
	if len(data) > blockstore.MaxBlock {
		return errBlock("the block is larger than 2 MiB")
	}
	if _, ok := identity.Data(c); ok {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	hash := string(c.Hash())
	if _, again := b.known[hash]; again && !b.ended {
		return nil
	}
	if err := b.usable(); err != nil {
		return err
	}
	if err := b.checkQuota(ctx, c, nodegate.BlockCharge(len(data))); err != nil {
		return err
	}
	if len(b.known) < maxKnown {
		b.known[hash] = struct{}{}
	}
	b.bytes += nodegate.BlockCharge(len(data))
	whole, body := frame(c, data)
	if b.streams != nil {
		return b.stream(ctx, whole)
	}
	b.keptAt[hash] = len(b.kept)
	b.kept = append(b.kept, keptBlock{whole, body})
	if b.keptBytes += int64(len(data)); b.keptBytes <= b.e.cfg.limits.kept {
		return nil
	}
	return b.openStreams(ctx)
}

// usable tells whether the batch can go on.
func (b *Batch) usable() error {
	if b.ended {
		return errEnded()
	}
	return b.failed
}

// checkQuota breaks an upload off that can't end well. Blocks that a node has
// already may belong to content that is paid for, so they don't count; whether it
// all fits is decided in Commit.
func (b *Batch) checkQuota(ctx context.Context, c cid.Cid, n int64) error {
	if b.quota <= 0 {
		return nil
	}
	if b.used < 0 {
		var err error
		if b.used, err = b.e.cfg.Pins.PinnedBytes(ctx, b.account); err != nil {
			return err
		}
	}
	if b.used+b.bytes+n <= b.quota {
		return nil
	}
	has, err := b.e.Has(ctx, c)
	if err != nil || has {
		return ctx.Err() // a node that is away is noticed by the upload itself
	}
	if b.sure += n; b.used+b.sure > b.quota {
		return errQuota()
	}
	return nil
}

// openStreams begins to send what was kept. From here on it can't be sent again.
func (b *Batch) openStreams(ctx context.Context) error {
	nodes := b.homes // of what was streamed before
	if nodes == nil {
		nodes = b.e.usable()
	}
	var causes []error
	var homes []*node
	for _, n := range nodes {
		if len(b.streams) == b.e.cfg.Copies {
			break
		}
		u, err := b.e.openWith(ctx, n, b.kept)
		if err != nil {
			causes = append(causes, err)
			continue
		}
		b.streams, homes = append(b.streams, u), append(homes, n)
	}
	b.homes = homes
	if len(b.streams) < b.e.cfg.Copies {
		b.failed = orCancelled(ctx, errCopies(b.e.cfg.Copies, causes))
		b.dropStreams()
		return b.failed
	}
	b.kept, b.keptAt, b.keptBytes = nil, map[string]int{}, 0
	return nil
}

// openWith opens a stream into a node and sends some blocks.
func (e *Engine) openWith(ctx context.Context, n *node, list []keptBlock) (*upload, error) {
	u, err := e.beginUpload(ctx, n)
	if err != nil {
		return nil, err
	}
	for _, k := range list {
		if err := u.send(ctx, k.frame); err != nil {
			u.abort()
			return nil, err
		}
	}
	return u, nil
}

// stream sends a block to all nodes of the batch.
func (b *Batch) stream(ctx context.Context, frame []byte) error {
	for _, u := range b.streams {
		if err := u.send(ctx, frame); err != nil {
			b.failed = orCancelled(ctx, errBroken(err))
			b.dropStreams()
			return b.failed
		}
	}
	return nil
}

// orCancelled prefers the caller's own end as the reason.
func orCancelled(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// endStreams waits until the nodes have stored what was streamed. After it the
// batch goes on with an empty memory.
func (b *Batch) endStreams(ctx context.Context) error {
	var wait sync.WaitGroup
	errs := make([]error, len(b.streams))
	for i, u := range b.streams {
		wait.Go(func() { errs[i] = u.finish(ctx) })
	}
	wait.Wait()
	b.streams = nil
	if err := errors.Join(errs...); err != nil {
		b.failed = orCancelled(ctx, errBroken(err))
		return b.failed
	}
	return nil
}

func (b *Batch) dropStreams() {
	for _, u := range b.streams {
		u.abort()
	}
	b.streams = nil
}

// Get reads a block of this batch or of the nodes. Returns as the engine's Get.
func (b *Batch) Get(ctx context.Context, c cid.Cid) ([]byte, error) {
	first, data, err := b.own(ctx, c)
	if err != nil || data != nil {
		return data, err
	}
	data, n, err := b.e.find(ctx, c, first, b.e.cfg.Fetch)
	if err == nil && n != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.sources = ordered([]*node{n}, b.sources)
	}
	return data, err
}

// Small is never ok: a node has to be asked for every block.
func (b *Batch) Small(context.Context, cid.Cid, int) ([]byte, bool) { return nil, false }

// own looks for a block in memory. What was streamed is read from a node that has
// all of it, so the stream has to end first.
func (b *Batch) own(ctx context.Context, c cid.Cid) (first []*node, data []byte, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.usable(); err != nil {
		return nil, nil, err
	}
	if i, ok := b.keptAt[string(c.Hash())]; ok {
		return nil, append([]byte{}, b.kept[i].data...), nil
	}
	if b.streams != nil {
		if err := b.endStreams(ctx); err != nil {
			return nil, nil, err
		}
	}
	return ordered(b.homes, b.e.usable()), nil, nil
}

// Pin keeps content for the batch's account, from Commit on. A pin of the same CID
// is replaced; its name stays if the new one has none. It counts what its size says, or the
// least that a pin costs.
func (b *Batch) Pin(p nodegate.Pin) {
	b.change(nodegate.PinOp{Kind: nodegate.PinAdd, Pin: p.Charged(), Content: contentOf(p)})
}

// Loose says how many bytes of the blocks put no pin of the batch keeps. They count as
// those of a batch without a pin do.
func (b *Batch) Loose(bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unpinned += bytes
}

// Unpin takes a pin off, in Commit, which is NotFound if there is none. It can be
// undone for a while.
func (b *Batch) Unpin(c string) {
	b.change(nodegate.PinOp{Kind: nodegate.PinRemove, Pin: nodegate.Pin{CID: c}})
}

func (b *Batch) change(op nodegate.PinOp) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ops = append(b.ops, op)
}

// contentOf is what has to be pinned recursively on the nodes for a pin. A pin of a
// single block is one of its bytes, under the codec raw; so are pins of codecs that
// we know no links of and that a node may not be able to read.
func contentOf(p nodegate.Pin) string {
	c, err := cid.Decode(p.CID)
	if err != nil {
		return p.CID // the node says what is wrong
	}
	switch c.Type() {
	case cid.DagProtobuf, cid.DagCBOR, cid.DagJSON:
		if p.Recursive {
			return c.String()
		}
	}
	return cid.NewCidV1(cid.Raw, bytes.Clone(c.Hash())).String()
}

// Abort ends the batch: its streams are broken off, and nothing is pinned. After
// Commit it does nothing.
func (b *Batch) Abort() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return
	}
	b.ended = true
	b.forget()
}

// forget gives back what an ended batch holds.
func (b *Batch) forget() {
	b.dropStreams()
	b.kept, b.keptAt, b.known = nil, nil, nil
}
