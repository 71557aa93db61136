package blockstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble"
	"github.com/cockroachdb/pebble/bloom"
	"github.com/cockroachdb/pebble/vfs"
	"github.com/nodegate/nodegate"
)

// The keys of the index, by their first byte.
const (
	keyBlock      = 'b' // multihash -> entry
	keyDamaged    = 'd' // multihash of a quarantined block
	keyPin        = 'p' // account, CID -> pinState
	keyLoose      = 'l' // time, batch -> account, bytes: what no pin of the batch keeps
	keyUsage      = 'u' // account -> bytes stored
	keyLive       = 's' // segment -> bytes in use, a sum of changes
	keyPending    = 'q' // batch, multihash -> entry: blocks of open batches that are too many for memory
	keyCheckpoint = 'c' // where a replay begins
	keyVersion    = 'v' // the form of the index
)

// indexVersion changes with the form of keys and values. An index of another
// version is rebuilt.
const indexVersion = "1"

// The sizes of the index's caches: what the store needs of memory when idle. The
// memtables, two or three at a time, are taken from the cache.
const (
	indexCache    = 64 << 20
	indexMemtable = 8 << 20
)

// index is the cache of what the log says. It is written without a sync and
// without a log of its own: what a crash loses of it is replayed from the segments.
type index struct {
	db     *pebble.DB
	broken atomic.Bool // it turned out to be damaged: the next start rebuilds it

	log     *slog.Logger
	opened  atomic.Bool
	failing atomic.Pointer[error] // why its tables can't be written, while that is so
	stopped atomic.Pointer[error] // why it can't go on at all
}

// openIndex opens the index in dir.
func openIndex(dir string, files vfs.FS, log *slog.Logger) (*index, error) {
	x := &index{log: log}
	cache := pebble.NewCache(indexCache)
	defer cache.Unref()
	options := &pebble.Options{
		FS: manifestFS{files, x}, Cache: cache, MemTableSize: indexMemtable, DisableWAL: true, MaxOpenFiles: 256,
		FormatMajorVersion: pebble.FormatNewest, Merger: sumMerger(), Comparer: wholeKeys(),
		Logger: indexLogger{x}, EventListener: x.listener(),
		Levels: make([]pebble.LevelOptions, 7),
	}
	for i := range options.Levels {
		options.Levels[i] = pebble.LevelOptions{BlockSize: 4 << 10, Compression: pebble.NoCompression, FilterPolicy: bloom.FilterPolicy(10), TargetFileSize: 4 << 20 << min(i, 3)}
		options.Levels[i].EnsureDefaults()
	}
	db, err := pebble.Open(dir, options)
	if err != nil {
		return nil, err
	}
	x.db = db
	x.opened.Store(true)
	return x, nil
}

// indexLogger passes on what matters. The index's own idea of a fatal error is to
// end the process; here reads go on, and the next start makes a new index.
type indexLogger struct{ index *index }

func (indexLogger) Infof(string, ...any) {}

func (l indexLogger) Fatalf(format string, args ...any) {
	l.index.stop(fmt.Errorf(format, args...))
}

// stop ends all writing to the index.
func (x *index) stop(err error) {
	x.broken.Store(true)
	if x.stopped.CompareAndSwap(nil, &err) {
		x.log.Error("the index of the block store failed: it is created again at the next start", "err", err)
	}
}

// close writes what is in memory and closes the index. One that can't be written is
// left as it is: the next start has the log.
func (x *index) close() error {
	if err := x.failure(); err != nil {
		return err
	}
	if x.broken.Load() {
		return x.db.Close()
	}
	if err := x.flush(); err != nil {
		if x.takes() != nil { // closing would wait for room on the disk
			return err
		}
		return errors.Join(err, x.db.Close())
	}
	return x.db.Close()
}

// flush brings everything to the disk. It does not wait for room on a full one.
func (x *index) flush() error {
	flushed, err := x.db.AsyncFlush()
	if err != nil {
		return err
	}
	for {
		select {
		case <-flushed:
			return nil
		case <-time.After(flushPause):
		}
		if err := x.takes(); err != nil {
			return err
		}
	}
}

