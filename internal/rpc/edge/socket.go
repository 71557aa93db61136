package edge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/ws"
)

// Bounds of one WebSocket.
const (
	socketWorkers = 8 // messages of one socket executed at the same time
	pingEvery     = 30 * time.Second
	queueBytes    = 1 << 20 // events waiting for a slow reader
)

// Why sockets are closed by us.
const (
	saysDraining = "server is shutting down"
	saysGone     = "the network was reconfigured: connect again"
	saysRevoked  = "API key revoked"
	saysSlow     = "reading too slowly"
	saysLost     = "events of this subscription were lost: connect again"
	saysUnpaid   = ": events of subscriptions cost credits"
)

// socket is one WebSocket connection. While it is idle it is this and the goroutine
// that reads: its messages are executed by the edge's workers, its events are sent by
// a goroutine that ends when there are none, and its party looks after it.
type socket struct {
	edge    *Edge
	network *network
	grant   *nodegate.Grant
	visitor *visitor
	conn    *ws.Conn
	ctx     context.Context // of its calls and subscriptions
	cancel  context.CancelFunc

	share  *share // of its account
	party  *party
	turn   int         // when it is pinged
	pinged atomic.Bool // and owes an answer

	reading *exchange     // the message that is being read
	slots   chan struct{} // taken by messages that are executed
	running atomic.Int32  // messages taken and not yet answered
	leaving atomic.Bool   // no more messages are taken
	active  sync.WaitGroup

	delay    atomic.Int64 // before the next message is read, in nanoseconds; see slowed
	over     int          // bytes of refused messages since counted; of who reads
	controls int          // pings and pongs since counted; of who reads
	counted  time.Time

	slow   atomic.Bool // it was noted that the peer doesn't read
	events eventQueue
	subs   subscriptions
}

// serveSocket admits the key before the handshake, so that a refusal is an ordinary
// HTTP answer. The socket has a goroutine of its own from then on: what net/http keeps
// for a request is several times what a socket needs.
func (e *Edge) serveSocket(w http.ResponseWriter, req *http.Request, r route) error {
	n, grant, err := e.admit(w, req, r)
	if err != nil {
		return e.fine(req.Context(), n, grant, idOf(w), err)
	}
	if !ws.Wants(req) {
		return notASocket(w, req)
	}
	share, err := e.shares.openSocket(grant)
	if err != nil {
		return e.fine(req.Context(), n, grant, idOf(w), err)
	}
	if !e.enter() {
		e.shares.closeSocket(share, 0)
		return &nodegate.Error{Op: "edge.socket", Code: nodegate.Busy, Msg: "server busy: shutting down", RetryAfter: time.Second}
	}
	visitor := e.visitorOf(req, r, grant)
	// The key admits, not a cookie, so a foreign page gains nothing: any origin may connect.
	conn, err := ws.Accept(w, req, e.cfg.BodyBytes)
	if err != nil {
		e.shares.closeSocket(share, 0)
		e.sockets.Done()
		return nil // the client has gone
	}
	s := e.newSocket(n, grant, conn)
	s.visitor, s.share = visitor, share
	go func() {
		defer e.sockets.Done()
		s.serve()
		e.shares.closeSocket(share, s.subs.count())
	}()
	return nil
}

// notASocket is the answer to a request that doesn't ask for a WebSocket.
func notASocket(w http.ResponseWriter, req *http.Request) error {
	e := &nodegate.Error{Op: "edge.socket", Code: nodegate.HTTPMethod, Msg: "this URL is for WebSockets (version 13): connect with ws:// or use /v3 for HTTP"}
	h := w.Header()
	h.Set("Sec-WebSocket-Version", "13")
	if req.Method != http.MethodGet {
		h.Set("Allow", "GET")
		return e
	}
	e.Code = nodegate.UpgradeRequired
	h.Set("Upgrade", "websocket")
	h.Add("Connection", "Upgrade") // beside a close that is there already
	return e
}

// enter counts a socket, unless the server shuts down: what is counted is waited for.
func (e *Edge) enter() bool {
	e.entering.Lock()
	defer e.entering.Unlock()
	if e.drained.Load() {
		return false
	}
	e.sockets.Add(1)
	return true
}

func (e *Edge) newSocket(n *network, grant *nodegate.Grant, conn *ws.Conn) *socket {
	ctx, cancel := context.WithCancel(nodegate.WithGrant(e.base, grant))
	s := &socket{edge: e, network: n, grant: grant, conn: conn, ctx: ctx, cancel: cancel, slots: make(chan struct{}, socketWorkers)}
	conn.Grow, conn.Controlled, conn.Skipped = s.holdMessage, s.controlled, s.skipped
	s.events.limit = queueBytes
	s.events.start = func() {
		s.active.Add(1)
		s.share.senders.add(s)
	}
	s.events.overflow = func() { s.begin(s.tooSlow) }
	s.subs.limit = e.cfg.SubscriptionsPerConn
	return s
}

// begin does something beside the reading; the socket's end waits for it.
func (s *socket) begin(do func()) { s.active.Go(func() { s.guarded(do) }) }

