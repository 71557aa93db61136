package blockstore

import (
	"encoding/binary"
	"time"

	"github.com/cockroachdb/pebble"
	"github.com/nodegate/nodegate"
)

const (
	groupSize  = 512              // requests that share one sync
	flushEvery = 30 * time.Second // how much of the log a start replays at most
)

// request is something that the committer does. All that changes pins or ends a
// batch goes through it, one after the other; what waits at the same time shares
// one sync.
type request struct {
	// prepare decides against the pins as they are, and appends to the log.
	prepare func(*group) error
	// apply brings the index up to date, after the sync.
	apply func() error

	err  error
	done chan struct{}
}

// group are the requests of one sync.
type group struct {
	s          *Store
	generation uint64
	pins       map[string]*pinState // what earlier requests of the group made of pins
}

// submit hands a request to the committer and waits.
func (s *Store) submit(r *request) error {
	r.done = make(chan struct{})
	s.requests <- r
	<-r.done
	return r.err
}

// commitLoop is the committer. It ends when the requests are closed.
func (s *Store) commitLoop() {
	defer s.workers.Done()
	flush := time.NewTicker(flushEvery)
	defer flush.Stop()
	for {
		select {
		case r, ok := <-s.requests:
			if !ok {
				return
			}
			s.commitGroup(s.gather(r))
		case <-flush.C:
			s.saveCheckpoint()
			s.flushIndex()
			s.wakeReclaim()
		}
	}
}

// gather takes all that waits.
func (s *Store) gather(first *request) []*request {
	list := []*request{first}
	for len(list) < groupSize {
		select {
		case r, ok := <-s.requests:
			if !ok {
				return list
			}
			list = append(list, r)
		default:
			return list
		}
	}
	return list
}

func (s *Store) commitGroup(list []*request) {
	_, generation := s.log.now()
	g := &group{s: s, generation: generation, pins: map[string]*pinState{}}
	sync := false
	for _, r := range list {
		if r.prepare != nil {
			r.err = r.prepare(g)
			sync = sync || r.err == nil
		}
	}
	if sync {
		g.fail(list, s.log.sync(generation))
	}
	for _, r := range list {
		if r.err == nil && r.apply != nil {
			if r.err = r.apply(); r.err != nil {
				s.index.broken.Store(true) // it lacks what the log has
			}
		}
	}
	s.saveCheckpoint()
	for _, r := range list {
		close(r.done)
	}
}

// fail gives every request that is in the log the error of its sync.
func (g *group) fail(list []*request, err error) {
	for _, r := range list {
		if err != nil && r.err == nil && r.prepare != nil {
			r.err = err
		}
	}
}

// pin is the state of a pin as the group's earlier requests left it, or nil.
func (g *group) pin(account, cid string) (*pinState, error) {
	key := pinKey(account, cid)
	if p, ok := g.pins[string(key)]; ok {
		return p, nil
	}
	return g.s.index.pin(key)
}

// prepare decides what the batch's pins become, and writes its commit record.
func (b *Batch) prepare(g *group) error {
	now := b.s.stamp()
	next, stores, err := b.decide(g, now)
	if err != nil {
		return err
	}
	c := commit{synced: b.s.log.syncedBefore(), first: b.firstSegment()}
	for _, p := range next {
		c.pins = append(c.pins, p.Pin)
	}
	if !b.pins() && b.bytes > 0 {
		c.loose = []loose{{b.account, b.bytes, now, b.blocks.batch}}
		stores += b.bytes
	}
	if err := b.s.exchange(b.account, b.reserved, max(stores, 0), b.quota); err != nil {
		return err
	}
	b.reserved = max(stores, 0)
	generation := b.generation
	if generation == 0 {
		generation = g.generation
	}
	pos, err := b.s.log.append(generation, record{kind: kindCommit, batch: b.blocks.batch, time: now}, c.encode(), nil)
	if err != nil {
		return err
	}
	b.result = &result{pos: pos, time: now, loose: c.loose, pins: g.place(next, pos.segment)}
	return nil
}

// firstSegment is where the batch's records begin.
func (b *Batch) firstSegment() uint32 {
	b.s.log.mu.Lock()
	defer b.s.log.mu.Unlock()
	return b.first.segment
}

// result is what a commit record says, for the index.
type result struct {
	pos   position
	time  int64
	pins  []*pinState
	loose []loose
}

