package edge

import (
	"sync"
	"sync/atomic"
	"time"
)

// Workers without work.
const (
	workerIdle  = 10 * time.Second
	idleWorkers = 64
)

// workers execute the messages of all WebSockets. They keep their grown stacks from
// message to message, whoever sent it, and go when idle. How many there are is bounded
// by what each socket may have executed at once.
type workers struct {
	jobs chan *exchange
	idle atomic.Int32
	all  sync.WaitGroup
	done <-chan struct{} // closed when the edge ends
}

// give hands a message to an idle worker or starts one.
func (w *workers) give(x *exchange) {
	select {
	case w.jobs <- x:
	default:
		w.all.Go(func() { w.work(x) })
	}
}

func (w *workers) work(x *exchange) {
	idle := time.NewTimer(workerIdle)
	defer idle.Stop()
	for x != nil {
		x.socket.execute(x)
		idle.Reset(workerIdle)
		x = w.next(idle.C)
	}
}

// next waits for a message; nil ends the worker.
func (w *workers) next(tired <-chan time.Time) *exchange {
	defer w.idle.Add(-1)
	if w.idle.Add(1) > idleWorkers {
		return nil
	}
	select {
	case x := <-w.jobs:
		return x
	case <-tired:
	case <-w.done:
	}
	return nil
}
