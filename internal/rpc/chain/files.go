package chain

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// watchFiles puts watchedFS under every database that go-ethereum opens from now on. Its
// file system can't be passed to it, and is taken from this variable.
var watchFiles = sync.OnceFunc(func() { vfs.Default = watchedFS{vfs.Default} })

// watchedFS is the file system of the chain's databases. Pebble ends the process when it
// can't write its log or its list of files; here the network stops instead, and whoever
// wrote is held for good. Errors on other files are Pebble's to handle: it tries again.
type watchedFS struct{ vfs.FS }

// vital tells whether Pebble can't go on without writing this file.
func vital(name string) bool {
	base := filepath.Base(name)
	return strings.HasSuffix(base, ".log") || strings.HasPrefix(base, "MANIFEST-") || strings.HasPrefix(base, "marker.")
}

// written passes the outcome of a write on, or doesn't return.
func written(name string, err error) error {
	if err == nil || !vital(name) {
		return err
	}
	if p := faults.owner(name); p != nil {
		p.fail(fmt.Errorf("write to the chain database: %w", err))
		park()
	}
	return err
}

// read passes the outcome of a read on. go-ethereum takes what can't be read for what is
// not there, so the network stops before that is answered.
func read(name string, err error) error {
	if err != nil && err != io.EOF && errors.Is(err, syscall.EIO) {
		if p := faults.owner(name); p != nil {
			p.fail(fmt.Errorf("read from the chain database: %w", err))
		}
	}
	return err
}

func (fs watchedFS) wrap(name string, f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return watchedFile{File: f, name: name}, nil
}

// Create makes a file.
func (fs watchedFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := fs.FS.Create(name, category)
	return fs.wrap(name, f, written(name, err))
}

// Open opens a file for reading.
func (fs watchedFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := fs.FS.Open(name, opts...)
	return fs.wrap(name, f, read(name, err))
}

// OpenReadWrite opens a file for both.
func (fs watchedFS) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := fs.FS.OpenReadWrite(name, category, opts...)
	return fs.wrap(name, f, written(name, err))
}

// OpenDir opens a folder, which is synced after files were made in it.
func (fs watchedFS) OpenDir(name string) (vfs.File, error) {
	f, err := fs.FS.OpenDir(name)
	return fs.wrap(filepath.Join(name, folderAsFile), f, err)
}

// folderAsFile makes the sync of a folder as vital as that of the files in it.
const folderAsFile = "marker.folder"

// Rename gives a file its final name.
func (fs watchedFS) Rename(oldname, newname string) error {
	return written(newname, fs.FS.Rename(oldname, newname))
}

// ReuseForWrite takes an old file for a new one.
func (fs watchedFS) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := fs.FS.ReuseForWrite(oldname, newname, category)
	return fs.wrap(newname, f, written(newname, err))
}

// Unwrap is what is below.
func (fs watchedFS) Unwrap() vfs.FS { return fs.FS }

// watchedFile is a file of a watchedFS.
type watchedFile struct {
	vfs.File
	name string
}

func (f watchedFile) Write(b []byte) (int, error) {
	n, err := f.File.Write(b)
	return n, written(f.name, err)
}

func (f watchedFile) WriteAt(b []byte, at int64) (int, error) {
	n, err := f.File.WriteAt(b, at)
	return n, written(f.name, err)
}

func (f watchedFile) Preallocate(offset, length int64) error {
	return written(f.name, f.File.Preallocate(offset, length))
}

func (f watchedFile) Sync() error { return written(f.name, f.File.Sync()) }

func (f watchedFile) SyncData() error { return written(f.name, f.File.SyncData()) }

func (f watchedFile) SyncTo(length int64) (bool, error) {
	full, err := f.File.SyncTo(length)
	return full, written(f.name, err)
}

func (f watchedFile) Read(b []byte) (int, error) {
	n, err := f.File.Read(b)
	return n, read(f.name, err)
}

func (f watchedFile) ReadAt(b []byte, at int64) (int, error) {
	n, err := f.File.ReadAt(b, at)
	return n, read(f.name, err)
}
