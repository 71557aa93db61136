package blockstore

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/cockroachdb/pebble/vfs"
)

// tryIndex is openIndex for a folder that may lack files: Pebble panics at some of them.
func tryIndex(dir string, files vfs.FS, log *slog.Logger) (x *index, err error) {
	defer func() {
		if p := recover(); p != nil {
			x, err = nil, fmt.Errorf("it can't be opened: %v", p)
		}
	}()
	return openIndex(dir, files, log)
}

// cleanFile says that the store was closed and its index is complete on disk. It is gone
// while the store is open: after a crash the index may still count content in segments
// that a collection has removed.
func (s *Store) cleanFile() string { return filepath.Join(s.cfg.Dir, "clean") }

func (s *Store) wasClosed() bool {
	_, err := s.cfg.index.Stat(s.cleanFile())
	return err == nil
}

// opened takes the file away before anything changes.
func (s *Store) opened() error {
	if !s.wasClosed() {
		return nil
	}
	if err := errors.Join(s.cfg.index.Remove(s.cleanFile()), s.syncFolder()); err != nil {
		return badFolder("the folder of the block store can't be written: "+err.Error(), err)
	}
	return nil
}

// closedCleanly puts the file there once the index is on disk. Without it the next start
// only checks less.
func (s *Store) closedCleanly() error {
	if err := errors.Join(s.index.failure(), s.index.flush()); err != nil {
		return err
	}
	f, err := s.cfg.index.Create(s.cleanFile())
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close(), s.syncFolder())
}

func (s *Store) syncFolder() error {
	dir, err := s.cfg.index.OpenDir(s.cfg.Dir)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// checkSegments sees that every segment with content in use is there. Without one the
// store would open, and its content would be found missing one block at a time. After a
// crash nobody can say: a collection may have removed the segment.
func (s *Store) checkSegments(x *index) error {
	if !s.wasClosed() {
		return nil
	}
	live, err := x.live()
	if err != nil {
		return err
	}
	for number, bytes := range live {
		if bytes > 0 && !s.log.segs.has(number) {
			return badFolder(fmt.Sprintf("the segment %s, with %d bytes in use, is missing: restore it from a backup. To go on without its content, remove the folder %s, which is made again from the segments that are left",
				filepath.Join(s.cfg.Dir, "segments", segmentName(number)), bytes, s.indexDir()), nil)
		}
	}
	return nil
}
