package chain

import "github.com/nodegate/nodegate"

// forward passes the events of a source on until nobody reads it or go-ethereum ends
// it. An event waits until its block is on disk. Until then go-ethereum's client keeps
// what follows, so that sealing never waits for a reader.
func (f *feeds) forward(src *source) {
	defer src.sub.Unsubscribe()
	for {
		select {
		case <-src.stop:
			return
		case <-src.sub.Err():
			f.lose(src)
			return
		case event := <-src.events:
			step := f.arrived(src)
			if f.await() != nil {
				f.lose(src)
				return
			}
			f.push(src, step, f.correct(event))
		}
	}
}

// arrived counts an event when it comes. Who subscribes while it waits for the disk
// may have been told about its block by then, and does not get it.
func (f *feeds) arrived(src *source) (step uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	src.step++
	return src.step
}

// push gives an event to the readers of a source that began before it.
func (f *feeds) push(src *source, step uint64, event []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range src.streams {
		s.hand(step, event)
	}
}

// lose ends all readers of a source: events are missing from now on, or the node was
// closed.
func (f *feeds) lose(src *source) {
	f.mu.Lock()
	defer f.mu.Unlock()
	why := nodegate.EventsLost
	if f.closed {
		why = nodegate.Closed
	}
	for s := range src.streams {
		for r := range s.readers {
			f.remove(s, r, why)
		}
	}
	f.release(src)
}

// close ends the sources and waits until they have ended. Those of go-ethereum end with the
// client.
func (f *feeds) close() {
	f.mu.Lock()
	f.closed = true
	logs := f.sources[logsSource]
	f.mu.Unlock()
	if logs != nil {
		f.lose(logs)
	}
	f.client.Close()
	f.running.Wait()
}
