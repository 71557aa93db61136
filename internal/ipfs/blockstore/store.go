package blockstore

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/vfs"
	"github.com/ipfs/go-cid"
)

// Config says where a store is and how it behaves.
type Config struct {
	Dir          string
	SegmentBytes int64         // a segment is sealed at this size; 256 MiB if 0
	Undo         time.Duration // how long content stays that is unpinned or was never pinned; 24 h if 0, not at all if negative
	Reserve      int64         // bytes of the disk that stay free; 0: none
	ScrubRate    int64         // bytes a second that are checked in the background; 8 MiB if 0, none if negative
	CollectRate  int64         // bytes a second that a collection reads; 256 MiB if 0

	// Links lists what a block refers to. A collection keeps what pinned blocks
	// refer to; nil says that no block refers to another.
	Links func(c cid.Cid, data []byte) ([]cid.Cid, error)
	Log   *slog.Logger

	// Tests set these.
	now   func() time.Time
	disk  disk   // of the segments
	index vfs.FS // of the index
}

const (
	// DefaultUndo is how long unpinned content stays by default.
	DefaultUndo = 24 * time.Hour

	defaultSegment = 256 << 20
	defaultScrub   = 8 << 20
	defaultCollect = 256 << 20
)

// Store is an open block store. Its methods may be called by many goroutines.
type Store struct {
	cfg   Config
	log   *log
	index *index
	lock  io.Closer

	clock atomic.Int64 // the highest stamp given

	entries sync.Mutex // held between reading and changing a block's entry

	quotaMu  sync.Mutex
	reserved map[string]int64 // bytes that open batches claim, by account
	usage    map[string]int64 // what the index says of some accounts

	openMu    sync.Mutex // taken before the log's lock
	open      map[*Batch]struct{}
	lastBatch uint64
	discarded runs // records of uploads that ended without a commit, not given back yet

	reclaiming sync.Mutex    // one at a time
	reclaims   chan struct{} // told when there is something to give back
	room       atomic.Int64  // bytes that are being written, for the reserve
	noHoles    atomic.Bool   // the file system can't free a part of a file

	collecting sync.Mutex // one collection at a time
	buffers    compareBuffers

	requests chan *request
	life     context.Context // ends with Close
	stop     context.CancelFunc
	workers  sync.WaitGroup

	state  sync.Mutex
	closed bool
	users  sync.WaitGroup // calls that are under way
}

// Open opens the store in c.Dir, or makes one there. After a crash it replays the
// end of the log; without its index it reads the heads of all records.
//
// Returns BadConfig when the folder can't be used or another process uses it.
func Open(ctx context.Context, c Config) (*Store, error) {
	c = c.withDefaults()
	for _, dir := range []string{c.Dir, filepath.Join(c.Dir, "segments")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, badFolder("the folder of the block store can't be made: "+err.Error(), err)
		}
	}
	lock, err := vfs.Default.Lock(filepath.Join(c.Dir, "lock"))
	if err != nil {
		return nil, badFolder("the folder of the block store is in use by another process, or can't be written: "+c.Dir, err)
	}
	s := &Store{cfg: c, lock: lock, reserved: map[string]int64{}, usage: map[string]int64{}, open: map[*Batch]struct{}{}, requests: make(chan *request, groupSize), reclaims: make(chan struct{}, 1)}
	if err := s.load(ctx); err != nil {
		return nil, errors.Join(err, s.release())
	}
	s.start()
	return s, nil
}

func (c Config) withDefaults() Config {
	if c.SegmentBytes == 0 {
		c.SegmentBytes = defaultSegment
	}
	if c.Undo == 0 {
		c.Undo = DefaultUndo
	}
	c.Undo = max(c.Undo, 0)
	if c.ScrubRate == 0 {
		c.ScrubRate = defaultScrub
	}
	if c.CollectRate == 0 {
		c.CollectRate = defaultCollect
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.now == nil {
		c.now = time.Now
	}
	if c.disk == nil {
		c.disk = folder(filepath.Join(c.Dir, "segments"))
	}
	if c.index == nil {
		c.index = vfs.Default
	}
	if c.Links == nil {
		c.Links = func(cid.Cid, []byte) ([]cid.Cid, error) { return nil, nil }
	}
	return c
}

// load opens the segments and the index and brings them together.
func (s *Store) load(ctx context.Context) error {
	segs, err := listSegments(s.cfg.disk)
	if err != nil {
		return badFolder("the segments of the block store can't be read: "+err.Error(), err)
	}
	s.log = &log{segs: segs, limit: s.cfg.SegmentBytes, generation: 1, flush: make(chan struct{}, 1), roll: func() {}}
	if s.index, err = s.openOrMakeIndex(); err != nil {
		return err
	}
	if err := s.opened(); err != nil {
		return err
	}
	s.log.roll = s.flushIndex
	return s.replay(ctx)
}

// start begins the background work.
func (s *Store) start() {
	ctx, stop := context.WithCancel(context.Background())
	s.life, s.stop = ctx, stop
	s.workers.Add(3)
	go s.commitLoop()
	go s.reclaimLoop(ctx)
	s.wakeReclaim() // what a crash left
	go s.flushLoop(ctx)
	if s.cfg.ScrubRate > 0 {
		s.workers.Add(1)
		go s.scrubLoop(ctx)
	}
}

// flushLoop syncs while an upload is written, so that little is left for its end.
func (s *Store) flushLoop(ctx context.Context) {
	defer s.workers.Done()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.log.flush:
			_, generation := s.log.now()
			if err := s.log.sync(generation); err != nil {
				s.cfg.Log.Error("the block store can't sync", "err", err)
			}
		}
	}
}

// enter begins a call, unless the store is closing or the caller has gone.
func (s *Store) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.state.Lock()
	defer s.state.Unlock()
	if s.closed {
		return errClosed()
	}
	s.users.Add(1)
	return nil
}

func (s *Store) leave() { s.users.Done() }

// stamp is the time, and never before an earlier stamp: a clock that is set back
// must not make new content look old to a collection.
func (s *Store) stamp() int64 {
	now := s.cfg.now().UnixNano()
	for {
		last := s.clock.Load()
		if now <= last {
			return last
		}
		if s.clock.CompareAndSwap(last, now) {
			return now
		}
	}
}

// Close ends the background work, waits for calls under way and closes all files.
// Batches that are open are lost, as Abort does.
func (s *Store) Close() error {
	s.state.Lock()
	again := s.closed
	s.closed = true
	s.state.Unlock()
	if again {
		return nil
	}
	s.stop()
	s.users.Wait()
	close(s.requests)
	s.workers.Wait()
	_, generation := s.log.now()
	err := s.log.sync(generation)
	if err == nil {
		s.saveCheckpoint()
	}
	switch {
	case s.index.broken.Load():
		s.markIndex()
	case err == nil:
		if unclean := s.closedCleanly(); unclean != nil {
			s.cfg.Log.Warn("the block store is closed, but the next start can't check that all segments are there", "err", unclean)
		}
	}
	return errors.Join(err, s.release())
}

// release gives up the files.
func (s *Store) release() error {
	var errs []error
	if s.index != nil {
		errs = append(errs, s.index.close())
	}
	if s.log != nil {
		s.log.segs.closeAll()
		if s.log.active != nil {
			s.log.segs.give(s.log.active)
		}
	}
	return errors.Join(append(errs, s.lock.Close())...)
}

func hexOf(hash []byte) string { return hex.EncodeToString(hash) }
