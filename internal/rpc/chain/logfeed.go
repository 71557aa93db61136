package chain

import (
	"encoding/json"
	"time"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/background"
)

// A block may have tens of thousands of logs, and an account hundreds of filters. What takes
// longer than most calls is done at low priority.
const fewMatches = 2048 // logs times filters

// Readers have a queue of a megabyte each. More events than that come at a pace at which a
// reader can keep up.
const (
	burstOfLogs = 256 << 10
	afterBurst  = 5 * time.Millisecond
)

// collect reads what the chain announces, which waits for it.
func (f *feeds) collect(src *source) {
	defer src.sub.Unsubscribe() // here: the chain must not wait for somebody who reads no more
	for {
		var logs []*types.Log
		select {
		case <-src.stop:
			return
		case <-src.sub.Err():
			return
		case logs = <-src.logs.mined:
		case removed := <-src.logs.gone:
			logs = removed.Logs
		}
		if !src.logs.put(f.arrived(src), logs) {
			f.lose(src)
		}
	}
}

// forwardLogs is forward for logs.
func (f *feeds) forwardLogs(src *source) {
	for {
		select {
		case <-src.stop:
			return
		case <-src.sub.Err():
			f.lose(src)
			return
		case <-src.logs.arrived:
		}
		for b, more := src.logs.next(); more; b, more = src.logs.next() {
			if f.await() != nil {
				f.lose(src)
				return
			}
			f.deliver(src, b)
		}
	}
}

// deliver gives logs to the readers that began before they came.
func (f *feeds) deliver(src *source, b logBatch) {
	streams := f.streamsOf(src)
	if len(b.logs)*len(streams) <= fewMatches {
		f.pushLogs(src, b, streams, func() {})
		return
	}
	background.Low(func(t *background.Thread) { f.pushLogs(src, b, streams, t.Rest) })
}

// streamsOf are the streams that a source feeds now. Whoever comes later doesn't get what has
// come already.
func (f *feeds) streamsOf(src *source) []*stream {
	f.mu.Lock()
	defer f.mu.Unlock()
	streams := make([]*stream, 0, len(src.streams))
	for s := range src.streams {
		streams = append(streams, s)
	}
	return streams
}

// pushLogs encodes each log once, if anybody reads it. It rests between any two.
func (f *feeds) pushLogs(src *source, b logBatch, streams []*stream, rest func()) {
	var into []*stream
	burst := 0
	for _, entry := range b.logs {
		rest()
		if into = matching(into[:0], streams, entry); len(into) == 0 {
			continue
		}
		event, err := json.Marshal(entry)
		if err != nil { // it is go-ethereum's own
			f.lose(src)
			return
		}
		f.hand(into, b.step, event)
		if burst += len(event); burst >= burstOfLogs {
			burst = 0
			if !src.pause(afterBurst) {
				return
			}
		}
	}
}

// matching appends the streams whose filter selects a log.
func matching(into, streams []*stream, entry *types.Log) []*stream {
	for _, s := range streams {
		if s.filter.matches(entry) {
			into = append(into, s)
		}
	}
	return into
}

// hand gives an event to the readers of these streams that began before it.
func (f *feeds) hand(streams []*stream, step uint64, event []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range streams {
		s.hand(step, event)
	}
}

// hand gives an event to the readers that began before it. The feeds are locked.
func (s *stream) hand(step uint64, event []byte) {
	for r := range s.readers {
		if r.from < step {
			r.take(event, nodegate.NotEnded)
		}
	}
}

// pause waits, and reports whether the source goes on.
func (src *source) pause(d time.Duration) bool {
	over := time.NewTimer(d)
	defer over.Stop()
	select {
	case <-src.stop:
		return false
	case <-over.C:
		return true
	}
}
