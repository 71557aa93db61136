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

// Store is an open block store. Its methods may be called by many goroutines. What it
// does is in the types that it joins.
type Store struct {
	cfg   Config
	files indexFiles
	lock  io.Closer
	calls calls
	clock clock

	log   *log   // what must survive
	index *index // what is found by it

	blocks    *blockTable // blocks by their hash
	pins      *pinTable   // pins by their account
	quotas    *quotas     // what accounts have stored
	holds     *holds      // stored blocks that open batches rely on
	room      *room       // what the disk has left
	uploads   *uploads    // open batches
	committer *committer  // ends batches
	reclaimer *reclaimer  // frees the space of those that were aborted
	scrubber  *scrubber   // finds damage

	collecting chan struct{} // holds an element while a collection runs, or the log is frozen
	workers    sync.WaitGroup
}

// Open opens the store in c.Dir, or makes one there. After a crash it replays the
// end of the log; without its index it reads the heads of all records.
//
// Returns BadConfig when the folder can't be used or another process uses it.
func Open(ctx context.Context, c Config) (*Store, error) {
	c = c.withDefaults()
	for _, dir := range []string{c.Dir, filepath.Join(c.Dir, "segments")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, badFolder("the folder of the block store can't be created: "+err.Error(), err)
		}
	}
	lock, err := vfs.Default.Lock(filepath.Join(c.Dir, "lock"))
	if err != nil {
		return nil, badFolder("the folder of the block store is in use by another process, or can't be written: "+c.Dir, err)
	}
	s := &Store{cfg: c, lock: lock, files: indexFiles{dir: c.Dir, fs: c.index, log: c.Log}, clock: clock{now: c.now}, collecting: make(chan struct{}, 1)}
	s.calls.life, s.calls.stop = context.WithCancel(context.Background())
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
	if s.index, err = s.files.openOrMakeIndex(segs); err != nil {
		return err
	}
	if err := s.files.opened(); err != nil {
		return err
	}
	s.log.roll = s.index.flushSoon
	s.join()
	return s.replay(ctx)
}

// join builds what stands on the log and the index.
func (s *Store) join() {
	reclaims := make(signal, 1)
	s.quotas = newQuotas(s.index)
	s.holds = newHolds(s.quotas)
	s.blocks = &blockTable{index: s.index, segs: s.log.segs, holds: s.holds, log: s.cfg.Log}
	s.pins = &pinTable{index: s.index, quotas: s.quotas}
	s.room = &room{disk: s.log.segs.disk, index: s.index, reserve: s.cfg.Reserve, reclaims: reclaims}
	s.uploads = newUploads(s.log, &s.clock, reclaims)
	s.committer = &committer{log: s.log, index: s.index, uploads: s.uploads, reclaims: reclaims, requests: make(chan *request, groupSize)}
	s.reclaimer = &reclaimer{log: s.log, uploads: s.uploads, committer: s.committer, calls: &s.calls, clock: &s.clock, wake: reclaims, logger: s.cfg.Log}
	s.scrubber = &scrubber{index: s.index, blocks: s.blocks, rate: s.cfg.ScrubRate, log: s.cfg.Log}
}

// start begins the background work.
func (s *Store) start() {
	life := s.calls.life
	s.workers.Go(s.committer.run)
	s.workers.Go(func() { s.reclaimer.run(life) })
	s.reclaimer.wake.raise() // what a crash left
	s.workers.Go(func() { s.flushLoop(life) })
	if s.cfg.ScrubRate > 0 {
		s.workers.Go(func() { s.scrubber.run(life) })
	}
}

// flushLoop syncs while an upload is written, so that little is left for its end.
func (s *Store) flushLoop(ctx context.Context) {
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

// Close ends the background work, waits for calls in progress and closes all files.
// Batches that are open are lost, as Abort does.
func (s *Store) Close() error {
	if !s.calls.close() {
		return nil
	}
	close(s.committer.requests)
	s.workers.Wait()
	_, generation := s.log.now()
	err := s.log.sync(generation)
	if err == nil {
		s.committer.saveCheckpoint()
	}
	switch {
	case s.index.broken.Load():
		s.files.markIndex()
	case err == nil:
		if unclean := s.files.closedCleanly(s.index); unclean != nil {
			s.cfg.Log.Warn("the block store is closed, but the next start can't check that all segments are there", "err", unclean)
		}
	}
	return errors.Join(err, s.release())
}

// release gives up the files.
func (s *Store) release() error {
	s.calls.stop()
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