// flushSoon lets the index write what it has in memory, beside all other work.
func (x *index) flushSoon() {
	if _, err := x.db.AsyncFlush(); err != nil {
		x.log.Error("the index of the block store can't be flushed", "err", err)
	}
}

// flushPause is how long the index waits after a failed write. It would try again at
// once, and keep a core busy while the disk is full.
const flushPause = 50 * time.Millisecond

// listener follows whether the index can write its tables. While it can't, what it
// holds in memory would grow until every write waits.
func (x *index) listener() *pebble.EventListener {
	return &pebble.EventListener{
		BackgroundError: func(error) { time.Sleep(flushPause) },
		FlushEnd: func(info pebble.FlushInfo) {
			var errno syscall.Errno
			switch {
			case info.Err == nil:
				x.failing.Store(nil)
			case errors.As(info.Err, &errno): // else there was nothing to write
				x.failing.Store(&info.Err)
			}
		},
	}
}

// takes tells whether new blocks can be entered. Returns InsufficientStorage while the
// disk is full.
func (x *index) takes() error {
	if err := x.failure(); err != nil {
		return err
	}
	// Room that was made shows at the next try, which is soon.
	for range 4 {
		if x.failing.Load() == nil {
			return nil
		}
		time.Sleep(flushPause)
	}
	if err := x.failing.Load(); err != nil {
		return writeError("index", *err)
	}
	return nil
}

// failure is why nothing can be entered until a restart, or nil.
func (x *index) failure() error {
	if err := x.stopped.Load(); err != nil {
		return &nodegate.Error{Op: "blockstore.index", Code: nodegate.Internal, Msg: "the index of the block store failed: restart the server to create it again", Err: *err}
	}
	return nil
}

// get reads a value, or nil when there is none.
func (x *index) get(key []byte) (value []byte, err error) {
	err = x.find(key, func(v []byte) error {
		value = append([]byte{}, v...)
		return nil
	})
	return value, err
}

// find hands a key's value to found, if there is one. Most of what an upload looks
// for is not there, and only an iterator uses the filters of the last level.
func (x *index) find(key []byte, found func(value []byte) error) error {
	it, err := x.db.NewIter(&pebble.IterOptions{UseL6Filters: true})
	if err != nil {
		return x.failed(err)
	}
	if it.SeekPrefixGE(key) && bytes.Equal(it.Key(), key) {
		err = found(it.Value())
	}
	if err := errors.Join(err, it.Error(), it.Close()); err != nil {
		return x.failed(err)
	}
	return nil
}

// failed notes damage of the index.
func (x *index) failed(err error) error {
	if errors.Is(err, pebble.ErrCorruption) {
		x.broken.Store(true)
		return &nodegate.Error{Op: "blockstore.index", Code: nodegate.Internal, Msg: "the index of the block store is damaged: restart the server to rebuild it", Err: err}
	}
	return fail("index", err)
}

// block reads a block's entry.
func (x *index) block(hash []byte) (e entry, ok bool, err error) {
	err = x.find(blockKey(hash), func(value []byte) error {
		if e, ok = decodeEntry(value); !ok {
			return pebble.ErrCorruption
		}
		return nil
	})
	return e, ok && err == nil, err
}

// wholeKeys compares as usual and filters by whole keys.
func wholeKeys() *pebble.Comparer {
	c := *pebble.DefaultComparer
	c.Split = func(key []byte) int { return len(key) }
	return &c
}

// scan goes through all keys with a prefix, until each says no.
func (x *index) scan(prefix []byte, each func(key, value []byte) (bool, error)) error {
	it, err := x.db.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: after(prefix)})
	if err != nil {
		return x.failed(err)
	}
	for ok := it.First(); ok; ok = it.Next() {
		more, err := each(it.Key()[len(prefix):], it.Value())
		if err != nil || !more {
			return errors.Join(err, it.Close())
		}
	}
	if err := errors.Join(it.Error(), it.Close()); err != nil {
		return x.failed(err)
	}
	return nil
}

