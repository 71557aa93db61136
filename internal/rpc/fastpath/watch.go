package fastpath

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// watchContext is the context of a request. Nobody watches the connection until
// something asks for Done, which only calls that may take long do: watching costs
// a goroutine and two changes of the read deadline.
type watchContext struct {
	context.Context
	w *watcher
}

func (c watchContext) Done() <-chan struct{} { return c.w.start() }

func (c watchContext) Err() error {
	if c.w.lost.Load() {
		return context.Canceled
	}
	return nil
}

// watcher notices that the peer has gone while its request is executed.
type watcher struct {
	conn *Conn
	once sync.Once
	left chan struct{} // closed when the peer has gone
	done chan struct{} // closed when watching has ended
	lost atomic.Bool
}

func (w *watcher) start() <-chan struct{} {
	w.once.Do(func() {
		w.left, w.done = make(chan struct{}), make(chan struct{})
		_ = w.conn.raw.SetReadDeadline(time.Time{})
		go w.run()
	})
	return w.left
}

// run waits for one byte. If one comes, it is the start of the next request and is
// kept; an error other than our own stop means that the peer has gone.
func (w *watcher) run() {
	defer close(w.done)
	var b [1]byte
	n, err := w.conn.raw.Read(b[:])
	if n > 0 {
		w.conn.pushBack = append(w.conn.pushBack, b[0])
		return
	}
	if timeoutIsNil(err) != nil {
		w.lost.Store(true)
		close(w.left)
	}
}

// stop ends the watch, if there is one, before anyone else reads the connection.
func (w *watcher) stop() {
	started := true
	w.once.Do(func() { started = false })
	if !started {
		return
	}
	_ = w.conn.raw.SetReadDeadline(time.Unix(1, 0))
	<-w.done
	w.conn.renewed = time.Time{}
	_ = w.conn.raw.SetReadDeadline(time.Now().Add(idleTime))
}

func (w *watcher) gone() bool { return w.lost.Load() }