// guarded does something for the socket. A panic ends this socket and nobody else's.
func (s *socket) guarded(do func()) {
	defer func() {
		if p := recover(); p != nil {
			s.edge.cfg.Log.Error("WebSocket closed after a panic", "id", s.edge.ids.New(), "network", s.network.Name, "err", fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
			s.cut()
		}
	}()
	do()
}

// serve runs the socket to its end.
func (s *socket) serve() {
	s.edge.cfg.Metrics.SocketOpened()
	defer s.edge.cfg.Metrics.SocketClosed()
	s.edge.parties.join(s)
	s.guarded(s.read)
	s.edge.parties.leave(s)
	s.cut()
	s.active.Wait()
}

// read takes messages until the peer leaves, breaks the rules or is closed. A message
// over the limit closes with 1009 by itself. An idle socket holds no buffer.
func (s *socket) read() {
	for {
		err := s.conn.Wait()
		if errors.Is(err, ws.ErrSlow) { // it doesn't take the answer to its ping
			s.tooSlow()
			continue
		}
		if err != nil || !s.receive() {
			return
		}
		s.rest()
	}
}

// receive reads a message and has it executed. It is false when nothing more can come.
func (s *socket) receive() bool {
	x := s.edge.newExchange(s.network, s.grant, s)
	s.reading = x
	given := false // to a worker, who releases it
	defer func() {
		s.reading = nil
		if !given {
			x.release()
		}
	}()
	var err error
	x.body, err = s.conn.Read(x.body)
	if refused := (*nodegate.Error)(nil); errors.As(err, &refused) {
		return s.refuse(x, err)
	}
	if err != nil {
		return false
	}
	s.running.Add(1) // before the look at leaving: what is counted is answered
	if s.leaving.Load() {
		s.running.Add(-1)
		return true
	}
	if given = s.dispatch(x); !given {
		s.running.Add(-1)
	}
	return given
}

// refuse answers a message that there was no memory to read. Its id is not known.
func (s *socket) refuse(x *exchange, err error) bool {
	s.edge.cfg.Metrics.Refused(nodegate.AsError(err).Code)
	s.edge.recordOther(s.network, s.grant, "", err, 0)
	var room [ws.HeadRoom]byte
	return s.written(s.conn.WriteMessage(s.edge.appendError(append(x.answer, room[:]...), nil, err)))
}

// dispatch has a message executed. A socket that sends faster than it is answered is
// not read further.
func (s *socket) dispatch(x *exchange) bool {
	select {
	case s.slots <- struct{}{}:
	case <-s.ctx.Done():
		return false
	}
	if !s.share.wait(s.ctx) {
		<-s.slots
		return false
	}
	x.network = s.edge.site.Load().current(s.network)
	s.edge.in.Add(float64(len(x.body)))
	s.active.Add(1)
	s.edge.workers.give(x)
	return true
}

// execute answers one message.
func (s *socket) execute(x *exchange) {
	defer func() {
		x.release()
		s.running.Add(-1)
		s.share.leave()
		<-s.slots
		s.active.Done()
	}()
	s.guarded(func() { s.answer(x) })
}

func (s *socket) answer(x *exchange) {
	ctx, cancel := context.WithTimeout(s.ctx, requestTime)
	defer cancel()
	var room [ws.HeadRoom]byte
	x.answer = append(x.answer, room[:]...)
	ctx, x.span = s.edge.cfg.Tracer.Begin(ctx, "rpc")
	err := x.respond(ctx) // a WebSocket has no status: the error stands in the answer
	x.logAnswer("", 0, err)
	endSpan(x, 0, err)
	if err != nil {
		s.slowed(err)
	}
	if size := len(x.answer) - len(room); size > 0 && s.written(s.conn.WriteMessage(x.answer)) {
		s.edge.out.Add(float64(size))
	}
	for _, begin := range x.after {
		begin()
	}
}

// written looks at what came of a write.
func (s *socket) written(err error) bool {
	switch {
	case err == nil:
		return true
	case errors.Is(err, ws.ErrSlow):
		s.tooSlow()
	case !errors.Is(err, ws.ErrClosed): // which is on its way out already
		s.cut()
	}
	return false
}

// tooSlow closes a socket whose peer doesn't read: it never slows others down.
func (s *socket) tooSlow() {
	if s.slow.Swap(true) {
		return
	}
	s.edge.cfg.Metrics.SocketSlow()
	s.edge.cfg.Log.Info("WebSocket closed: slow reader", "network", s.network.Name, "key", s.grant.KeyID)
	s.close(ws.PolicyViolation, saysSlow)
}

// close says goodbye and ends what the socket began.
func (s *socket) close(status ws.Status, reason string) {
	s.events.shut()
	if err := s.conn.Close(status, reason); err != nil {
		s.conn.Cut()
	}
	s.cancel()
}

// cut ends the socket without a word.
func (s *socket) cut() {
	s.events.shut()
	s.conn.Cut()
	s.cancel()
}

// finish takes no more messages and waits until those that were taken are answered, as
// long as a request may last.
func (s *socket) finish() {
	s.leaving.Store(true)
	tick, late := time.NewTicker(5*time.Millisecond), time.After(requestTime)
	defer tick.Stop()
	for s.running.Load() > 0 {
		select {
		case <-s.ctx.Done():
			return
		case <-late:
			return
		case <-tick.C:
		}
	}
}
