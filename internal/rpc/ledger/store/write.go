package store

import (
	"fmt"
	"math"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/ledger/logindex"
)

// change is what one batch changes. The first error is kept until the batch is written.
type change struct {
	db    source
	batch *pebble.Batch
	buf   []byte
	logs  logindex.Block
	err   error
}

func (c *change) set(key, value []byte) {
	c.db.damaged.forget(key)
	if c.err == nil {
		c.err = c.batch.Set(key, value, nil)
	}
}

func (c *change) del(key []byte) {
	c.db.damaged.forget(key)
	if c.err == nil {
		c.err = c.batch.Delete(key, nil)
	}
}

// merge appends to a value.
func (c *change) merge(key, value []byte) {
	if c.err == nil {
		c.err = c.batch.Merge(key, value, nil)
	}
}

func (c *change) delRange(from, to []byte) {
	if c.err == nil {
		c.err = c.batch.DeleteRange(from, to, nil)
	}
}

// block writes all rows of a block.
func (c *change) block(h *Head, b *Block) {
	n, branch := h.Number, h.Branch
	c.set(hashKey(h.Hash), appendPlace(nil, n, branch))
	c.set(partKey(partHead, n, branch), appendHead(nil, h))
	for i := range b.Txs {
		c.buf = appendRow(c.buf[:0], &b.Txs[i])
		c.set(indexKey(partTx, n, branch, i), c.buf)
	}
	for i := range b.Receipts {
		c.buf = appendReceipt(c.buf[:0], &b.Receipts[i])
		c.set(indexKey(partReceipt, n, branch, i), c.buf)
	}
	if len(b.Senders) > 0 {
		c.set(partKey(partSenders, n, branch), b.Senders)
	}
	if len(b.Hashes) > 0 {
		c.buf = c.buf[:0]
		for i := range b.Hashes {
			c.buf = append(c.buf, b.Hashes[i][:]...)
		}
		c.set(partKey(partHashes, n, branch), c.buf)
	}
}

// link makes a block canonical.
func (c *change) link(m *Mark) {
	c.set(markKey(m.Number), appendMark(nil, m))
	c.del(orphanKey(m.Number, m.Branch))
}

// lookup makes a transaction of a canonical block findable.
func (c *change) lookup(hash []byte, number uint64, index int) {
	c.buf = appendLookup(c.buf[:0], number, index)
	c.set(lookupKey(hash), c.buf)
}

// startWrite starts a write: one at a time, and none while the last one is not on disk.
// The caller unlocks writing, also after an error.
func (s *Store) startWrite(guarded bool) (*change, error) {
	s.writing.Lock()
	if err := s.settle(); err != nil {
		return nil, err
	}
	if guarded {
		if err := s.cfg.Guard.Check(); err != nil {
			return nil, err
		}
	}
	if s.db.closed.Load() {
		return nil, errClosed
	}
	return &change{db: s.db, batch: s.db.pebble.NewBatch()}, nil
}

// settle waits until the last batch is on disk. While the disk doesn't work it returns
// why, and the batch may still arrive later.
func (s *Store) settle() error {
	if err := s.db.health.final(); err != nil {
		return err
	}
	if s.pending == nil {
		return nil
	}
	tick := time.NewTicker(2 * retryPause)
	defer tick.Stop()
	for {
		select {
		case <-s.pending:
			return nil
		case <-s.db.health.stopped:
			return s.db.health.final()
		case <-tick.C:
			if err := s.db.health.err(); err != nil && s.unsettled() {
				return err
			}
		}
	}
}

// unsettled tells whether the last batch is not on disk.
func (s *Store) unsettled() bool {
	if s.pending == nil {
		return false
	}
	select {
	case <-s.pending:
		return false
	default:
		return true
	}
}

// commit writes a batch and makes next the state when it is on disk. From is the lowest
// height whose canonical pointer it changes.
func (s *Store) commit(c *change, next *state, from uint64) error {
	if next != nil {
		c.set([]byte{keyState}, appendState(nil, next))
	} else {
		c.del([]byte{keyState})
	}
	addNote(s, c)
	if c.err != nil {
		_ = c.batch.Close() // never written
		return fail("write", c.err)
	}
	s.changing.Store(from)
	s.pending = make(chan struct{})
	go s.apply(c.batch, next, s.pending)
	return s.settle()
}

