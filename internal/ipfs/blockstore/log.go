package blockstore

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"sync"

	"github.com/nodegate/nodegate"
)

// flushBytes is how much may be written before a sync begins by itself: it keeps
// the sync at the end of a large upload short.
const flushBytes = 16 << 20

// position is a place in the log.
type position struct {
	segment uint32
	off     int64
}

func (p position) before(q position) bool {
	return p.segment < q.segment || p.segment == q.segment && p.off < q.off
}

// log appends records to the newest segment. A record is written whole before the
// next one begins, so after a crash only the end can be torn.
//
// The generation counts how often unsynced records were given up. Who wrote in an
// older one can't commit.
type log struct {
	segs  *segments
	limit int64 // a segment is sealed at this size

	syncing sync.Mutex // one sync at a time: a failure is reported to one caller only. Taken before mu

	mu         sync.Mutex
	active     *segment // taken; nil: the next record begins a new segment
	tag        uint64
	last       uint32 // the highest number in use
	end        int64  // where the next record goes
	kept       int64  // what stands behind it belongs to open batches, or to nobody
	synced     int64  // what is surely on the disk
	generation uint64
	broken     error // set by a failed write or sync: no more writes until a restart
	scratch    []byte

	flush chan struct{} // told when much is unsynced
	roll  func()        // told when a segment was sealed
}

// stale is the error of a batch whose records were given up.
func stale() error {
	return &nodegate.Error{Op: "blockstore.log", Code: nodegate.InsufficientStorage, Msg: msgFull + ": the disk was full in the meantime; send it again"}
}

// append writes a record and its data. Under the log's lock it tells the batch whose
// record it is, if there is one, where that stands.
func (l *log) append(generation uint64, r record, data []byte, of *Batch) (position, error) {
	r.length, r.dataCRC = uint32(len(data)), crc32.Checksum(data, crcTable())
	for {
		pos, full, err := l.tryAppend(generation, &r, data, of)
		if err != nil || !full {
			return pos, err
		}
		if err := l.rotate(pos.segment); err != nil {
			return position{}, err
		}
	}
}

// tryAppend reports full when another segment has to begin first.
func (l *log) tryAppend(generation uint64, r *record, data []byte, of *Batch) (pos position, full bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.broken != nil:
		return position{}, false, l.broken
	case generation != l.generation:
		return position{}, false, stale()
	case l.active == nil:
		return position{}, true, nil
	}
	pos = position{l.active.number, l.end}
	if l.end > segmentHeader && l.end+r.size() > l.limit {
		return pos, true, nil
	}
	of.begin(pos)
	if err := l.write(r, data); err != nil {
		return position{}, false, l.failedWrite("write", err)
	}
	l.end += r.size()
	of.wrote(pos, r.size())
	if r.kind == kindCommit || r.batch == 0 {
		l.kept = l.end
	}
	l.segs.resize(pos.segment, l.end)
	if l.end-l.synced >= flushBytes {
		select {
		case l.flush <- struct{}{}:
		default:
		}
	}
	return pos, false, nil
}

// failedWrite ends all writing, unless the disk is only full.
func (l *log) failedWrite(op string, cause error) error {
	if !isFull(cause) {
		l.broken = fail(op, cause)
	}
	return writeError(op, cause)
}

// write puts a record at the end. Small ones are copied together for one call.
func (l *log) write(r *record, data []byte) error {
	const small = 32 << 10
	head := r.appendHead(l.scratch[:0], l.tag)
	if len(data) <= small {
		l.scratch = append(head, data...)
		_, err := l.active.f.WriteAt(l.scratch, l.end)
		return err
	}
	if _, err := l.active.f.WriteAt(head, l.end); err != nil {
		return err
	}
	_, err := l.active.f.WriteAt(data, l.end+int64(len(head)))
	return err
}

// rotate seals the active segment, if it is still that one, and begins the next.
func (l *log) rotate(number uint32) error {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil {
		return l.broken
	}
	if l.active != nil {
		if l.active.number != number { // somebody else was faster
			return nil
		}
		if err := l.active.f.Sync(); err != nil {
			return l.failedSync(err)
		}
		l.segs.give(l.active)
		l.active = nil
	}
	if err := l.create(); err != nil {
		return err
	}
	l.roll()
	return nil
}

// create begins a segment. Its name is synced first: a segment that vanishes in a
// power cut would take acknowledged blocks along.
func (l *log) create() error {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	tag, number := binary.LittleEndian.Uint64(random[:]), l.last+1
	f, err := l.segs.disk.Create(segmentName(number))
	if err != nil {
		return writeError("create", err) // too many open files, say: nothing is lost
	}
	if _, err = f.WriteAt(encodeSegmentHeader(number, tag), 0); err == nil {
		err = l.segs.disk.Sync()
	}
	if err != nil {
		l.last = number // its name may stay
		_ = errors.Join(f.Close(), l.segs.disk.Remove(segmentName(number)))
		return l.failedWrite("create", err)
	}
	l.active, l.tag, l.last = l.segs.add(number, f), tag, number
	l.end, l.kept, l.synced = segmentHeader, segmentHeader, 0
	return nil
}

// reuse goes on with a segment that is there.
func (l *log) reuse(number uint32, tag uint64, end int64) error {
	seg, err := l.segs.take(number)
	if err != nil {
		return err
	}
	l.active, l.tag, l.end, l.kept, l.synced = seg, tag, end, end, end
	return nil
}

// sync returns when all that was appended before is on the disk. It fails if
// records of that generation were given up.
func (l *log) sync(generation uint64) error {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.mu.Lock()
	active, end, err := l.active, l.end, l.broken
	if err == nil && generation != l.generation {
		err = stale()
	}
	done := active == nil || end == l.synced
	l.mu.Unlock()
	if err != nil || done {
		return err
	}
	err = active.f.Sync()
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		return l.failedSync(err)
	}
	l.synced = end
	return nil
}

// failedSync decides what a failed sync means. The kernel may have dropped what it
// could not write and will not say so again, so it is never just retried: a full
// disk gives up the unsynced records, anything else ends all writing.
func (l *log) failedSync(cause error) error {
	l.generation++
	if isFull(cause) {
		cause = errors.Join(cause, l.active.f.Truncate(l.synced))
		l.segs.resize(l.active.number, l.synced)
		l.segs.give(l.active)
		l.active = nil
		return writeError("sync", cause)
	}
	l.broken = fail("sync", cause)
	return l.broken
}

// now is the end of the log and its generation.
func (l *log) now() (position, uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.endLocked(), l.generation
}

func (l *log) endLocked() position {
	if l.active == nil {
		return position{l.last + 1, segmentHeader}
	}
	return position{l.active.number, l.end}
}

// syncedBefore is up to where the log is surely on the disk.
func (l *log) syncedBefore() position {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.active == nil {
		return position{}
	}
	return position{l.active.number, l.synced}
}

// failure is why the log takes no writes, or nil.
func (l *log) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.broken
}
