package blockstore

import (
	"slices"
	"sync"
)

// uploads are the batches that are open, and what is left of those that ended without
// a commit.
type uploads struct {
	log      *log
	clock    *clock
	reclaims signal

	mu        sync.Mutex // taken before the log's lock
	open      map[*Batch]struct{}
	last      uint64   // the highest number of a batch
	discarded runs     // records of uploads that ended without a commit, not given back yet
	frozen    position // what stands before it must not change; see Freeze
}

func newUploads(l *log, c *clock, reclaims signal) *uploads {
	return &uploads{log: l, clock: c, reclaims: reclaims, open: map[*Batch]struct{}{}}
}

// begin gives a batch its number.
func (u *uploads) begin(b *Batch) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.last++
	b.blocks.batch = u.last
	u.open[b] = struct{}{}
}

// commit notes when the commit of a batch began.
func (u *uploads) commit(b *Batch) {
	u.mu.Lock()
	defer u.mu.Unlock()
	b.commits = u.clock.stamp()
}

// end forgets a batch that was committed or aborted. A checkpoint must see a batch, or
// what is left of it.
func (u *uploads) end(b *Batch) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.open, b)
	u.noteDiscarded(b.unwanted())
}

// discard notes what an ended batch has written since.
func (u *uploads) discard(b *Batch) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.noteDiscarded(b.unwanted())
}

// noteDiscarded notes records that are to be given back. The caller holds the lock.
func (u *uploads) noteDiscarded(list runs) {
	if len(list) == 0 {
		return
	}
	u.discarded = append(u.discarded, list...)
	if u.discarded.bytes() >= reclaimBytes {
		u.reclaims.raise()
	}
}

// toReclaim are the records that are discarded so far, and not frozen. They become the
// first ones.
func (u *uploads) toReclaim() (free runs) {
	u.mu.Lock()
	defer u.mu.Unlock()
	var held runs
	for _, r := range u.discarded {
		if r.position().before(u.frozen) {
			held = append(held, r)
		} else {
			free = append(free, r)
		}
	}
	u.discarded = slices.Concat(free, held)
	return free
}

// reclaimed forgets the first n runs that toReclaim returned.
func (u *uploads) reclaimed(n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.discarded = slices.Delete(u.discarded, 0, n)
}

// floor is the time now, and the begin of the oldest commit that is in progress: its
// blocks may enter the index before their pins do.
func (u *uploads) floor() (now, floor int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	now = u.clock.stamp()
	floor = now
	for b := range u.open {
		if b.commits != 0 {
			floor = min(floor, b.commits)
		}
	}
	return now, floor
}

// checkpoint is from where a replay would have to begin now. Batches that are open
// have records that it needs.
func (u *uploads) checkpoint() checkpoint {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.log.mu.Lock()
	defer u.log.mu.Unlock()
	c := checkpoint{position: u.log.endLocked(), batch: u.last, clock: u.clock.last.Load()}
	if u.log.active != nil {
		c.off = u.log.synced // what is behind it belongs to nobody, or to open batches
	}
	for b := range u.open {
		if b.first != (position{}) && !b.applied.Load() && b.first.before(c.position) {
			c.position = b.first
		}
	}
	for _, r := range u.discarded { // a start after a crash gives them back
		if r.position().before(c.position) {
			c.position = r.position()
		}
	}
	return c
}

// writing tells whether an open batch has records in the log. The caller holds the
// locks of both.
func (u *uploads) writing() bool {
	for b := range u.open {
		if b.first != (position{}) && !b.applied.Load() {
			return true
		}
	}
	return false
}

// worthSealing is when the active segment is large enough to be sealed early.
const worthSealing = 64 << 10

// sealActive ends the active segment early, if it is still that one, mostly empty
// and nobody writes. What aborted uploads left at its end is cut off without a copy,
// so that a full disk has room for the copies of compaction; it returns how much
// that was.
func (u *uploads) sealActive(number uint32, wasted bool) (cut int64, err error) {
	l := u.log
	l.syncing.Lock()
	defer l.syncing.Unlock()
	u.mu.Lock()
	defer u.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil || l.active == nil || l.active.number != number || l.end < worthSealing || u.writing() {
		return 0, l.broken
	}
	cut = l.end - l.kept
	if !wasted && cut < worthSealing || (position{number, l.kept}).before(u.frozen) {
		return 0, nil
	}
	if cut > 0 {
		if err := l.active.f.Truncate(l.kept); err != nil {
			return 0, l.failedWrite("truncate", err)
		}
		l.end = l.kept
		l.segs.resize(number, l.end)
	}
	if err := l.active.f.Sync(); err != nil {
		return 0, l.failedSync(err)
	}
	l.segs.give(l.active)
	l.active = nil // the index may know a place behind the cut: nothing is written there again
	l.roll()
	return cut, nil
}
