package edge

import (
	"sync"
	"time"
)

// senderPatience is how long a write may hold up the events of the account's other
// sockets. Then it goes on beside them: a peer that doesn't read takes no sender.
const senderPatience = 5 * time.Millisecond

// senders write the events of one account's sockets, a batch of each in turn. There are
// few of them however many sockets there are, so that an account with thousands of
// subscriptions takes the processors for a moment at a time, as one call does.
type senders struct {
	mu    sync.Mutex
	free  int       // that may be started
	ready []*socket // that have events, in the order of their turns
}

// add has a socket's events sent.
func (q *senders) add(s *socket) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ready = append(q.ready, s)
	if q.free > 0 {
		q.free--
		go q.run()
	}
}

// next is the socket whose turn it is; nil ends the sender.
func (q *senders) next() *socket {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.ready) == 0 {
		q.ready = nil
		q.free++
		return nil
	}
	s := q.ready[0]
	q.ready[0] = nil
	q.ready = q.ready[1:]
	return s
}

// run sends until no socket has events, or until another one has taken its place.
func (q *senders) run() {
	standIn := time.AfterFunc(time.Hour, q.run)
	for replaced := false; !replaced; {
		standIn.Stop()
		s := q.next()
		if s == nil {
			return
		}
		standIn.Reset(senderPatience)
		more := s.sendSome()
		replaced = !standIn.Stop()
		if more {
			q.add(s)
		}
	}
}
