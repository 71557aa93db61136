package edge

import (
	"context"
	"encoding/base64"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/nodegate/nodegate"
)

// Bounds of one WebSocket.
const (
	socketWorkers = 8 // messages of one socket executed at the same time
	workerIdle    = 10 * time.Second
	socketWrite   = 15 * time.Second // longest time one message may take to leave
	pingEvery     = 30 * time.Second
	queueBytes    = 1 << 20 // events waiting for a slow reader
)

const policyViolation = websocket.StatusPolicyViolation

// socket is one WebSocket connection: a reader, a few workers that execute its
// messages, and its subscriptions.
type socket struct {
	edge    *Edge
	network *network
	grant   *nodegate.Grant
	visitor *visitor
	conn    *websocket.Conn
	ctx     context.Context // ends with the connection
	cancel  context.CancelFunc

	jobs    chan *exchange
	running atomic.Int32 // messages taken and not yet answered
	workers int32
	active  sync.WaitGroup

	events *eventQueue
	subs   subscriptions
}

// serveSocket admits the key before the handshake, so that a refusal is an
// ordinary HTTP answer, and serves the socket until it ends.
func (e *Edge) serveSocket(w http.ResponseWriter, req *http.Request, r route) error {
	n, grant, err := e.admit(w, req, r)
	if err != nil {
		e.fine(n, grant, err)
		return err
	}
	if !wantsSocket(req) {
		w.Header().Set("Allow", "GET")
		w.Header().Set("Sec-WebSocket-Version", "13")
		return &nodegate.Error{Op: "edge.socket", Code: nodegate.HTTPMethod, Msg: "this address is for WebSockets (version 13): connect with ws:// or use /v3 for HTTP"}
	}
	if e.drained.Load() {
		return &nodegate.Error{Op: "edge.socket", Code: nodegate.Busy, Msg: "server busy: shutting down", RetryAfter: time.Second}
	}
	// The key admits, not a cookie, so a foreign page gains nothing: any origin may
	// connect. Compression stays off; it is how small messages become large ones.
	conn, err := websocket.Accept(w, req, &websocket.AcceptOptions{InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return nil // Accept has answered
	}
	e.sockets.Add(1)
	defer e.sockets.Done()
	e.cfg.Metrics.SocketOpened()
	defer e.cfg.Metrics.SocketClosed()
	s := e.newSocket(n, grant, conn)
	s.visitor = e.visitorOf(req, r, grant)
	s.serve()
	return nil
}

// wantsSocket checks the handshake, so that a bad one gets an envelope like every
// other answer here.
func wantsSocket(req *http.Request) bool {
	key, err := base64.StdEncoding.DecodeString(req.Header.Get("Sec-WebSocket-Key"))
	return req.Method == http.MethodGet && req.ProtoAtLeast(1, 1) && err == nil && len(key) == 16 &&
		strings.EqualFold(req.Header.Get("Upgrade"), "websocket") &&
		strings.Contains(strings.ToLower(req.Header.Get("Connection")), "upgrade") &&
		req.Header.Get("Sec-WebSocket-Version") == "13"
}

func (e *Edge) newSocket(n *network, grant *nodegate.Grant, conn *websocket.Conn) *socket {
	conn.SetReadLimit(e.cfg.BodyBytes)
	ctx, cancel := context.WithCancel(nodegate.WithGrant(e.base, grant))
	s := &socket{edge: e, network: n, grant: grant, conn: conn, ctx: ctx, cancel: cancel, jobs: make(chan *exchange)}
	s.events = newEventQueue(queueBytes)
	s.subs.limit = e.cfg.SubscriptionsPerConn
	return s
}

// serve runs the socket to its end. What is under way is finished first.
func (s *socket) serve() {
	var helpers sync.WaitGroup
	helpers.Go(s.keepAlive)
	helpers.Go(s.sendEvents)
	s.read()
	close(s.jobs)
	s.cancel()
	s.active.Wait()
	s.subs.wait()
	helpers.Wait()
	_ = s.conn.CloseNow()
}

// read takes messages until the peer leaves, breaks the rules or the server
// shuts down. A message over the limit closes with 1009 by itself.
func (s *socket) read() {
	for {
		x := s.edge.newExchange(s.network, s.grant, s)
		if err := s.receive(x); err != nil {
			x.release()
			return
		}
		x.network = s.edge.current(s.network)
		s.edge.in.Add(float64(len(x.body)))
		s.running.Add(1)
		if !s.dispatch(x) {
			x.release()
			return
		}
	}
}

// receive reads one message into the exchange's buffer.
func (s *socket) receive(x *exchange) error {
	_, r, err := s.conn.Reader(s.ctx)
	if err != nil {
		return err
	}
	for {
		if len(x.body) == cap(x.body) {
			x.body = append(x.body, 0)[:len(x.body)]
		}
		n, err := r.Read(x.body[len(x.body):cap(x.body)])
		x.body = x.body[:len(x.body)+n]
		if isEOF(err) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// dispatch gives a message to an idle worker, starts one while there are few, or
// waits: a socket that sends faster than it is answered is not read further.
func (s *socket) dispatch(x *exchange) bool {
	select {
	case s.jobs <- x:
		return true
	default:
	}
	if s.startWorker(x) {
		return true
	}
	select {
	case s.jobs <- x:
		return true
	case <-s.ctx.Done():
		return false
	}
}
