package edge

import (
	"sync"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/ws"
)

// pingTurns spread the pings of a party over time.
const pingTurns = 30

// parties are the open WebSockets, by what ends them.
type parties struct {
	edge *Edge

	mu   sync.Mutex
	open map[partyKey]*party
	seq  int
}

type partyKey struct {
	grant *nodegate.Grant
	gone  chan struct{} // of the network
}

// party is the sockets of one key on one network. They end together, so that one
// goroutine watches over all of them: it pings them in turn and tells them to go.
type party struct {
	key     partyKey
	members map[*socket]struct{} // under parties.mu
	empty   chan struct{}        // closed when the last has left
}

// join adds a socket to its party, which may begin with it.
func (l *parties) join(s *socket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := partyKey{s.grant, s.network.gone}
	p := l.open[key]
	if p == nil {
		p = &party{key: key, members: map[*socket]struct{}{}, empty: make(chan struct{})}
		l.open[key] = p
		l.edge.workers.all.Go(func() { l.watch(p) })
	}
	l.seq++
	s.party, s.turn = p, l.seq%pingTurns
	p.members[s] = struct{}{}
}

// leave takes a socket out; the last one ends the party.
func (l *parties) leave(s *socket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := s.party
	if delete(p.members, s); len(p.members) == 0 {
		l.forget(p)
		close(p.empty)
	}
}

// forget has the next socket begin another party. The parties are locked.
func (l *parties) forget(p *party) {
	if l.open[p.key] == p {
		delete(l.open, p.key)
	}
}

// each starts something for the members, in goroutines: none waits for another.
func (l *parties) each(p *party, of func(*socket) bool, do func(*socket)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for s := range p.members {
		if of(s) {
			s.begin(func() { do(s) })
		}
	}
}

func everyone(*socket) bool { return true }

// watch looks after a party until it is empty.
func (l *parties) watch(p *party) {
	tick := time.NewTicker(pingEvery / pingTurns)
	defer tick.Stop()
	for turn := 0; ; {
		select {
		case <-p.empty:
			return
		case <-l.edge.base.Done():
			l.dismiss(p, (*socket).cut)
			return
		case <-l.edge.draining:
			l.dismiss(p, func(s *socket) { s.finish(); s.close(ws.ServiceRestart, saysDraining) })
			return
		case <-p.key.gone:
			l.dismiss(p, func(s *socket) { s.finish(); s.close(ws.ServiceRestart, saysGone) })
			return
		case <-p.key.grant.Ended():
			l.dismiss(p, func(s *socket) { s.close(ws.PolicyViolation, saysRevoked) })
			return
		case <-tick.C:
			turn = (turn + 1) % pingTurns
			l.each(p, func(s *socket) bool { return s.turn == turn }, (*socket).ping)
		}
	}
}

// dismiss tells the members to go, and sees that they do when the edge ends. Whoever
// comes too late finds another party, which is told the same.
func (l *parties) dismiss(p *party, how func(*socket)) {
	l.mu.Lock()
	l.forget(p)
	l.mu.Unlock()
	l.each(p, everyone, how)
	select {
	case <-p.empty:
	case <-l.edge.base.Done():
		l.each(p, everyone, (*socket).cut)
	}
}

// ping asks a silent peer for a sign of life, and ends one that owes one since the
// last time. While messages are in progress nobody may be reading: a sign may lie unread.
func (s *socket) ping() {
	if s.running.Load() > 0 {
		return
	}
	if heard := s.conn.Heard(); s.pinged.Load() && !heard {
		s.cut()
		return
	}
	sent, err := s.conn.Ping()
	s.pinged.Store(sent)
	s.written(err)
}
