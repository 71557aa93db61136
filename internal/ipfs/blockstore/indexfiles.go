package blockstore

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/cockroachdb/pebble"
	"github.com/cockroachdb/pebble/vfs"
)

// indexFiles are the folder of the index and the files beside it that say in which
// state a store was left.
type indexFiles struct {
	dir string // of the store
	fs  vfs.FS
	log *slog.Logger
}

func (f *indexFiles) indexDir() string { return filepath.Join(f.dir, "index") }

// marker is a file whose presence says that the index has to be rebuilt.
func (f *indexFiles) marker() string { return filepath.Join(f.dir, "index.damaged") }

func (f *indexFiles) markIndex() {
	marker, err := f.fs.Create(f.marker())
	if err == nil {
		err = marker.Close()
	}
	if err != nil {
		f.log.Error("can't mark the damaged index: remove its folder manually", "folder", f.indexDir(), "err", err)
	}
}

// openOrMakeIndex opens the index, or makes an empty one when it can't be used.
func (f *indexFiles) openOrMakeIndex(segs *segments) (*index, error) {
	if _, err := f.fs.Stat(f.marker()); err == nil {
		f.log.Warn("the block store's index is marked as damaged: rebuilding it")
	} else {
		x, err := tryIndex(f.indexDir(), f.fs, f.log)
		if err == nil {
			if err = x.usable(); err == nil {
				if err := f.checkSegments(x, segs); err != nil {
					return nil, errors.Join(err, x.db.Close())
				}
				return x, nil
			}
			_ = x.db.Close() // it is thrown away
		}
		if len(segs.numbers()) > 0 { // else the store is new
			f.log.Warn("the block store's index can't be used: rebuilding it", "err", err)
		}
	}
	return f.makeIndex()
}

func (f *indexFiles) makeIndex() (*index, error) {
	if err := f.fs.RemoveAll(f.indexDir()); err != nil {
		return nil, badFolder("the damaged index of the block store can't be removed: "+err.Error(), err)
	}
	x, err := openIndex(f.indexDir(), f.fs, f.log)
	if err != nil {
		return nil, badFolder("the index of the block store can't be created: "+err.Error(), err)
	}
	err = x.db.Set([]byte{keyVersion}, []byte(indexVersion), pebble.NoSync)
	if err = errors.Join(err, x.db.Flush()); err != nil {
		return nil, errors.Join(fail("open", err), x.db.Close())
	}
	_ = f.fs.Remove(f.marker()) // most often there is none
	return x, nil
}

// tryIndex is openIndex for a folder that may lack files: Pebble panics at some of them.
func tryIndex(dir string, files vfs.FS, log *slog.Logger) (x *index, err error) {
	defer func() {
		if p := recover(); p != nil {
			x, err = nil, fmt.Errorf("it can't be opened: %v", p)
		}
	}()
	return openIndex(dir, files, log)
}

// usable checks an index that was there. One without a version is empty: either
// new, or its first bytes were lost in a crash.
func (x *index) usable() error {
	version, err := x.get([]byte{keyVersion})
	if err != nil {
		return err
	}
	if string(version) != indexVersion {
		return errors.New("it is empty or of another version")
	}
	if _, err = x.live(); err != nil {
		return err
	}
	_, err = x.readCheckpoint()
	return err
}

// cleanFile says that the store was closed and its index is complete on disk. It is gone
// while the store is open: after a crash the index may still count content in segments
// that a collection has removed.
func (f *indexFiles) cleanFile() string { return filepath.Join(f.dir, "clean") }

func (f *indexFiles) wasClosed() bool {
	_, err := f.fs.Stat(f.cleanFile())
	return err == nil
}

// opened takes the file away before anything changes.
func (f *indexFiles) opened() error {
	if !f.wasClosed() {
		return nil
	}
	if err := errors.Join(f.fs.Remove(f.cleanFile()), f.syncFolder()); err != nil {
		return badFolder("the folder of the block store can't be written: "+err.Error(), err)
	}
	return nil
}

// closedCleanly puts the file there once the index is on disk. Without it the next start
// only checks less.
func (f *indexFiles) closedCleanly(x *index) error {
	if err := errors.Join(x.failure(), x.flush()); err != nil {
		return err
	}
	clean, err := f.fs.Create(f.cleanFile())
	if err != nil {
		return err
	}
	return errors.Join(clean.Sync(), clean.Close(), f.syncFolder())
}

func (f *indexFiles) syncFolder() error {
	dir, err := f.fs.OpenDir(f.dir)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// checkSegments sees that every segment with content in use is there. Without one the
// store would open, and its content would be found missing one block at a time. After a
// crash nobody can say: a collection may have removed the segment.
func (f *indexFiles) checkSegments(x *index, segs *segments) error {
	if !f.wasClosed() {
		return nil
	}
	live, err := x.live()
	if err != nil {
		return err
	}
	for number, bytes := range live {
		if bytes > 0 && !segs.has(number) {
			return badFolder(fmt.Sprintf("the segment %s, with %d bytes in use, is missing: restore it from a backup. To continue without its content, remove the folder %s, which is rebuilt from the remaining segments",
				filepath.Join(f.dir, "segments", segmentName(number)), bytes, f.indexDir()), nil)
		}
	}
	return nil
}
