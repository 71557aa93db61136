package store

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// The sizes of the database: a memtable takes a few blocks of 200 transactions. A lookup reads
// a few blocks of tables, each of which it uses little of, so they are small. A million blocks
// of the chain take some hundred tables, and opening one takes several reads.
const (
	memtableBytes = 8 << 20
	tableBlock    = 8 << 10
	openTables    = 512
)

// heapSizes are sizes in which Go's heap hands out memory around that of a block of a table.
// The cache is on that heap: a block that is a little larger than one of them takes the next.
var heapSizes = []int{4096, 4864, 5376, 6144, 6528, 6784, 6912, 8192, 9472, 9728, 10240, 10880, 12288}

// database is Pebble, kept from ending the process: by its own errors, and by use after
// it was closed.
type database struct {
	dir    string
	files  vfs.FS
	pebble *pebble.DB
	lock   *pebble.Lock
	health *health

	users  atomic.Int64
	closed atomic.Bool

	damaged damagedKeys
}

// unusable is why a folder is emptied.
type unusable struct{ why string }

func (u *unusable) Error() string { return u.why }

// openDatabase opens a folder as it is. Returns unusable if it has to be emptied.
func openDatabase(cfg *Config, lock *pebble.Lock, stuck func(error)) (d *database, err error) {
	if discarded(cfg.files, cfg.Dir) {
		return nil, &unusable{"it is marked as damaged"}
	}
	d = &database{dir: cfg.Dir, files: cfg.files, lock: lock, health: newHealth(cfg.Log, stuck)}
	d.health.broken = func() { markBroken(cfg.files, cfg.Dir, cfg.Log) }
	defer func() {
		if r := recover(); r != nil { // some errors and damage are reported by a panic
			cause, ok := r.(error)
			if !ok {
				cause = errors.New(fmt.Sprint(r))
			}
			d, err = nil, judge(cause)
		}
	}()
	cache := cfg.Cache.take(cfg.Memory)
	defer cache.Unref()
	if d.pebble, err = pebble.Open(cfg.Dir, d.options(cfg, cache)); err != nil {
		return nil, judge(err)
	}
	return d, nil
}

// markBroken makes the next Open begin with an empty folder.
func markBroken(fs vfs.FS, dir string, log *slog.Logger) {
	if err := discard(fs, dir); err != nil {
		log.Error("the ledger's folder is damaged: remove it before the next start", "folder", dir, "err", err)
	}
}

func (d *database) options(cfg *Config, cache *pebble.Cache) *pebble.Options {
	o := &pebble.Options{
		ErrorIfNotExists: cfg.Existing,
		FS:               files{d.files, d.health}, Lock: d.lock, Cache: cache, MemTableSize: cmp.Or(cfg.memtable, memtableBytes), MaxOpenFiles: openTables,
		FormatMajorVersion: pebble.FormatNewest, Merger: merger, Logger: pebbleLog{d.health}, EventListener: d.health.listener(),
		AllocatorSizeClasses: heapSizes,
		// Pruning frees disk space soon, also where little is written.
		FlushDelayDeleteRange: 10 * time.Second,
	}
	for i := range o.Levels {
		o.Levels[i].BlockSize = cmp.Or(cfg.tableBlock, tableBlock)
		o.Levels[i].FilterPolicy = newSparse()
	}
	// Most of what is looked up is there, and most of that is in the last level.
	o.Levels[len(o.Levels)-1].FilterPolicy = pebble.NoFilterPolicy
	o.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionGood })
	return o
}

// judge tells a disk that doesn't work from a folder that makes no sense.
func judge(err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return &unusable{err.Error()}
}

// closeWait is how long close waits for a disk that doesn't answer.
const closeWait = 2 * time.Second

// refuse ends all use, and waits for those who are at it. It returns false if that was
// done before.
func (d *database) refuse() bool {
	if d.closed.Swap(true) {
		return false
	}
	for end := time.Now().Add(closeWait); d.users.Load() > 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	return true
}

