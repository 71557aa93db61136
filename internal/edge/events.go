package edge

import "sync"

// eventQueue holds the events of one socket until they are written, up to a
// number of bytes.
type eventQueue struct {
	limit    int
	ready    chan struct{} // has a token while there are events
	overflow chan struct{} // closed when the limit was passed

	mu    sync.Mutex
	list  [][]byte
	bytes int
	full  bool
}

func newEventQueue(limit int) *eventQueue {
	return &eventQueue{limit: limit, ready: make(chan struct{}, 1), overflow: make(chan struct{})}
}

// put queues an event, or reports false when the queue has overflowed.
func (q *eventQueue) put(m []byte) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.full {
		return false
	}
	if q.bytes += len(m); q.bytes > q.limit {
		q.full = true
		close(q.overflow)
		return false
	}
	q.list = append(q.list, m)
	select {
	case q.ready <- struct{}{}:
	default:
	}
	return true
}

// take empties the queue.
func (q *eventQueue) take() [][]byte {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := q.list
	q.list, q.bytes = nil, 0
	return list
}
