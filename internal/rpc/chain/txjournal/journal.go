package txjournal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/nodegate/nodegate/internal/disk"
)

// file is what a journal writes to.
type file interface {
	WriteAt(b []byte, at int64) (int, error)
	ReadAt(b []byte, at int64) (int, error)
	Truncate(size int64) error
	Sync() error
	Close() error
}

// Journal is safe for use by many goroutines. A nil Journal keeps nothing, for a chain
// in memory.
type Journal struct {
	path string

	mu   sync.Mutex // of next
	next *batch     // what waits for the next write

	io     sync.Mutex // of all below, and held while the file is written
	file   file
	size   int64
	synced int64 // up to where the file is on disk
	txs    []entry
	known  map[Hash]struct{} // of txs
	limit  int64             // a longer file is worth compacting
	failed error             // of a sync: what the file holds is unknown from then on
}

// entry is where a transaction's record is.
type entry struct {
	hash Hash
	at   int64
	size int
}

// batch is what is written and synced at once. Only who holds io reads done and err.
type batch struct {
	txs  []pending
	done bool
	err  error
}

type pending struct {
	hash Hash
	raw  []byte
}

// compactAbove is the size below which a journal is left as it is.
const compactAbove = 2 << 20

// ErrFailed is for a journal whose file could not be synced.
var ErrFailed = errors.New("the transaction journal can't be synced")

// Add returns when the transaction is on disk. What is known already is not written
// again. A failed write leaves the journal as it was; after a failed sync it takes
// nothing more.
func (j *Journal) Add(hash Hash, raw []byte) error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	b := j.next
	b.txs = append(b.txs, pending{hash, raw})
	j.mu.Unlock()
	j.io.Lock() // whoever gets here first writes for all that wait
	defer j.io.Unlock()
	if b.done {
		return b.err
	}
	j.mu.Lock()
	j.next = new(batch)
	j.mu.Unlock()
	b.err, b.done = j.write(b), true
	return b.err
}

// write appends a batch and syncs it. io is held.
func (j *Journal) write(b *batch) error {
	var data []byte
	var fresh []entry
	for _, p := range b.txs {
		if _, known := j.known[p.hash]; known {
			continue
		}
		at := len(data)
		data = appendRecord(data, kindTx, j.synced, p.hash[:], p.raw)
		fresh = append(fresh, entry{p.hash, j.size + int64(at), len(data) - at})
		j.known[p.hash] = struct{}{}
	}
	err := j.append(data)
	if err == nil {
		err = j.sync()
	}
	if err != nil {
		for _, e := range fresh {
			delete(j.known, e.hash)
		}
		return err
	}
	j.txs = append(j.txs, fresh...)
	return nil
}

// append writes behind the last record, or leaves the file as it was.
func (j *Journal) append(data []byte) error {
	if j.failed != nil || len(data) == 0 {
		return j.failed
	}
	if _, err := j.file.WriteAt(data, j.size); err != nil {
		return errors.Join(err, j.file.Truncate(j.size))
	}
	j.size += int64(len(data))
	return nil
}

// sync is never repeated when it fails: what it should have written may be lost
// although the next one succeeds.
func (j *Journal) sync() error {
	if j.failed != nil || j.synced == j.size {
		return j.failed
	}
	if err := j.file.Sync(); err != nil {
		j.failed = fmt.Errorf("%w: %w", ErrFailed, err)
		return j.failed
	}
	j.synced = j.size
	return nil
}

// Head notes a block that is on disk. The note itself is synced with the next
// transaction: a crash of the process leaves it, a power cut may take it.
func (j *Journal) Head(m Mark) error {
	if j == nil {
		return nil
	}
	j.io.Lock()
	defer j.io.Unlock()
	return j.append(appendMark(nil, kindHead, j.synced, m))
}

// Rewind notes that the chain is about to be set back to a block. The next Head says
// that it was, and the transactions before it are forgotten then.
func (j *Journal) Rewind(m Mark) error {
	if j == nil {
		return nil
	}
	j.io.Lock()
	defer j.io.Unlock()
	return errors.Join(j.append(appendMark(nil, kindRewind, j.synced, m)), j.sync())
}

// Prefix is the file as it is now: its first size bytes never change, also when the journal
// is replaced. The caller closes it. In memory there is none.
func (j *Journal) Prefix() (f *os.File, size int64, err error) {
	if j == nil {
		return nil, 0, nil
	}
	j.io.Lock()
	defer j.io.Unlock()
	if j.failed != nil {
		return nil, 0, j.failed
	}
	f, err = os.Open(j.path)
	return f, j.size, err
}

// Hashes are those of the transactions that the journal holds.
func (j *Journal) Hashes() (list []Hash) {
	j.io.Lock()
	defer j.io.Unlock()
	for _, e := range j.txs {
		list = append(list, e.hash)
	}
	return list
}

// Due tells whether the journal is long enough to be worth compacting.
func (j *Journal) Due() bool {
	if j == nil {
		return false
	}
	j.io.Lock()
	defer j.io.Unlock()
	return j.failed == nil && j.size > j.limit
}

// Compact leaves the head and the transactions that are still needed. Every block that
// holds a transaction must be on disk before it is not needed any more.
func (j *Journal) Compact(head Mark, needed func(Hash) bool) error {
	if j == nil {
		return nil
	}
	j.io.Lock()
	defer j.io.Unlock()
	if j.failed != nil {
		return j.failed
	}
	data := appendMark(nil, kindHead, 0, head)
	var kept []entry
	for _, e := range j.txs {
		if !needed(e.hash) {
			continue
		}
		record := make([]byte, e.size)
		if _, err := j.file.ReadAt(record, e.at); err != nil {
			return err
		}
		r, ok := readRecord(record)
		if !ok {
			return fmt.Errorf("%w at byte %d", ErrDamaged, e.at)
		}
		at := len(data)
		data = appendRecord(data, kindTx, 0, r.payload)
		kept = append(kept, entry{e.hash, int64(at), len(data) - at})
	}
	return j.replace(data, kept)
}

// replace puts a new file in the place of the old one, which stays when that fails.
func (j *Journal) replace(data []byte, kept []entry) error {
	f, err := writeFile(j.path, data)
	if err != nil {
		return err
	}
	if err := disk.SyncDir(filepath.Dir(j.path)); err != nil {
		// Nobody knows which of the two files a power cut would leave.
		j.failed = fmt.Errorf("%w: %w", ErrFailed, err)
		return errors.Join(j.failed, f.Close())
	}
	old := j.file
	j.file, j.size, j.synced, j.txs = f, int64(len(data)), int64(len(data)), kept
	j.limit = max(compactAbove, 2*j.size)
	j.known = make(map[Hash]struct{}, len(kept))
	for _, e := range kept {
		j.known[e.hash] = struct{}{}
	}
	if old != nil {
		return old.Close()
	}
	return nil
}

// Close closes the file.
func (j *Journal) Close() error {
	if j == nil {
		return nil
	}
	j.io.Lock()
	defer j.io.Unlock()
	err := j.file.Close()
	j.failed = os.ErrClosed
	return err
}
