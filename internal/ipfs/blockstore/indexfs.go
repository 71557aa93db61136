package blockstore

import (
	"strings"
	"time"

	"github.com/cockroachdb/pebble/vfs"
)

// manifestFS is the file system of the index. A failed write of the index's manifest
// is fatal to it: it gives up and, when it is kept from ending the process, panics at
// its next try. So such a write does not fail here. While the disk is full it waits for
// room, and after any other error it never returns. Only background work of the index
// waits with it; uploads are refused meanwhile, and reads go on.
type manifestFS struct {
	vfs.FS
	index *index
}

// isManifest tells whether a failed write of a file would be fatal.
func isManifest(name string) bool {
	return strings.Contains(name, "MANIFEST") || strings.Contains(name, "CURRENT") || strings.Contains(name, "marker.")
}

func (m manifestFS) Create(name string) (vfs.File, error) {
	if !isManifest(name) {
		return m.FS.Create(name)
	}
	var f vfs.File
	err := m.index.insist(func() (err error) {
		f, err = m.FS.Create(name)
		return err
	})
	return manifestFile{f, m.index}, err
}

func (m manifestFS) Rename(from, to string) error {
	if !isManifest(to) {
		return m.FS.Rename(from, to)
	}
	return m.index.insist(func() error { return m.FS.Rename(from, to) })
}

// manifestFile is a manifest, or a file that names one.
type manifestFile struct {
	vfs.File
	index *index
}

func (f manifestFile) Write(b []byte) (n int, err error) {
	err = f.index.insist(func() error {
		more, err := f.File.Write(b[n:])
		n += more
		return err
	})
	return n, err
}

func (f manifestFile) Sync() error     { return f.index.insist(f.File.Sync) }
func (f manifestFile) SyncData() error { return f.index.insist(f.File.SyncData) }

// insist repeats a write while the disk is full. Before the index is open an error is
// returned: then it is a new index's, and nothing is lost.
func (x *index) insist(write func() error) error {
	for {
		err := write()
		if err == nil || !x.opened.Load() {
			return err
		}
		if !isFull(err) {
			x.stop(err)
			select {}
		}
		x.failing.Store(&err)
		time.Sleep(flushPause)
	}
}
