package blockstore

import (
	"time"

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
	index      *index
	generation uint64
	pins       map[string]*pinState // what earlier requests of the group made of pins
}

// committer is the one that changes pins and ends batches.
type committer struct {
	log      *log
	index    *index
	uploads  *uploads
	reclaims signal
	requests chan *request
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
	for {
		select {
		case r, ok := <-c.requests:
			if !ok {
				return
			}
			c.commitGroup(c.gather(r))
		case <-flush.C:
			c.saveCheckpoint()
			c.index.flushSoon()
			c.reclaims.raise()
		}
	}
}

// gather takes all that waits.
func (c *committer) gather(first *request) []*request {
	list := []*request{first}
	for len(list) < groupSize {
		select {
		case r, ok := <-c.requests:
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

func (c *committer) commitGroup(list []*request) {
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
			if r.err = r.apply(); r.err != nil {
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
	if n := b.looseBytes(); n > 0 {
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
	err := b.blocks.each(b.s.index, func(list []found) error { return b.s.blocks.add(list, b.result.time) })
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
