package blockstore

import (
	"io"
	"os"
	"path/filepath"

	space "github.com/nodegate/nodegate/internal/disk"
)

// file is one segment as the log sees it.
type file interface {
	io.ReaderAt
	io.WriterAt
	// Sync returns when the bytes written before it are on the disk.
	Sync() error
	Truncate(size int64) error
	// Punch gives the disk blocks of a range back, which then reads as zeros; the size
	// stays. Fails with errors.ErrUnsupported where the file system can't.
	Punch(off, length int64) error
	Size() (int64, error)
	Close() error
}

// disk is the folder of the segments. Tests have a second one that loses what was
// not synced, fails when told to, and fills up.
type disk interface {
	Create(name string) (file, error) // fails if it is there
	Open(name string) (file, error)
	Remove(name string) error
	List() ([]string, error)
	// Sync makes created and removed names last.
	Sync() error
	// Free is how many bytes can still be written.
	Free() (int64, error)
}

// folder is the disk of the operating system.
type folder string

func (d folder) Create(name string) (file, error) {
	return opened(os.OpenFile(filepath.Join(string(d), name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600))
}

func (d folder) Open(name string) (file, error) {
	return opened(os.OpenFile(filepath.Join(string(d), name), os.O_RDWR, 0))
}

func opened(f *os.File, err error) (file, error) {
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (d folder) Remove(name string) error { return os.Remove(filepath.Join(string(d), name)) }

func (d folder) List() ([]string, error) {
	entries, err := os.ReadDir(string(d))
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

func (d folder) Sync() error {
	f, err := os.Open(string(d))
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

func (d folder) Free() (int64, error) { return space.Free(string(d)) }

// osFile is a file of the operating system.
type osFile struct{ *os.File }

func (f osFile) Sync() error { return syncData(f.File) }

func (f osFile) Punch(off, length int64) error { return punchHole(f.File, off, length) }

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