// after is the first key behind all keys with a prefix.
func after(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}

// commit applies a set of changes.
func (x *index) commit(w *pebble.Batch) error {
	if w.Empty() {
		return w.Close()
	}
	if err := w.Commit(pebble.NoSync); err != nil {
		return x.failed(err)
	}
	return nil
}

// entry is where a block stands and what is known about it.
type entry struct {
	position
	length  uint32
	touched int64 // when it was last stored or put again, in nanoseconds; loose blocks are charged since then
	flags   uint8
}

const (
	flagDamaged = 1 << iota // quarantined: never returned
	flagLeaf                // read once as a node: refers to nothing
)

const entrySize = 25

// again tells whether the entry is of a block that a batch did not write, because it is
// stored already. Only open batches have such entries.
func (e entry) again() bool { return e.segment == 0 }

func (e entry) damaged() bool { return e.flags&flagDamaged != 0 }

// space is what the block's record takes of its segment.
func (e entry) space(hash []byte) int64 { return recordSize(len(hash), int(e.length)) }

func (e entry) encode() []byte {
	b := make([]byte, 0, entrySize)
	b = binary.LittleEndian.AppendUint32(b, e.segment)
	b = binary.LittleEndian.AppendUint64(b, uint64(e.off))
	b = binary.LittleEndian.AppendUint32(b, e.length)
	b = binary.LittleEndian.AppendUint64(b, uint64(e.touched))
	return append(b, e.flags)
}

func decodeEntry(b []byte) (entry, bool) {
	if len(b) != entrySize {
		return entry{}, false
	}
	return entry{
		position: position{binary.LittleEndian.Uint32(b), int64(binary.LittleEndian.Uint64(b[4:]))},
		length:   binary.LittleEndian.Uint32(b[12:]),
		touched:  int64(binary.LittleEndian.Uint64(b[16:])),
		flags:    b[24],
	}, true
}

func blockKey(hash []byte) []byte { return append([]byte{keyBlock}, hash...) }

func damagedKey(hash []byte) []byte { return append([]byte{keyDamaged}, hash...) }

func liveKey(segment uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{keyLive}, segment)
}

func pendingKey(batch uint64, hash []byte) []byte {
	return append(binary.BigEndian.AppendUint64([]byte{keyPending}, batch), hash...)
}

// addLive notes that bytes of a segment came into use, or fell out of it.
func addLive(w *pebble.Batch, segment uint32, bytes int64) error {
	return w.Merge(liveKey(segment), binary.LittleEndian.AppendUint64(nil, uint64(bytes)), nil)
}

// live reads how many bytes of each segment are in use.
func (x *index) live() (map[uint32]int64, error) {
	sums := map[uint32]int64{}
	err := x.scan([]byte{keyLive}, func(key, value []byte) (bool, error) {
		if len(key) == 4 && len(value) == 8 {
			sums[binary.BigEndian.Uint32(key)] = int64(binary.LittleEndian.Uint64(value))
		}
		return true, nil
	})
	return sums, err
}

// sumMerger adds up eight-byte numbers, so that several writers can change one sum.
func sumMerger() *pebble.Merger {
	return &pebble.Merger{Name: "nodegate.sum", Merge: func(_, value []byte) (pebble.ValueMerger, error) {
		s := &sum{}
		return s, s.MergeOlder(value)
	}}
}

type sum struct{ n int64 }

func (s *sum) MergeNewer(value []byte) error { return s.MergeOlder(value) }

func (s *sum) MergeOlder(value []byte) error {
	if len(value) != 8 {
		return pebble.ErrCorruption
	}
	s.n += int64(binary.LittleEndian.Uint64(value))
	return nil
}

func (s *sum) Finish(bool) ([]byte, io.Closer, error) {
	return binary.LittleEndian.AppendUint64(nil, uint64(s.n)), nil, nil
}
