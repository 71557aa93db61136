package blockstore

import (
	"slices"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/background"
)

const (
	groupSize    = 512              // requests that share one sync
	groupEntries = 2048             // blocks and pins that their batches enter in the index, about
	smallBatch   = 64               // blocks and pins of a batch that goes before large ones
	flushEvery   = 30 * time.Second // how much of the log a start replays at most
)

// request is something that the committer does. All that changes pins or ends a
// batch goes through it, one after the other; what waits at the same time shares
// one sync.
type request struct {
	// batch is the one that ends, or nil: the request may be about any account.
	batch *Batch
	// prepare decides against the pins as they are, and appends to the log.
	prepare func(*group) error
	// apply brings the index up to date, after the sync. Where it takes long it calls
	// pause now and then.
	apply func(pause func()) error

	err  error
	done chan struct{}
}

// group are the requests of one sync.
type group struct {
	index      *index
	generation uint64
	pins       map[string]*pinState // what earlier requests of the group made of pins
}

// committer is the one that changes pins and ends batches. A large batch takes long to
// enter in the index, so small batches of other accounts go first, and between its
// parts. They share nothing with it but blocks, whose order does not matter. The
// batches of one account stay in order, and a request that is about all accounts is
// done alone.
type committer struct {
	log      *log
	index    *index
	uploads  *uploads
	reclaims signal
	requests chan *request
	waiting  []*request // taken from requests, the oldest first; belongs to run
}

// submit hands a request to the committer and waits.
func (c *committer) submit(r *request) error {
	r.done = make(chan struct{})
	c.requests <- r
	<-r.done
	return r.err
}

// run serves requests until they are closed.
func (c *committer) run() {
	flush := time.NewTicker(flushEvery)
	defer flush.Stop()
	for c.await(flush.C) {
		c.commitSmall(nil)
		c.commitFirst()
	}
}

// await returns when something waits, or false when nothing will any more.
func (c *committer) await(flush <-chan time.Time) bool {
	for {
		if c.gather(); len(c.waiting) > 0 {
			select {
			case <-flush:
				c.flush()
			default:
			}
			return true
		}
		select {
		case r, ok := <-c.requests:
			if !ok {
				return false
			}
			c.waiting = append(c.waiting, r)
		case <-flush:
			c.flush()
		}
	}
}

func (c *committer) flush() {
	c.saveCheckpoint()
	c.index.flushSoon()
	c.reclaims.raise()
}

// gather takes all that has come.
func (c *committer) gather() {
	for {
		select {
		case r, ok := <-c.requests:
			if !ok {
				return
			}
			c.waiting = append(c.waiting, r)
		default:
			return
		}
	}
}

// commitSmall commits small batches that wait, in one group. During a large one, those
// of its account have to wait for it.
func (c *committer) commitSmall(during *Batch) {
	if c.gather(); len(c.waiting) == 0 {
		return
	}
	behind := map[string]bool{} // accounts of which an older batch waits
	if during != nil {
		behind[during.account] = true
	}
	var list []*request
	entries := 0
	c.waiting = slices.DeleteFunc(c.waiting, func(r *request) bool {
		if r.batch == nil {
			return false
		}
		if !isSmall(r.batch) || behind[r.batch.account] || len(list) == groupSize || entries >= groupEntries {
			behind[r.batch.account] = true
			return false
		}
		list, entries = append(list, r), entries+entriesOf(r.batch)
		return true
	})
	c.commitGroup(list, func() {})
}

// commitFirst commits what has waited longest, alone.
func (c *committer) commitFirst() {
	if len(c.waiting) == 0 {
		return
	}
	r := c.waiting[0]
	c.waiting = slices.Delete(c.waiting, 0, 1)
	pause := func() {}
	if r.batch != nil {
		pause = func() { c.commitSmall(r.batch) }
	}
	if r.batch != nil && !isSmall(r.batch) {
		r.apply = apart(r.apply)
	}
	c.commitGroup([]*request{r}, pause)
}