// apply writes a batch. It runs beside the caller because Pebble holds it for as long as
// the disk doesn't take the batch, which may be for good.
func (s *Store) apply(batch *pebble.Batch, next *state, done chan struct{}) {
	defer func() {
		if r := recover(); r != nil {
			s.db.health.parked.Store(true) // who knows what it holds
			s.db.health.stop(fmt.Errorf("write a batch: %v", r))
		}
	}()
	if err := batch.Commit(pebble.Sync); err != nil {
		s.db.health.stop(err)
	}
	if s.db.health.final() != nil {
		return // Pebble reports a failed commit to its log only
	}
	s.marks.writes.Add(1) // before this, what was read may be either
	s.state.Store(next)
	s.changing.Store(math.MaxUint64)
	close(done)
}

// Put stores a block beside the chain. A block that is stored already is left as it is.
// If it returns InsufficientStorage or another error of the disk, the block may still be
// written when the disk recovers.
func (s *Store) Put(b *Block) error {
	if err := b.check(); err != nil {
		return err
	}
	c, err := s.startWrite(true)
	defer s.writing.Unlock()
	if err != nil {
		return err
	}
	h, isNew, err := s.enter(c, b)
	if err != nil || !isNew {
		_ = c.batch.Close() // nothing was changed
		return err
	}
	c.set(orphanKey(h.Number, h.Branch), nil)
	next := s.state.Load()
	if next != nil && h.Number < next.low {
		lower := *next
		lower.low = h.Number
		next = &lower
	}
	return s.commit(c, next, math.MaxUint64)
}

// enter adds a block to a batch, under the next branch of its height, unless it is
// stored already.
func (s *Store) enter(c *change, b *Block) (h *Head, isNew bool, err error) {
	at, ok, err := s.ByHash(b.Hash)
	if err != nil {
		return nil, false, err
	}
	if ok {
		h, err := s.Head(at)
		return h, false, err
	}
	branch, err := s.db.nextBranch(b.Number)
	if err != nil {
		return nil, false, err
	}
	h = b.head(Place{b.Number, branch, b.Hash})
	c.block(h, b)
	return h, true, nil
}

// nextBranch is the branch of one more block at a height. All blocks there are canonical or
// beside the chain. It doesn't look at the blocks: one whose rows are damaged can be replaced.
func (d source) nextBranch(number uint64) (next uint8, err error) {
	last := -1
	m, ok, err := d.pointer(number)
	if err != nil {
		return 0, err
	}
	if ok {
		last = int(m.Branch)
	}
	err = d.scan(heightKey(keyOrphan, number), afterHeight(keyOrphan, number), func(key, _ []byte) error {
		_, branch, ok := placeOf(key)
		if !ok {
			return errRow
		}
		last = max(last, int(branch))
		return nil
	})
	if err == nil && last == 255 {
		err = unlinked("put", "too many blocks are stored at this height")
	}
	return uint8(last + 1), err
}

// Append stores the block behind the newest one and makes it the newest, in one batch. An
// empty store begins with it. Returns Conflict if the block doesn't follow. After an error
// of the disk it may still be written when the disk recovers: Tip tells.
func (s *Store) Append(b *Block) error {
	if err := b.check(); err != nil {
		return err
	}
	c, err := s.startWrite(true)
	defer s.writing.Unlock()
	if err != nil {
		return err
	}
	st := s.state.Load()
	if st != nil && st.tip.Hash == b.Hash {
		return c.batch.Close() // it arrived after an error was returned
	}
	if st != nil && (b.Number != st.tip.Number+1 || b.Parent != st.tip.Hash) {
		_ = c.batch.Close() // nothing was changed
		return unlinked("append", fmt.Sprintf("block %d doesn't follow block %d", b.Number, st.tip.Number))
	}
	h, isNew, err := s.enter(c, b)
	if err == nil {
		err = c.extend(h, b, isNew)
	}
	if err != nil {
		_ = c.batch.Close() // never written
		return err
	}
	next := &state{first: h.Place, low: h.Number}
	if st != nil {
		*next = *st
	}
	next.tip = h.Place
	return s.commit(c, next, h.Number)
}

