package unixfs

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/nodegate/nodegate/internal/fairshare"
)

// fetchers fetch blocks ahead for one reader, in the order in which it asks for them. Each goes
// on with the next block: a goroutine for every block would have to grow its stack every time,
// which takes half as long as to look the block up.
type fetchers struct {
	most    int // that work at once
	running int
	idle    atomic.Int32
	queue   chan func()
	all     sync.WaitGroup
}

// newFetchers returns fetchers that come when they are needed. Where blocks are on this
// machine's disk, one more than may hash at a time is enough: it reads meanwhile. A remote
// store is asked for many blocks at once.
func newFetchers(ctx context.Context, store Blocks) *fetchers {
	f := &fetchers{most: maxAhead, queue: make(chan func(), maxAhead)}
	if _, local := store.(reuser); local {
		if slots := fairshare.Slots(ctx); slots > 0 {
			f.most = min(f.most, slots+1)
		}
	}
	return f
}

// do has a task done. There are at most maxAhead at a time.
func (f *fetchers) do(task func()) {
	f.queue <- task
	if f.running < f.most && int(f.idle.Load()) < len(f.queue) {
		f.running++
		f.all.Go(f.work)
	}
}

func (f *fetchers) work() {
	for {
		f.idle.Add(1)
		task, more := <-f.queue
		f.idle.Add(-1)
		if !more {
			return
		}
		task()
	}
}

// close waits for the tasks that are left. It may be called again.
func (f *fetchers) close() {
	if f == nil || f.queue == nil {
		return
	}
	close(f.queue)
	f.all.Wait()
	f.queue = nil
}