// decide works out the pins after the batch's changes, and by how much they change
// what the account stores.
func (b *Batch) decide(g *group, now int64) (next []*pinState, stores int64, err error) {
	at := map[string]int{}
	for _, op := range b.ops {
		var old *pinState
		i, again := at[op.pin.CID]
		if again {
			old = next[i]
		} else if old, err = g.pin(b.account, op.pin.CID); err != nil {
			return nil, 0, err
		}
		p, err := b.changed(op, old, now)
		if err != nil {
			return nil, 0, err
		}
		stores += p.paid()
		if old != nil {
			stores -= old.paid()
		}
		if again {
			p.before, p.looked = old.before, true
			next[i] = p
			continue
		}
		p.before, p.looked = old, true
		at[op.pin.CID] = len(next)
		next = append(next, p)
	}
	return next, stores, nil
}

// changed is what one change makes of a pin.
func (b *Batch) changed(op pinOp, old *pinState, now int64) (*pinState, error) {
	switch op.kind {
	case pinRemove:
		if old == nil || !old.live() {
			return nil, errNoPin("unpin", op.pin.CID)
		}
		p := *old
		p.Unpinned = time.Unix(0, now).UTC()
		return &p, nil
	case pinUndo:
		if old == nil || !old.undoable(now, b.s.cfg.Undo) {
			return nil, &nodegate.Error{Op: "blocks.undo", Code: nodegate.NotFound, Msg: op.pin.CID + " can't be pinned again by undo: it was not unpinned, or too long ago"}
		}
		p := *old
		p.Unpinned = time.Time{}
		return &p, nil
	}
	p := &pinState{Pin: op.pin}
	p.Unpinned = time.Time{}
	if p.Name == "" && old != nil && old.live() {
		p.Name = old.Name
	}
	return p, nil
}

// place notes in which segment the latest record of pins stands.
func (g *group) place(list []*pinState, segment uint32) []*pinState {
	for _, p := range list {
		p.segment = segment
		g.pins[string(pinKey(p.AccountID, p.CID))] = p
	}
	return list
}

// apply makes the batch visible.
func (b *Batch) apply() error {
	err := b.blocks.each(b.s.index, func(list []found) error { return b.s.addBlocks(list, b.result.time) })
	if err != nil {
		return err
	}
	b.s.quotaMu.Lock()
	defer b.s.quotaMu.Unlock()
	if err := b.s.applyResult(b.result); err != nil {
		return err
	}
	b.s.addReserved(b.account, -b.reserved)
	b.reserved = 0
	b.applied.Store(true)
	return nil
}

// addBlocks enters committed blocks in the index.
func (s *Store) addBlocks(list []found, touched int64) error {
	s.entries.Lock()
	defer s.entries.Unlock()
	w := s.index.db.NewBatch()
	for _, f := range list {
		f.touched = touched
		if err := s.enterBlock(w, []byte(f.hash), f.entry); err != nil {
			return err
		}
	}
	return s.index.commit(w)
}

// enterBlock sets where a block stands. The later of two copies counts: it was
// made from a good one, or because the other was missing or damaged.
func (s *Store) enterBlock(w *pebble.Batch, hash []byte, next entry) error {
	old, ok, err := s.index.block(hash)
	if err != nil {
		return err
	}
	better := !ok || old.position.before(next.position) || old.damaged() || !s.log.segs.has(old.segment)
	if better && (!ok || old.position != next.position) {
		if err := s.replaced(w, hash, old, ok, next); err != nil {
			return s.index.failed(err)
		}
		next.flags = old.flags &^ flagDamaged
	} else {
		next.position, next.length, next.flags = old.position, old.length, old.flags
	}
	next.touched = max(next.touched, old.touched)
	if err := w.Set(blockKey(hash), next.encode(), nil); err != nil {
		return s.index.failed(err)
	}
	return nil
}

// replaced keeps the books when a block gets a new place.
func (s *Store) replaced(w *pebble.Batch, hash []byte, old entry, had bool, next entry) error {
	if had && old.damaged() {
		s.cfg.Log.Info("repaired a damaged block", "multihash", hexOf(hash))
		if err := w.Delete(damagedKey(hash), nil); err != nil {
			return err
		}
	}
	if had && !old.damaged() { // a damaged one was taken off the books
		if err := addLive(w, old.segment, -old.space(hash)); err != nil {
			return err
		}
	}
	return addLive(w, next.segment, next.space(hash))
}