// Prepend stores the block before the first one and makes it the first, in one batch.
// Returns Conflict if the first block doesn't follow it. After an error of the disk it may
// still be written when the disk recovers: Tip tells.
func (s *Store) Prepend(b *Block) error {
	if err := b.check(); err != nil {
		return err
	}
	c, err := s.startWrite(true)
	defer s.writing.Unlock()
	if err != nil {
		return err
	}
	next, err := c.prepend(s, b)
	if err != nil || next == nil {
		_ = c.batch.Close() // never written
		return err
	}
	// Heights below the first block are not read before the state has changed.
	return s.commit(c, next, math.MaxUint64)
}

// prepend adds all changes of a Prepend to a batch. There are none if it arrived after an
// error was returned.
func (c *change) prepend(s *Store, b *Block) (*state, error) {
	st := s.state.Load()
	if st == nil {
		return nil, unlinked("prepend", "nothing is stored")
	}
	if st.first.Hash == b.Hash {
		return nil, nil
	}
	first, err := s.Head(st.first)
	if err != nil {
		return nil, err
	}
	if b.Number+1 != first.Number || b.Hash != first.Parent {
		return nil, unlinked("prepend", fmt.Sprintf("block %d doesn't follow block %d", first.Number, b.Number))
	}
	h, isNew, err := s.enter(c, b)
	if err == nil {
		err = c.extend(h, b, isNew)
	}
	if err != nil {
		return nil, err
	}
	next := *st
	next.first, next.low = h.Place, min(st.low, h.Number)
	return &next, nil
}

// extend makes a block of the batch canonical, or one that was stored before it.
func (c *change) extend(h *Head, b *Block, isNew bool) error {
	if !isNew {
		return c.relink(h)
	}
	c.link(h.mark())
	c.index(h.Number, b)
	for i := range b.Hashes {
		c.lookup(b.Hashes[i][:], h.Number, i)
	}
	return nil
}

// SetMark changes what is known about a canonical block: who vouches for it, and whether
// it has a hole. Returns Conflict if the block isn't canonical any more.
func (s *Store) SetMark(m Mark) error {
	c, err := s.startWrite(true)
	defer s.writing.Unlock()
	if err != nil {
		return err
	}
	now, ok, err := s.Canonical(m.Number)
	if err == nil && (!ok || now.Place != m.Place) {
		err = unlinked("mark", "the block isn't canonical")
	}
	if err != nil {
		_ = c.batch.Close() // never written
		return err
	}
	c.set(markKey(m.Number), appendMark(nil, &m))
	if m.Hole {
		c.hole(m.Number)
	}
	return s.commit(c, s.state.Load(), math.MaxUint64)
}

// Reset removes all blocks: the chain was created again.
func (s *Store) Reset() error {
	c, err := s.startWrite(false)
	defer s.writing.Unlock()
	if err != nil {
		return err
	}
	for _, kind := range byHeight {
		c.delRange([]byte{kind}, []byte{kind + 1})
	}
	s.note.Store(nil)
	s.noted = nil
	for _, kind := range [...]byte{keyHash, keyHoles, keyLogs, keyLookup, keyNote} {
		c.delRange([]byte{kind}, []byte{kind + 1})
	}
	if err := s.commit(c, nil, 0); err != nil {
		return err
	}
	for i := range uint64(keptHeads) {
		s.forget(i)
	}
	return nil
}

// checkBranch refuses places that aren't one chain.
func checkBranch(heads []*Head) error {
	for i := 1; i < len(heads); i++ {
		if heads[i].Number != heads[i-1].Number+1 || heads[i].Parent != heads[i-1].Hash {
			return unlinked("move", fmt.Sprintf("block %d doesn't follow block %d", heads[i].Number, heads[i-1].Number))
		}
	}
	if len(heads) == 0 {
		return &nodegate.Error{Op: "ledger.move", Code: nodegate.InvalidInput, Msg: "a branch needs a block"}
	}
	return nil
}