// apart lets a thread of low priority do the work, so that it doesn't hold up requests of
// others. What the pauses are for stays here, at full priority.
func apart(work func(pause func()) error) func(pause func()) error {
	return func(pause func()) (err error) {
		asked, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(asked)
			background.Run(func() {
				err = work(func() {
					asked <- struct{}{}
					<-done
				})
			})
		}()
		for range asked {
			pause()
			done <- struct{}{}
		}
		return err
	}
}

func (c *committer) commitGroup(list []*request, pause func()) {
	if len(list) == 0 {
		return
	}
	_, generation := c.log.now()
	g := &group{index: c.index, generation: generation, pins: map[string]*pinState{}}
	sync := false
	for _, r := range list {
		if r.prepare != nil {
			r.err = r.prepare(g)
			sync = sync || r.err == nil
		}
	}
	if sync {
		g.fail(list, c.log.sync(generation))
	}
	for _, r := range list {
		if r.err == nil && r.apply != nil {
			if r.err = r.apply(pause); r.err != nil {
				c.index.broken.Store(true) // it lacks what the log has
			}
		}
	}
	c.saveCheckpoint()
	for _, r := range list {
		close(r.done)
	}
}

// saveCheckpoint notes how far the index is.
func (c *committer) saveCheckpoint() { c.index.saveCheckpoint(c.uploads.checkpoint()) }

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
	return g.index.pin(key)
}

// prepare decides what the batch's pins become, and writes its commit record.
func (b *Batch) prepare(g *group) error {
	now := b.s.clock.stamp()
	next, stores, err := b.decide(g, now)
	if err != nil {
		return err
	}
	c := commit{synced: b.s.log.syncedBefore(), first: b.firstSegment()}
	for _, p := range next {
		c.pins = append(c.pins, p.Pin)
	}
	if n := b.looseBytes() + b.left(next, now); n > 0 {
		c.loose = []loose{{b.account, n, now, b.blocks.batch}}
		stores += n
	}
	if err := b.s.quotas.exchange(b.account, b.reserved, max(stores, 0), b.quota); err != nil {
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

// left is by how much pins become smaller. What they don't keep any more stays for a
// while, and counts as long.
func (b *Batch) left(next []*pinState, now int64) (bytes int64) {
	for _, p := range next {
		if old := p.before; old != nil && (old.live() || old.undoable(now, b.s.cfg.Undo)) {
			bytes += max(old.paid()-p.paid(), 0)
		}
	}
	return bytes
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
			return nil, &nodegate.Error{Op: "blockstore.undo", Code: nodegate.NotFound, Msg: op.pin.CID + " can't be pinned again by undo: it was not unpinned, or too long ago"}
		}
		p := *old
		p.Unpinned = time.Time{}
		return &p, nil
	case pinRename:
		if old == nil || !old.live() {
			return nil, errNoPin("rename", op.pin.CID)
		}
		p := *old
		p.Name = op.pin.Name
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

// toEnter are the blocks of a list that the index has to know. Those that were put again
// and are pinned need no later time.
func (b *Batch) toEnter(list []found) []found {
	if b.looseBytes() > 0 {
		return list
	}
	return slices.DeleteFunc(list, func(f found) bool { return f.again() })
}

// isSmall tells whether a batch is entered in the index at once.
func isSmall(b *Batch) bool { return entriesOf(b) <= smallBatch }

// entriesOf is how many blocks and pins a batch enters in the index.
func entriesOf(b *Batch) int { return b.blocks.count() + len(b.ops) }

// apply makes the batch visible. After a crash before its end, a start replays it from
// its first record on.
func (b *Batch) apply(pause func()) error {
	err := b.blocks.each(b.s.index, func(list []found) error {
		var err error
		inTurn(b.turns, func() { err = b.s.blocks.add(b.toEnter(list), b.result.time) })
		pause()
		return err
	})
	if err != nil {
		return err
	}
	if err := b.s.pins.applyReserved(b.result, b.account, b.reserved); err != nil {
		return err
	}
	b.reserved = 0
	b.applied.Store(true)
	return nil
}