// close closes the database, after refuse. One that has goroutines which never return is
// left as it is.
func (d *database) close() error {
	if d.health.parked.Load() {
		return d.health.final()
	}
	if d.users.Load() > 0 {
		go d.closeLater()
		return errors.New("the ledger's database is still being read, and closes when that ends")
	}
	done := make(chan error, 1)
	go func() { done <- errors.Join(d.pebble.Close(), d.lock.Close()) }()
	select {
	case err := <-done:
		return errors.Join(err, d.health.final())
	case <-time.After(closeWait):
		return errors.Join(d.health.err(), errors.New("the ledger's database doesn't close"))
	}
}

// closeLater closes the database when nobody uses it any more, so that its folder can be
// opened again.
func (d *database) closeLater() {
	for d.users.Load() > 0 {
		time.Sleep(10 * time.Millisecond)
	}
	_ = errors.Join(d.pebble.Close(), d.lock.Close()) // nobody waits for it
}

// enter counts a use, unless the database is closed: Pebble panics when it is used then.
func (d *database) enter() bool {
	if d.closed.Load() {
		return false // without a trace, or those who try again would keep it from closing
	}
	d.users.Add(1)
	if d.closed.Load() {
		d.leave()
		return false
	}
	return true
}

func (d *database) leave() { d.users.Add(-1) }

// source is where rows are read: the database as it is, or as it was at one moment.
type source struct {
	*database
	rows    pebble.Reader
	cursors *cursors // nil: every read opens what it needs
}

// get hands a key's value to found, which must not keep it. It returns false if there is
// none. The errors of found are those of a damaged row.
func (d source) get(key []byte, found func(value []byte) error) (bool, error) {
	if !d.enter() {
		return false, errClosed
	}
	defer d.leave()
	if d.damaged.has(key) {
		return false, damaged("read", errRow)
	}
	if d.cursors != nil {
		return d.seek(key, found)
	}
	value, closer, err := d.rows.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, d.damaged.note(key, fail("read", err))
	}
	err = found(value)
	if err := errors.Join(err, closer.Close()); err != nil {
		return false, damaged("read", err)
	}
	return true, nil
}

// value reads a value, nil if there is none.
func (d source) value(key []byte) (value []byte, err error) {
	_, err = d.get(key, func(v []byte) error {
		value = append([]byte{}, v...)
		return nil
	})
	return value, err
}

// scan hands all rows from a key up to another to each, until that returns an error.
func (d source) scan(from, to []byte, each func(key, value []byte) error) error {
	if !d.enter() {
		return errClosed
	}
	defer d.leave()
	if d.damaged.has(from) {
		return damaged("read", errRow)
	}
	if d.cursors != nil {
		return d.seekAll(from, to, each)
	}
	it, err := d.rows.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return fail("read", err)
	}
	it.First()
	return errors.Join(d.walk(it, from, to, each), it.Close())
}

// walk hands the rows from where an iterator is up to a key to each.
func (d source) walk(it *pebble.Iterator, from, to []byte, each func(key, value []byte) error) error {
	for ; it.Valid() && bytes.Compare(it.Key(), to) < 0; it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return d.damaged.note(from, fail("read", err))
		}
		if err := each(it.Key(), value); errors.Is(err, errRow) {
			return damaged("read", err)
		} else if err != nil {
			return err
		}
	}
	if err := it.Error(); err != nil {
		return d.damaged.note(from, fail("read", err))
	}
	return nil
}

// pointer reads a canonical pointer as it is in the database.
func (d source) pointer(number uint64) (m Mark, ok bool, err error) {
	ok, err = d.get(markKey(number), func(row []byte) error {
		var whole bool
		if m, whole = decodeMark(row, number); !whole {
			return errRow
		}
		return nil
	})
	return m, ok, err
}

// bytes returns what the folder takes of the disk, and what of it is of some kinds of rows.
func (d *database) bytes(kinds []byte) (total, part int64) {
	if !d.enter() {
		return 0, 0
	}
	defer d.leave()
	names, err := d.files.List(d.dir)
	if err != nil {
		return 0, 0
	}
	for _, name := range names {
		if info, err := d.files.Stat(d.files.PathJoin(d.dir, name)); err == nil {
			total += info.Size()
		}
	}
	for _, kind := range kinds {
		if n, err := d.pebble.EstimateDiskUsage([]byte{kind}, []byte{kind + 1}); err == nil {
			part += int64(n)
		}
	}
	return total, part
}
