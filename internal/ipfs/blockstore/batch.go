package blockstore

import (
	"bytes"
	"cmp"
	"context"
	"sync"
	"sync/atomic"

	"github.com/ipfs/go-cid"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/fairshare"
	"github.com/nodegate/nodegate/internal/ipfs/identity"
)

// Batch is one upload: blocks and pins that come into being together, in Commit.
// Until then others see nothing of it, and a crash leaves nothing. Its methods may
// be called by several goroutines at once, but none after Commit or Abort.
type Batch struct {
	s       *Store
	account string
	quota   int64
	commits int64    // when its commit began, or 0; belongs to the lock of the uploads
	first   position // of its records; belongs to the log's lock
	runs    runs     // all of them; belongs to the log's lock
	held    hold     // stored blocks that it relies on; belongs to the lock of the holds

	mu         sync.Mutex
	blocks     pending
	puts       int
	bytes      int64 // that all blocks put count toward the quota
	unpinned   int64 // of those that no pin of the batch keeps, where it has pins
	reserved   int64
	generation uint64 // of the log, once something was written
	ops        []pinOp
	ended      bool

	turns   context.Context // of the request that commits a large one; belongs to the committer
	result  *result         // belongs to the committer
	applied atomic.Bool     // the index has all of it
}

// pinOp is one change of a pin.
type pinOp struct {
	kind pinChange
	pin  nodegate.Pin
}

type pinChange uint8

const (
	pinAdd pinChange = iota
	pinRemove
	pinUndo
	pinRename
)

// Begin starts a batch of an account that may have quota bytes stored; 0 is no
// limit. It ends with Commit or Abort.
func (s *Store) Begin(account string, quota int64) *Batch {
	b := &Batch{s: s, account: account, quota: quota}
	s.uploads.begin(b)
	return b
}

// Put adds a block. The caller has made sure that data has the hash of c: see
// Check. A block that is stored already is compared and not written again, unless
// the stored one is damaged.
//
// Returns QuotaReached when the account would have more stored than it may, and
// InsufficientStorage when the disk is almost full.
func (b *Batch) Put(ctx context.Context, c cid.Cid, data []byte) error {
	hash, err := hashOf(c)
	if err != nil {
		return err
	}
	if len(data) > MaxBlock {
		return invalidBlock("the block is larger than 2 MiB")
	}
	if _, ok := identity.Data(c); ok {
		return nil
	}
	if err := b.s.calls.enter(ctx); err != nil {
		return err
	}
	defer b.s.calls.leave()
	// The write only reaches the kernel's memory: it is as short as the look-ups before it,
	// which are most of the work for many small blocks.
	turnErr := fairshare.Do(ctx, func() { err = b.put(hash, data) })
	return cmp.Or(turnErr, err)
}

func (b *Batch) put(hash, data []byte) error {
	if known, err := b.known(hash); err != nil || known {
		return err
	}
	stored, err := b.s.blocks.putAgain(b, hash, data)
	switch {
	case err != nil:
		return err
	case stored:
		return b.noteAgain(hash, len(data))
	}
	return b.write(hash, data)
}

// known tells whether this batch has the block already.
func (b *Batch) known(hash []byte) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return false, errEnded()
	}
	_, ok, err := b.blocks.get(b.s.index, hash)
	return ok, err
}

func (b *Batch) write(hash, data []byte) error {
	if err := b.s.room.claim(int64(len(data))); err != nil {
		return err
	}
	defer b.s.room.release(int64(len(data)))
	n := nodegate.BlockCharge(len(data))
	if err := b.s.quotas.reserve(b.account, n, b.quota); err != nil {
		return err
	}
	r := record{kind: kindBlock, key: hash, batch: b.blocks.batch, time: b.s.clock.stamp()}
	pos, err := b.s.log.append(b.enterGeneration(), r, data, b)
	if err != nil {
		b.s.quotas.unreserve(b.account, n)
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		b.s.quotas.unreserve(b.account, n)
		b.s.uploads.discard(b)
		return errEnded()
	}
	b.puts++
	b.bytes += n
	b.reserved += n
	return b.blocks.add(b.s.index, hash, entry{position: pos, length: uint32(len(data))})
}

// enterGeneration ties the batch to the log's generation at its first record.
func (b *Batch) enterGeneration() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.generation == 0 {
		_, b.generation = b.s.log.now()
	}
	return b.generation
}

// begin notes where the batch's first record will stand: a replay has to start before.
// A record that no batch has stands for itself.
func (b *Batch) begin(p position) {
	if b != nil && b.first == (position{}) {
		b.first = p
	}
}

// wrote notes a record that is written.
func (b *Batch) wrote(p position, size int64) {
	if b != nil {
		b.runs.add(p, size)
	}
}

// touchPortion is how many bytes of multihashes go into one record.
const touchPortion = 32 << 10

// noteAgain remembers that a stored block was put again: without a pin, the commit lets
// it live longer.
func (b *Batch) noteAgain(hash []byte, size int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return errEnded()
	}
	b.puts++
	b.bytes += nodegate.BlockCharge(size)
	return b.blocks.add(b.s.index, hash, entry{length: uint32(size)})
}

// writeTouched writes down which blocks were put again and are loose, as they live as
// long as their account is charged. The others live as long as their pin.
func (b *Batch) writeTouched() error {
	if b.looseBytes() == 0 {
		return nil
	}
	var list []byte
	err := b.blocks.each(b.s.index, func(part []found) (err error) {
		for _, f := range part {
			if f.again() {
				list = append(append(list, byte(len(f.hash))), f.hash...)
			}
		}
		if len(list) >= touchPortion {
			err = b.writeTouches(list)
			list = list[:0]
		}
		return err
	})
	if err != nil || len(list) == 0 {
		return err
	}
	return b.writeTouches(list)
}

