// Package disk refuses writes while the disk of a data folder is almost full. Databases
// react badly to a full disk: some end the process. So a caller that is about to change
// something asks a Guard first, and a refused write was never started.
package disk

import (
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nodegate/nodegate"
)

// lookEvery is how long a look at the disk holds. A look costs a few microseconds; what
// is written between two of them is far less than any sensible reserve.
const lookEvery = 50 * time.Millisecond

// Guard keeps a part of a disk free. A nil Guard never refuses.
type Guard struct {
	dir     string
	reserve int64
	free    func(dir string) (int64, error)

	looked atomic.Int64 // when, in nanoseconds since start
	full   atomic.Bool
	start  time.Time
}

// NewGuard guards the disk that a folder is on. With a reserve of 0 nothing is refused,
// and a full disk shows when a write fails.
func NewGuard(dir string, reserve int64) *Guard {
	if reserve <= 0 || dir == "" {
		return nil
	}
	g := &Guard{dir: dir, reserve: reserve, free: Free, start: time.Now()}
	g.looked.Store(-int64(lookEvery))
	return g
}

// Asking has the guard ask another function how much is free.
func (g *Guard) Asking(free func(dir string) (int64, error)) *Guard {
	g.free = free
	return g
}

// Check returns InsufficientStorage while less than the reserve is free. It is cheap
// enough to be asked before every write.
func (g *Guard) Check() error {
	if g == nil || !g.isFull() {
		return nil
	}
	return Full("disk.check", fmt.Errorf("less than %d MiB are free in %s (see storage.reserve)", g.reserve>>20, g.dir))
}

func (g *Guard) isFull() bool {
	now := int64(time.Since(g.start))
	last := g.looked.Load()
	if now-last < int64(lookEvery) || !g.looked.CompareAndSwap(last, now) {
		return g.full.Load()
	}
	// A disk that can't be asked is not known to be full; the write will tell.
	free, err := g.free(g.dir)
	g.full.Store(err == nil && free < g.reserve)
	return g.full.Load()
}

// Full is the error of a write that there is no space for.
func Full(op string, cause error) error {
	return &nodegate.Error{Op: op, Code: nodegate.InsufficientStorage, Msg: "disk full: nothing can be written until the operator frees disk space; reads still work", Err: cause}
}

// IsFull tells whether a write failed because the disk, or this user's share of it, is
// full.
func IsFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
