package edge

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

func isEOF(err error) bool { return errors.Is(err, io.EOF) }

// startWorker begins a worker with its first message, unless there are enough.
// Workers keep their grown stacks from message to message and go when idle.
func (s *socket) startWorker(first *exchange) bool {
	if atomic.AddInt32(&s.workers, 1) > socketWorkers {
		atomic.AddInt32(&s.workers, -1)
		return false
	}
	s.active.Go(func() {
		defer atomic.AddInt32(&s.workers, -1)
		s.work(first)
	})
	return true
}

func (s *socket) work(x *exchange) {
	idle := time.NewTimer(workerIdle)
	defer idle.Stop()
	for {
		s.execute(x)
		idle.Reset(workerIdle)
		var open bool
		select {
		case x, open = <-s.jobs:
			if !open {
				return
			}
		case <-idle.C:
			return
		}
	}
}

// execute answers one message.
func (s *socket) execute(x *exchange) {
	defer x.release()
	defer s.running.Add(-1)
	ctx, cancel := context.WithTimeout(s.ctx, requestTime)
	defer cancel()
	err := x.respond(ctx) // a WebSocket has no status: the error stands in the answer
	x.logAnswer("", 0, err)
	if len(x.answer) > 0 {
		s.write(x.answer)
	}
	for _, follow := range x.after {
		s.subs.running.Go(follow)
	}
}

// write sends one message. A peer that doesn't take it in time is cut off.
func (s *socket) write(message []byte) {
	ctx, cancel := context.WithTimeout(s.ctx, socketWrite)
	defer cancel()
	if err := s.conn.Write(ctx, websocket.MessageText, message); err != nil {
		s.cancel()
		return
	}
	s.edge.out.Add(float64(len(message)))
}

// keepAlive pings an otherwise silent peer.
func (s *socket) keepAlive() {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
			ctx, cancel := context.WithTimeout(s.ctx, pingEvery)
			err := s.conn.Ping(ctx)
			cancel()
			if err != nil {
				s.cancel()
				return
			}
		}
	}
}

// finish waits until the messages under way are answered. The server's own
// deadline ends the wait.
func (s *socket) finish() {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for s.running.Load() > 0 {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// close sends a close frame and ends the socket.
func (s *socket) close(status websocket.StatusCode, reason string) {
	_ = s.conn.Close(status, reason)
	s.cancel()
}

// sendEvents writes what the subscriptions produce. When they produce more than
// the peer reads, the socket is closed: it never slows others down. A server that
// shuts down says so with 1001.
func (s *socket) sendEvents() {
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-s.edge.draining:
			s.finish()
			s.close(websocket.StatusGoingAway, "server is shutting down")
			return
		case <-s.network.gone:
			s.finish()
			s.close(websocket.StatusGoingAway, "the network was reconfigured: connect again")
			return
		case <-s.grant.Ended():
			s.close(policyViolation, "API key revoked")
			return
		case <-s.events.overflow:
			s.close(policyViolation, "reading too slowly for this subscription")
			return
		case <-s.events.ready:
			for _, m := range s.events.take() {
				s.write(m)
			}
		}
	}
}
