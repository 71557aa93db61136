package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// systemFiles is the operating system's file system, taken before embedded chains put
// theirs in its place: what fails here is no fault of theirs.
var systemFiles = vfs.Default

// files is the file system of the database. Errors on its log, its list of files and its
// markers would be fatal to Pebble, so they are not passed on (see health). Errors on
// tables are Pebble's to handle: it writes another table.
type files struct {
	vfs.FS
	health *health
}

// vital tells whether Pebble can't go on without writing this file.
func vital(name string) bool {
	base := filepath.Base(name)
	return strings.HasSuffix(base, ".log") || strings.HasPrefix(base, "MANIFEST-") || strings.HasPrefix(base, "marker.")
}

// make creates a file, insisting if it is a vital one.
func (f files) make(name string, create func() (vfs.File, error)) (vfs.File, error) {
	if !vital(name) {
		return create()
	}
	var made vfs.File
	err := f.health.insist(func() (err error) {
		made, err = create()
		return err
	})
	if err != nil {
		return nil, err
	}
	return vitalFile{made, f.health}, nil
}

// Create creates a file. A marker says by its name which list of files counts, and Pebble
// removes the old one right after. So what it names is on disk before it, and it is on
// disk before the old one goes: a power cut in between would leave a marker of nothing, or
// none, and with it an empty database.
func (f files) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	create := func() (vfs.File, error) { return f.FS.Create(name, category) }
	if !strings.HasPrefix(filepath.Base(name), "marker.") {
		return f.make(name, create)
	}
	if err := f.syncDir(name); err != nil {
		return nil, err
	}
	made, err := f.make(name, create)
	if err != nil {
		return nil, err
	}
	if err := f.syncDir(name); err != nil {
		return nil, errors.Join(err, made.Close())
	}
	return made, nil
}

// syncDir makes the names durable that are in the folder of a file.
func (f files) syncDir(name string) error {
	return f.health.synced(syncDir(f.FS, f.FS.PathDir(name)))
}

// OpenReadWrite opens a file for reading and writing.
func (f files) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return f.make(name, func() (vfs.File, error) { return f.FS.OpenReadWrite(name, category, opts...) })
}

// ReuseForWrite takes an old log for a new one.
func (f files) ReuseForWrite(from, to string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return f.make(to, func() (vfs.File, error) { return f.FS.ReuseForWrite(from, to, category) })
}

// OpenDir opens a folder, which is synced after files were created in it.
func (f files) OpenDir(name string) (vfs.File, error) {
	dir, err := f.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return vitalFile{dir, f.health}, nil
}

// Rename gives a file its final name.
func (f files) Rename(from, to string) error {
	if !vital(to) {
		return f.FS.Rename(from, to)
	}
	return f.health.insist(func() error { return f.FS.Rename(from, to) })
}

// Unwrap is the file system below.
func (f files) Unwrap() vfs.FS { return f.FS }

// vitalFile is a file that must be written, or a folder that must be synced.
type vitalFile struct {
	vfs.File
	health *health
}

func (f vitalFile) Write(b []byte) (n int, err error) {
	err = f.health.insist(func() error {
		more, err := f.File.Write(b[n:])
		n += more
		return err
	})
	return n, err
}

func (f vitalFile) Sync() error     { return f.health.synced(f.File.Sync()) }
func (f vitalFile) SyncData() error { return f.health.synced(f.File.SyncData()) }

func (f vitalFile) SyncTo(length int64) (bool, error) {
	whole, err := f.File.SyncTo(length)
	return whole, f.health.synced(err)
}

// The files of a folder that are not Pebble's, or that it needs while it is wiped.
const (
	discardName = "DISCARD" // the folder is to be emptied before it is used
	lockName    = "LOCK"
)

// discard marks a folder to be emptied by the next Open.
func discard(fs vfs.FS, dir string) error {
	f, err := fs.Create(fs.PathJoin(dir, discardName), vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close(), syncDir(fs, dir))
}

// discarded tells whether a folder is to be emptied.
func discarded(fs vfs.FS, dir string) bool {
	_, err := fs.Stat(fs.PathJoin(dir, discardName))
	return err == nil
}

// wipe empties a folder. If it ends half way, the next Open goes on: a part of the
// database, such as some of its logs, must never be taken for the whole.
func wipe(fs vfs.FS, dir string) error {
	if err := discard(fs, dir); err != nil {
		return err
	}
	names, err := fs.List(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if name == discardName || name == lockName {
			continue
		}
		if err := fs.RemoveAll(fs.PathJoin(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if err := syncDir(fs, dir); err != nil {
		return err
	}
	if err := fs.Remove(fs.PathJoin(dir, discardName)); err != nil {
		return err
	}
	return syncDir(fs, dir)
}

func syncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