func (b *Batch) writeTouches(list []byte) error {
	r := record{kind: kindTouch, batch: b.blocks.batch, time: b.s.clock.stamp()}
	_, err := b.s.log.append(b.enterGeneration(), r, list, b)
	return err
}

// eachHash goes through a list of multihashes, each behind its length.
func eachHash(list []byte, do func(hash []byte) error) error {
	for len(list) > 0 {
		n := int(list[0])
		if n >= len(list) {
			return errShort
		}
		if err := do(list[1 : 1+n]); err != nil {
			return err
		}
		list = list[1+n:]
	}
	return nil
}

// Get reads a block of this batch or of the store. What it reads is spared by
// collections until the batch ends: who pins stored content walks it with this.
//
// Returns NotFound or Damaged, as the store's Get.
func (b *Batch) Get(ctx context.Context, c cid.Cid) ([]byte, error) {
	if data, ok := identity.Data(c); ok {
		return bytes.Clone(data), nil
	}
	hash, err := hashOf(c)
	if err != nil {
		return nil, err
	}
	if err := b.s.calls.enter(ctx); err != nil {
		return nil, err
	}
	defer b.s.calls.leave()
	b.mu.Lock()
	e, own, err := b.blocks.get(b.s.index, hash)
	ended := b.ended
	b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if ended {
		return nil, errEnded()
	}
	if own && !e.again() {
		data, err := b.s.blocks.readAt(ctx, hash, e, nil)
		if err != nil {
			return nil, errDamaged(c, err)
		}
		return data, nil
	}
	if err := b.s.holds.add(b, hash); err != nil {
		return nil, err
	}
	return b.s.blocks.read(ctx, c, hash, nil)
}

// Small reads a block of the store if it has at most so many bytes. It is not ok otherwise, and
// for blocks that Get has something to say about. What it reads is spared by collections too.
func (b *Batch) Small(ctx context.Context, c cid.Cid, most int) (data []byte, ok bool) {
	hash, err := hashOf(c)
	if err != nil || b.s.calls.enter(ctx) != nil {
		return nil, false
	}
	defer b.s.calls.leave()
	b.mu.Lock()
	_, own, err := b.blocks.get(b.s.index, hash)
	ended := b.ended
	b.mu.Unlock()
	if err != nil || own || ended || b.s.holds.add(b, hash) != nil {
		return nil, false
	}
	return b.s.blocks.small(ctx, hash, most)
}

// Pin keeps content for the batch's account, from Commit on. A pin of the same CID
// is replaced; its name stays if the new one has none. It counts what its size says, or the
// least that a pin costs.
func (b *Batch) Pin(p nodegate.Pin) { b.change(pinAdd, p.Charged()) }

// Loose says how many bytes of the blocks put no pin of the batch keeps. They count as
// those of a batch without a pin do.
func (b *Batch) Loose(bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unpinned += bytes
}

// Unpin takes a pin off, in Commit, which is NotFound if there is none. It can be
// undone for a while.
func (b *Batch) Unpin(c string) { b.change(pinRemove, nodegate.Pin{CID: c}) }

func (b *Batch) change(kind pinChange, p nodegate.Pin) {
	p.AccountID = b.account
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ops = append(b.ops, pinOp{kind, p})
}

// Commit ends the batch. When it returns nil, every block and pin of it is on the
// disk; on an error nothing of it is visible.
//
// Returns QuotaReached, InsufficientStorage, or NotFound for an Unpin of no pin.
func (b *Batch) Commit(ctx context.Context) error {
	if err := b.s.calls.enter(ctx); err != nil {
		b.Abort()
		return err
	}
	defer b.s.calls.leave()
	if !b.end() {
		return errEnded()
	}
	defer b.forget()
	if err := b.s.holds.commit(b); err != nil {
		return err
	}
	b.s.uploads.commit(b)
	if len(b.ops) == 0 && b.puts == 0 {
		return nil
	}
	if err := b.s.index.failure(); err != nil {
		return err
	}
	if err := b.writeTouched(); err != nil {
		return err
	}
	if !isSmall(b) { // the committer works for this request, whoever goes away
		b.turns = fairshare.Others(context.WithoutCancel(ctx))
	}
	return b.s.committer.submit(&request{batch: b, prepare: b.prepare, apply: b.apply})
}

// inTurn does work when it is the turn of a request. Without one it is done at once.
func inTurn(of context.Context, work func()) {
	if of == nil || fairshare.Do(of, work) != nil {
		work()
	}
}

// looseBytes is what the batch stores that no pin of it keeps.
func (b *Batch) looseBytes() int64 {
	if b.pins() {
		return b.unpinned
	}
	return b.bytes
}

// pins tells whether the batch pins something; if not, all its blocks are loose.
func (b *Batch) pins() bool {
	for _, op := range b.ops {
		if op.kind == pinAdd {
			return true
		}
	}
	return false
}

// Abort ends the batch: nothing of it stays, and its part of the quota is free
// again. After Commit it does nothing.
func (b *Batch) Abort() {
	if b.end() {
		b.forget()
	}
}

// end reports whether this call ended the batch.
func (b *Batch) end() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	first := !b.ended
	b.ended = true
	return first
}

// forget gives back what an ended batch holds.
func (b *Batch) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.s.quotas.unreserve(b.account, b.reserved)
	b.reserved = 0
	if b.s.calls.enter(context.Background()) == nil {
		_ = b.blocks.drop(b.s.index) // what stays is dropped at the next start
		b.s.calls.leave()
	}
	b.s.holds.release(b, b.result != nil)
	b.s.uploads.end(b)
}
