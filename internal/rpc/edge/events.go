package edge

import (
	"sync"

	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
	"github.com/nodegate/nodegate/internal/rpc/ws"
)

// sendBytes are sent with one write, or one event if it is larger.
const sendBytes = 16 << 10

// eventQueue holds the events of one socket until they are written, up to a number of
// bytes. An event is shared by all who get it; the queue only refers to it.
type eventQueue struct {
	limit    int
	start    func() // has somebody take until nothing is left
	overflow func() // is told of the one event too many

	mu      sync.Mutex
	list    []queued
	bytes   int  // as they will be sent
	sending bool // somebody takes
	ended   bool // nothing is added any more
}

type queued struct {
	sub   *subscription
	event []byte
}

// put queues an event of a subscription. One too many ends the queue: an event is
// missing from then on.
func (q *eventQueue) put(sub *subscription, event []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended || sub.closed {
		return
	}
	if q.bytes += sub.size(event); q.bytes > q.limit {
		q.end()
		q.overflow()
		return
	}
	if !sub.begun {
		sub.held = append(sub.held, event)
		return
	}
	q.list = append(q.list, queued{sub, event})
	q.send()
}

// send has what waits taken. The queue is locked.
func (q *eventQueue) send() {
	if !q.ended && !q.sending && len(q.list) > 0 {
		q.sending = true
		q.start()
	}
}

// begin lets a subscription's events go, those first that came before its id was told.
func (q *eventQueue) begin(sub *subscription) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, event := range sub.held {
		q.list = append(q.list, queued{sub, event})
	}
	sub.begun, sub.held = true, nil
	q.send()
}

// lose ends the queue because a feed has ended: no more events come, or some are missing.
func (q *eventQueue) lose(sub *subscription, tell func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.ended && !sub.closed {
		q.end()
		tell()
	}
}

// drop ends a subscription: what waits of it is not sent.
func (q *eventQueue) drop(sub *subscription) {
	q.mu.Lock()
	defer q.mu.Unlock()
	sub.closed = true
	for _, event := range sub.held {
		q.bytes -= sub.size(event)
	}
	sub.held = nil
}

// eventBatch is events that leave with one write.
type eventBatch struct {
	frames []byte
	count  int
	size   int // of the events, without the frames' heads
}

// take makes frames of at most so many events, in b. Nothing means that there is none
// left, and that somebody else will be asked to take the next.
func (q *eventQueue) take(b []byte, most int) eventBatch {
	q.mu.Lock()
	defer q.mu.Unlock()
	taken := eventBatch{frames: b}
	n := 0
	for ; n < len(q.list) && len(taken.frames) < sendBytes && taken.count < most; n++ {
		next := q.list[n]
		q.bytes -= next.sub.size(next.event)
		if !next.sub.closed {
			taken.frames = next.sub.appendEvent(taken.frames, next.event)
			taken.size += next.sub.size(next.event)
			taken.count++
		}
		q.list[n] = queued{}
	}
	if q.list = q.list[n:]; len(q.list) == 0 {
		q.list = nil
	}
	q.sending = taken.count > 0
	return taken
}

// shut ends the queue.
func (q *eventQueue) shut() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.end()
}

// end lets go of what waits. The queue is locked.
func (q *eventQueue) end() { q.ended, q.list = true, nil }

// size is what an event takes on its way to the peer.
func (sub *subscription) size(event []byte) int { return sub.overhead + len(event) }

// appendEvent appends the frame of an event.
func (sub *subscription) appendEvent(b, event []byte) []byte {
	from := len(b)
	var room [ws.HeadRoom]byte
	return ws.Seal(jsonrpc.AppendNotification(append(b, room[:]...), method.EthSubscription, sub.id, event), from)
}

// sendSome writes a batch of what waits. False means that nothing is left for now, or
// that nobody reads any more.
func (s *socket) sendSome() (more bool) {
	s.guarded(func() { more = s.sendEvents() })
	if !more {
		s.active.Done()
	}
	return more
}

func (s *socket) sendEvents() (more bool) {
	buf := s.edge.frames.Get().(*[]byte)
	defer s.edge.frames.Put(buf)
	cost := s.edge.site.Load().current(s.network).eventCost
	b := s.events.take((*buf)[:0], affordable(s.grant, cost))
	*buf = b.frames
	if b.count == 0 {
		return false
	}
	if !s.payEvents(&b, cost) || !s.written(s.conn.Write(b.frames)) {
		s.events.shut()
		return false
	}
	s.edge.out.Add(float64(b.size))
	if cap(*buf) > keepBuffer {
		*buf = nil
	}
	return true
}