// applyResult enters the pins and the loose bytes of a commit.
func (s *Store) applyResult(r *result) error {
	w := s.index.db.NewBatch()
	changes := map[string]int64{}
	for _, p := range r.pins {
		old, err := s.setPin(w, p)
		if err != nil {
			return err
		}
		changes[p.AccountID] += p.paid()
		if old != nil {
			changes[p.AccountID] -= old.paid()
		}
	}
	for i := range r.loose {
		l := &r.loose[i]
		known, err := s.index.get(l.key())
		if err != nil {
			return err
		}
		if known == nil {
			changes[l.account] += l.bytes
		}
		if err := w.Set(l.key(), l.encode(), nil); err != nil {
			return s.index.failed(err)
		}
	}
	if err := s.addUsage(w, changes); err != nil {
		return err
	}
	return s.index.commit(w)
}

// setPin writes a pin's state and returns the one before.
func (s *Store) setPin(w *pebble.Batch, p *pinState) (*pinState, error) {
	key := pinKey(p.AccountID, p.CID)
	old := p.before
	if !p.looked {
		var err error
		if old, err = s.index.pin(key); err != nil {
			return nil, err
		}
	}
	p.first = p.segment
	if old != nil {
		p.first = min(old.first, p.segment)
		if err := addLive(w, old.segment, -old.space()); err != nil {
			return nil, s.index.failed(err)
		}
	}
	if err := addLive(w, p.segment, p.space()); err != nil {
		return nil, s.index.failed(err)
	}
	if err := w.Set(key, p.encode(), nil); err != nil {
		return nil, s.index.failed(err)
	}
	return old, nil
}

// addUsage changes what accounts have stored.
func (s *Store) addUsage(w *pebble.Batch, changes map[string]int64) error {
	for account, n := range changes {
		if n == 0 {
			continue
		}
		stored, err := s.storedNow(account)
		if err != nil {
			return err
		}
		if err := setUsage(w, account, stored+n); err != nil {
			return s.index.failed(err)
		}
		s.usage[account] = stored + n
	}
	return nil
}

// checkpoint is from where a start replays the log, and what can't be read there.
type checkpoint struct {
	position
	batch uint64 // the highest number in use
	clock int64  // the highest stamp
}

// saveCheckpoint notes how far the index is. Batches that are open have records
// that a replay needs.
func (s *Store) saveCheckpoint() {
	if s.index.broken.Load() {
		return
	}
	c := s.checkpointNow()
	b := binary.LittleEndian.AppendUint32(nil, c.segment)
	b = binary.LittleEndian.AppendUint64(b, uint64(c.off))
	b = binary.LittleEndian.AppendUint64(b, c.batch)
	b = binary.LittleEndian.AppendUint64(b, uint64(c.clock))
	if err := s.index.db.Set([]byte{keyCheckpoint}, b, pebble.NoSync); err != nil {
		s.cfg.Log.Error("can't checkpoint the block store's index", "err", err)
	}
}

func (s *Store) checkpointNow() checkpoint {
	s.openMu.Lock()
	defer s.openMu.Unlock()
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	c := checkpoint{position: s.log.endLocked(), batch: s.lastBatch, clock: s.clock.Load()}
	if s.log.active != nil {
		c.off = s.log.synced // what is behind it belongs to nobody, or to open batches
	}
	for b := range s.open {
		if b.first != (position{}) && !b.applied.Load() && b.first.before(c.position) {
			c.position = b.first
		}
	}
	for _, r := range s.discarded { // a start after a crash gives them back
		if r.position().before(c.position) {
			c.position = r.position()
		}
	}
	return c
}

// readCheckpoint reads what saveCheckpoint wrote.
func (x *index) readCheckpoint() (c checkpoint, err error) {
	b, err := x.get([]byte{keyCheckpoint})
	if err != nil || len(b) != 28 {
		return c, err
	}
	c.segment = binary.LittleEndian.Uint32(b)
	c.off = int64(binary.LittleEndian.Uint64(b[4:]))
	c.batch = binary.LittleEndian.Uint64(b[12:])
	c.clock = int64(binary.LittleEndian.Uint64(b[20:]))
	return c, nil
}

// flushIndex lets the index write what it has in memory, beside all other work.
func (s *Store) flushIndex() {
	if _, err := s.index.db.AsyncFlush(); err != nil {
		s.cfg.Log.Error("the index of the block store can't be flushed", "err", err)
	}
}
