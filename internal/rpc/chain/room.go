package chain

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/disk"
)

// room tells whether a chain may grow: its disk has space, and its folder isn't too large.
type room struct {
	disk  *disk.Guard
	bound *sizeBound
}

// check returns InsufficientStorage when the chain may not grow.
func (r room) check() error { return firstOf(r.disk.Check(), r.bound.check()) }

// lookAtSize is how long a look at a chain's folder holds. A look reads the names of some
// hundred files.
const lookAtSize = 2 * time.Second

// sizeBound refuses changes of a chain whose folder has a size, so that one network can't
// fill the disk of all. A nil bound never refuses.
type sizeBound struct {
	dir   string
	most  int64
	start time.Time

	looked atomic.Int64 // when, in nanoseconds since start
	full   atomic.Bool
}

// newSizeBound bounds a folder; 0 is no bound, and a chain in memory has none.
func newSizeBound(dir string, most int64) *sizeBound {
	if dir == "" || most <= 0 {
		return nil
	}
	b := &sizeBound{dir: dir, most: most, start: time.Now()}
	b.looked.Store(-int64(lookAtSize))
	return b
}

// check returns InsufficientStorage while the chain is as large as it may be.
func (b *sizeBound) check() error {
	if b == nil || !b.isFull() {
		return nil
	}
	return &nodegate.Error{
		Op: "chain.size", Code: nodegate.InsufficientStorage,
		Msg: fmt.Sprintf("this network is full: its chain takes %d MiB of disk space; reads still work, and the operator can raise embedded.max_size", b.most>>20),
	}
}

func (b *sizeBound) isFull() bool {
	now := int64(time.Since(b.start))
	last := b.looked.Load()
	if now-last < int64(lookAtSize) || !b.looked.CompareAndSwap(last, now) {
		return b.full.Load()
	}
	b.full.Store(folderSize(b.dir) >= b.most)
	return b.full.Load()
}

// folderSize is how many bytes the files of a folder have. Files that go meanwhile count as
// nothing.
func folderSize(dir string) (bytes int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}
