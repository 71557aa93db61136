package blockstore

import (
	"context"
	"sync"

	"github.com/nodegate/nodegate"
)

// Segment is a file of the log, as far as it is frozen.
type Segment struct {
	Name string `json:"name"` // in the folder segments
	Size int64  `json:"size"` // what stands behind it came later

	number uint32
}

// Freeze lets somebody copy the log while the store is used: until thaw is called, the
// bytes of the segments that it returns stay as they are. They hold everything that was
// committed before, synced. The index is not needed: a start without one makes it from the
// log.
//
// New records go behind what is frozen, so nobody waits. Only a collection does, which
// would remove segments, and the space of aborted uploads is given back later.
//
// Returns Busy while the log can't be synced, and the cause of ctx when it ends before a
// collection that runs.
func (s *Store) Freeze(ctx context.Context) (list []Segment, thaw func(), err error) {
	if err := s.calls.enter(ctx); err != nil {
		return nil, nil, err
	}
	defer s.calls.leave()
	select {
	case s.collecting <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	case <-s.calls.life.Done():
		return nil, nil, errClosed()
	}
	s.reclaimer.mu.Lock() // what it gives back at this moment is not yet frozen
	defer s.reclaimer.mu.Unlock()
	_, generation := s.log.now()
	if err := s.log.sync(generation); err != nil {
		<-s.collecting
		return nil, nil, &nodegate.Error{Op: "blockstore.freeze", Code: nodegate.Busy, Msg: "the block store can't be synced", Err: err}
	}
	list = s.uploads.freeze()
	if err := s.log.segs.clip(list); err != nil {
		s.thaw()
		return nil, nil, fail("freeze", err)
	}
	return list, sync.OnceFunc(s.thaw), nil
}

func (s *Store) thaw() {
	s.uploads.thaw()
	<-s.collecting
	s.reclaimer.wake.raise()
}

// freeze notes what is on the disk, and keeps it there.
func (u *uploads) freeze() (list []Segment) {
	u.mu.Lock()
	defer u.mu.Unlock()
	l := u.log
	l.mu.Lock()
	defer l.mu.Unlock()
	u.frozen = l.endLocked()
	if l.active != nil {
		u.frozen.off = l.synced
	}
	for _, number := range l.segs.numbers() {
		size := l.segs.size(number)
		if number == u.frozen.segment {
			size = u.frozen.off
		}
		list = append(list, Segment{segmentName(number), size, number})
	}
	return list
}

// clip leaves out what is in no file: records end at multiples of the alignment, and the
// bytes that fill up the last one are not written.
func (s *segments) clip(list []Segment) error {
	for i := range list {
		seg, err := s.take(list[i].number)
		if err != nil {
			return err
		}
		size, err := seg.f.Size()
		s.give(seg)
		if err != nil {
			return err
		}
		list[i].Size = min(list[i].Size, size)
	}
	return nil
}

func (u *uploads) thaw() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.frozen = position{}
}
