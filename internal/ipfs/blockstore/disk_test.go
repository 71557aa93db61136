package blockstore

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"sync"
	"syscall"
)

// faultyDisk is a disk in memory that knows what was synced, fails when told to,
// and fills up.
type faultyDisk struct {
	mu       sync.Mutex
	names    map[string]*faultyFile
	durable  map[string]*faultyFile // as of the last sync of the folder
	capacity int64                  // 0: no end
	ops      int                    // writes and syncs so far
	failAt   int                    // the op that fails, from 1; 0: none
	failWith error
	dead     bool // the power is gone: nothing works
	noHoles  bool // as a file system without sparse files
}

type faultyFile struct {
	d      *faultyDisk
	data   []byte
	synced []byte
	holes  int64 // bytes of data that take no space
}

func newFaultyDisk() *faultyDisk {
	return &faultyDisk{names: map[string]*faultyFile{}, durable: map[string]*faultyFile{}}
}

// op counts an operation that can fail.
func (d *faultyDisk) op() error {
	d.ops++
	switch {
	case d.dead:
		return syscall.EIO
	case d.ops == d.failAt:
		return d.failWith
	}
	return nil
}

func (d *faultyDisk) used() (n int64) {
	for _, f := range d.names {
		n += int64(len(f.data)) - f.holes
	}
	return n
}

func (d *faultyDisk) Create(name string) (file, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.op(); err != nil {
		return nil, err
	}
	if d.names[name] != nil {
		return nil, fs.ErrExist
	}
	f := &faultyFile{d: d}
	d.names[name] = f
	return f, nil
}

func (d *faultyDisk) Open(name string) (file, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if f := d.names[name]; f != nil {
		return f, nil
	}
	return nil, fs.ErrNotExist
}

func (d *faultyDisk) Remove(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.op(); err != nil {
		return err
	}
	delete(d.names, name)
	return nil
}

func (d *faultyDisk) List() (list []string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for name := range d.names {
		list = append(list, name)
	}
	return list, nil
}

func (d *faultyDisk) Sync() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.op(); err != nil {
		return err
	}
	clear(d.durable)
	for name, f := range d.names {
		d.durable[name] = f
	}
	return nil
}

func (d *faultyDisk) Free() (int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.capacity == 0 {
		return 1 << 40, nil
	}
	return d.capacity - d.used(), nil
}

func (f *faultyFile) ReadAt(p []byte, off int64) (int, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if off >= int64(len(f.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *faultyFile) WriteAt(p []byte, off int64) (int, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if err := f.d.op(); err != nil {
		f.put(p[:len(p)/2], off) // half of it got there
		return len(p) / 2, err
	}
	if c := f.d.capacity; c > 0 && f.d.used()+max(0, off+int64(len(p))-int64(len(f.data))) > c {
		return 0, syscall.ENOSPC
	}
	f.put(p, off)
	return len(p), nil
}

func (f *faultyFile) put(p []byte, off int64) {
	if grown := off + int64(len(p)); grown > int64(len(f.data)) {
		f.data = append(f.data, make([]byte, grown-int64(len(f.data)))...)
	}
	copy(f.data[off:], p)
}

func (f *faultyFile) Sync() error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if err := f.d.op(); err != nil {
		f.data = bytes.Clone(f.synced) // as a kernel that drops what it can't write
		return err
	}
	f.synced = append(f.synced[:0], f.data...)
	return nil
}

func (f *faultyFile) Truncate(size int64) error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if err := f.d.op(); err != nil {
		return err
	}
	if size > int64(len(f.data)) {
		return errors.New("a log never grows by truncate")
	}
	f.data = f.data[:size]
	return nil
}

func (f *faultyFile) Punch(off, length int64) error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if err := f.d.op(); err != nil {
		return err
	}
	if f.d.noHoles {
		return errors.ErrUnsupported
	}
	clear(f.data[min(off, int64(len(f.data))):min(off+length, int64(len(f.data)))])
	f.holes += length
	return nil
}

func (f *faultyFile) Size() (int64, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	return int64(len(f.data)), nil
}

func (f *faultyFile) Close() error { return nil }

// cut takes the power away.
func (d *faultyDisk) cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dead = true
}

func (d *faultyDisk) isCut() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.dead
}

// afterCrash is the disk as it is after a power cut. Of what was not synced, each
// page may have got to the disk or not, in any order.
func (d *faultyDisk) afterCrash(r *rand.Rand) *faultyDisk {
	d.mu.Lock()
	defer d.mu.Unlock()
	next := newFaultyDisk()
	for name, f := range d.durable {
		survived := &faultyFile{d: next, data: bytes.Clone(f.synced)}
		if r.IntN(3) > 0 {
			survived.data = mixPages(r, f.synced, f.data)
		}
		survived.synced = bytes.Clone(survived.data)
		next.names[name], next.durable[name] = survived, survived
	}
	return next
}

func mixPages(r *rand.Rand, synced, written []byte) []byte {
	const page = 512
	mixed := make([]byte, len(synced)+r.IntN(max(len(written)-len(synced), 0)+1))
	copy(mixed, synced)
	for off := 0; off < len(mixed); off += page {
		if r.IntN(2) == 0 && off < len(written) {
			copy(mixed[off:min(off+page, len(mixed))], written[off:])
		}
	}
	return mixed
}
