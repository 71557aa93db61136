package blockstore

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
)

// maxOpenFiles bounds the segments that are open at once; a store of 1 TiB has
// four thousand.
const maxOpenFiles = 512

// segment is one file of the log. Its fields belong to the segments' lock.
type segment struct {
	number uint32
	size   int64
	f      file // nil while closed
	refs   int
	used   uint64 // when it was last taken, in takes
	gone   bool   // removed: closed with the last reader
}

// segments are the files of the log, opened as they are needed.
type segments struct {
	disk disk

	mu    sync.Mutex
	all   map[uint32]*segment
	takes uint64
	open  int
}

// errGone says that a segment is not there, or no longer: compaction moved its
// blocks and the index knows where.
var errGone = errors.New("the segment is gone")

func segmentName(number uint32) string { return fmt.Sprintf("%08x.seg", number) }

// listSegments finds the segments of a disk.
func listSegments(d disk) (*segments, error) {
	names, err := d.List()
	if err != nil {
		return nil, err
	}
	s := &segments{disk: d, all: map[uint32]*segment{}}
	for _, name := range names {
		var number uint32
		if _, err := fmt.Sscanf(name, "%08x.seg", &number); err != nil || segmentName(number) != name {
			continue
		}
		s.all[number] = &segment{number: number}
		seg, err := s.take(number)
		if err != nil {
			return nil, err
		}
		size, err := seg.f.Size()
		s.give(seg)
		if err != nil {
			return nil, err
		}
		s.resize(number, size)
	}
	return s, nil
}

// take returns a segment with its file, which stays open until give.
func (s *segments) take(number uint32) (*segment, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seg, ok := s.all[number]
	if !ok {
		return nil, errGone
	}
	if seg.f == nil {
		f, err := s.disk.Open(segmentName(number))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, errGone
		}
		if err != nil {
			return nil, err
		}
		seg.f = f
		s.open++
		s.closeOldest()
	}
	s.takes++
	seg.refs, seg.used = seg.refs+1, s.takes
	return seg, nil
}

// closeOldest keeps the number of open files in bounds.
func (s *segments) closeOldest() {
	if s.open <= maxOpenFiles {
		return
	}
	var oldest *segment
	for _, seg := range s.all {
		if seg.f != nil && seg.refs == 0 && seg.used > 0 && (oldest == nil || seg.used < oldest.used) {
			oldest = seg
		}
	}
	if oldest != nil {
		closeFile(s.unused(oldest))
	}
}

// give ends a take. The segment may have been removed meanwhile.
func (s *segments) give(seg *segment) { closeFile(s.giveBack(seg)) }

func (s *segments) giveBack(seg *segment) file {
	s.mu.Lock()
	defer s.mu.Unlock()
	seg.refs--
	if seg.gone {
		return s.unused(seg)
	}
	return nil
}

// unused returns the file of a segment that nobody reads, for closing. A removed
// file gives its space back when it is closed, which takes a while: that is done
// without the lock.
func (s *segments) unused(seg *segment) (f file) {
	if seg.refs == 0 && seg.f != nil {
		f, seg.f = seg.f, nil
		s.open--
	}
	return f
}

func closeFile(f file) {
	if f != nil {
		_ = f.Close() // nothing is pending: what counts was synced
	}
}

// add makes a new segment known, taken once.
func (s *segments) add(number uint32, f file) *segment {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.takes++
	s.open++
	seg := &segment{number: number, f: f, refs: 1, used: s.takes, size: segmentHeader}
	s.all[number] = seg
	s.closeOldest()
	return seg
}

// remove deletes a segment. Who reads it goes on until done.
func (s *segments) remove(number uint32) error {
	if !s.has(number) {
		return nil
	}
	if err := s.disk.Remove(segmentName(number)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	closeFile(s.forget(number))
	return nil
}

// forget takes a segment off the list. Its file is returned if nobody reads it.
func (s *segments) forget(number uint32) file {
	s.mu.Lock()
	defer s.mu.Unlock()
	seg, ok := s.all[number]
	if !ok {
		return nil
	}
	delete(s.all, number)
	seg.gone = true
	return s.unused(seg)
}

func (s *segments) resize(number uint32, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if seg, ok := s.all[number]; ok {
		seg.size = size
	}
}

func (s *segments) size(number uint32) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if seg, ok := s.all[number]; ok {
		return seg.size
	}
	return 0
}

func (s *segments) has(number uint32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.all[number]
	return ok
}

// numbers lists the segments in order.
func (s *segments) numbers() []uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]uint32, 0, len(s.all))
	for n := range s.all {
		list = append(list, n)
	}
	slices.Sort(list)
	return list
}

// olderThan tells whether a segment in [from, to) is still there.
func (s *segments) olderThan(from, to uint32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := range s.all {
		if n >= from && n < to {
			return true
		}
	}
	return false
}

// closeAll forgets all files; who reads one goes on until done.
func (s *segments) closeAll() {
	for _, number := range s.numbers() {
		closeFile(s.forget(number))
	}
}
