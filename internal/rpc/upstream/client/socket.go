package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// Bounds of a socket.
const (
	maxFlying  = 256  // calls that wait for their answers
	maxStalled = 1024 // calls that were given up and not answered yet
	maxStray   = 16   // messages that nobody asked for, in a socket's life
	writeTime  = 10 * time.Second
	closeTime  = 500 * time.Millisecond // for the node to say good-bye
)

// beat is how a dead peer is noticed: a ping now and then, answered within a time.
type beat struct{ every, within time.Duration }

const (
	pingEvery  = 20 * time.Second
	pingWithin = 10 * time.Second
)

// Socket is one WebSocket connection to a node. All its methods may be called at the
// same time. When it ends it stays ended: dial another.
type Socket struct {
	end   *endpoint
	ws    *websocket.Conn
	raw   net.Conn // under ws, to close it for certain
	out   chan *flight
	slots chan struct{} // one for each call that flies
	done  chan struct{}
	gone  sync.WaitGroup // the goroutines

	mu      sync.Mutex
	err     error // why it ended
	lastID  uint64
	flying  map[string]*flight // by id; an answer is due
	stalled int                // of them, those that nobody waits for any more
	subs    map[string]*Subscription
	retired []string // ids of subscriptions that have ended, the oldest first
	early   early
	strays  int
}

// flight is a call on its way.
type flight struct {
	id      string
	text    []byte
	sub     *Subscription // what the answer begins, if the call is eth_subscribe
	landed  chan landing  // has room for the one answer
	sent    bool          // under Socket.mu
	dropped bool          // under Socket.mu: nobody waits any more
}

type landing struct {
	result []byte
	err    error
}

// DialSocket connects to a node's WebSocket address. The context is for the dialling only.
//
// Returns BadConfig for a URL or a header that can't be used, and otherwise a *Fault,
// with the status when the node answers the handshake with one.
func DialSocket(ctx context.Context, cfg Config) (*Socket, error) {
	return dialSocket(ctx, cfg, beat{pingEvery, pingWithin})
}

func dialSocket(ctx context.Context, cfg Config, pulse beat) (*Socket, error) {
	end, err := check(cfg, "ws", "wss")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, min(end.Timeout, 2*dialTime))
	defer cancel()
	s := &Socket{
		end: end, out: make(chan *flight), slots: make(chan struct{}, maxFlying), done: make(chan struct{}),
		flying: map[string]*flight{}, subs: map[string]*Subscription{},
	}
	if err := s.handshake(ctx); err != nil {
		return nil, err
	}
	s.ws.SetReadLimit(end.MaxAnswer)
	s.gone.Go(s.read)
	s.gone.Go(s.write)
	s.gone.Go(func() { s.ping(pulse) })
	return s, nil
}

// handshake dials with a transport of its own, which follows no redirect and keeps
// hold of the connection.
func (s *Socket) handshake(ctx context.Context) error {
	transport := s.end.httpTransport(func(raw net.Conn) { s.raw = raw })
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	ws, resp, err := websocket.Dial(ctx, s.end.url.String(), &websocket.DialOptions{HTTPClient: client, HTTPHeader: s.end.headers})
	if err == nil {
		s.ws = ws
		return nil
	}
	if resp == nil || resp.StatusCode == http.StatusSwitchingProtocols {
		return &Fault{Err: dialCause(ctx, withoutURL(err))}
	}
	h := fields{head: head{status: resp.StatusCode}}
	h.setRetryAfter([]byte(resp.Header.Get("Retry-After")))
	fault := &Fault{Status: h.status, RetryAfter: h.retryAfter, Err: statusCause(&h.head)}
	if h.status < http.StatusMultipleChoices {
		fault.Err = breach("the node does not speak WebSocket at this URL")
	}
	return fault
}

// withoutURL takes out the part of net/http's errors that shows the URL.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// Done is closed when the socket has ended.
func (s *Socket) Done() <-chan struct{} { return s.done }

// Err says why the socket ended: a *Fault, or ErrClosed in one after Close. It is nil before.
func (s *Socket) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Close ends the socket, its calls and its subscriptions, and waits until all is quiet.
func (s *Socket) Close() {
	if s.finish(ErrClosed) {
		force := time.AfterFunc(closeTime, func() { _ = s.raw.Close() })
		_ = s.ws.Close(websocket.StatusNormalClosure, "")
		force.Stop()
	}
	s.gone.Wait()
}

// fail ends the socket because of what the node did or didn't do.
func (s *Socket) fail(err error) {
	if s.finish(err) {
		_ = s.raw.Close()
		_ = s.ws.CloseNow()
	}
}

// finish marks the end, once, and tells everybody who waits.
func (s *Socket) finish(err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return false
	}
	s.err = &Fault{Err: err}
	for _, f := range s.flying {
		f.landed <- landing{err: &Fault{Sent: f.sent, Err: err}}
	}
	for _, sub := range s.subs {
		sub.finish(s.err)
	}
	s.flying, s.subs, s.early.events = nil, nil, nil
	close(s.done)
	return true
}

// Call makes one call, as Client.Call does. Calls may be answered in any order.
func (s *Socket) Call(ctx context.Context, method string, params []byte) ([]byte, error) {
	return s.call(ctx, s.end.Timeout, method, params, nil)
}

func (s *Socket) call(ctx context.Context, within time.Duration, method string, params []byte, sub *Subscription) ([]byte, error) {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-s.done:
		return nil, s.Err()
	case <-ctx.Done():
		return nil, &Fault{Err: ctx.Err()}
	case <-timer.C:
		return nil, &Fault{Err: context.DeadlineExceeded}
	}
	f, err := s.launch(method, params, sub)
	if err != nil {
		return nil, err
	}
	out := s.out
	for {
		select {
		case out <- f:
			out = nil // it is the writer's now
		case l := <-f.landed:
			return l.result, l.err
		case <-ctx.Done():
			return nil, s.abandon(f, ctx.Err())
		case <-timer.C:
			return nil, s.abandon(f, context.DeadlineExceeded)
		}
	}
}

// launch enters a call under an id of its own.
func (s *Socket) launch(method string, params []byte, sub *Subscription) (*flight, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return nil, s.err
	}
	s.lastID++
	f := &flight{id: strconv.FormatUint(s.lastID, 10), sub: sub, landed: make(chan landing, 1)}
	f.text = appendCall(nil, []byte(f.id), method, params)
	s.flying[f.id] = f
	return f, nil
}

// abandon gives a call up. Its answer may still come, so its id stays known if it was sent.
func (s *Socket) abandon(f *flight, cause error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flying[f.id] == f {
		f.dropped = true
		if f.sent {
			s.stalled++
		} else {
			delete(s.flying, f.id)
		}
		if s.stalled > maxStalled {
			go s.fail(tooManyStalled)
		}
	}
	return &Fault{Sent: f.sent, Err: cause}
}

// write sends calls, one at a time. It has a goroutine of its own because a write
// that is broken off would break the connection, and callers want to leave at once.
func (s *Socket) write() {
	for {
		select {
		case f := <-s.out:
			if !s.mark(f) {
				continue
			}
			ctx, cancel := context.WithTimeout(context.Background(), writeTime)
			err := s.ws.Write(ctx, websocket.MessageText, f.text)
			cancel()
			if err != nil {
				s.fail(err)
				return
			}
			f.text = nil
		case <-s.done:
			return
		}
	}
}

// mark notes that a call is sent now, unless nobody waits for it any more.
func (s *Socket) mark(f *flight) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.sent = !f.dropped && s.err == nil
	return f.sent
}

// ping ends the socket when the node doesn't answer pings.
func (s *Socket) ping(pulse beat) {
	tick := time.NewTicker(pulse.every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-s.done:
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), pulse.within)
		err := s.ws.Ping(ctx)
		cancel()
		if err != nil {
			s.fail(err)
			return
		}
	}
}

// read takes messages in the order they come until the socket ends.
func (s *Socket) read() {
	in := incoming{}
	for {
		kind, r, err := s.ws.Reader(context.Background())
		if err == nil {
			in.src = r
			err = in.all()
		}
		if err != nil {
			s.fail(readCause(err))
			return
		}
		if kind != websocket.MessageText || !s.message(in.buf) {
			if !s.stray() {
				return
			}
		}
		if cap(in.buf) > maxKept {
			in.buf = nil
		}
	}
}

// all reads a whole message into the buffer.
func (in *incoming) all() error {
	in.buf = in.buf[:0]
	for {
		switch err := in.fill(0); err {
		case nil:
		case cutShort, hungUp: // the message's end, not the connection's
			return nil
		default:
			return err
		}
	}
}

func readCause(err error) error {
	if errors.Is(err, websocket.ErrMessageTooBig) {
		return ErrTooLarge
	}
	if errors.Is(err, io.EOF) {
		return hungUp
	}
	return err
}

// stray counts a message that nobody asked for, and ends the socket at one too many.
func (s *Socket) stray() bool {
	s.mu.Lock()
	s.strays++
	few := s.strays <= maxStray
	s.mu.Unlock()
	if !few {
		s.fail(strayMessages)
	}
	return few
}

// message handles one message. It returns false for what nobody asked for.
func (s *Socket) message(text []byte) bool {
	a, e, ok := jsonrpc.ScanMessage(text)
	if !ok {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.Subscription != nil {
		return s.event(e)
	}
	f := s.flying[string(a.ID)]
	if f == nil || !f.sent {
		return false
	}
	delete(s.flying, f.id)
	var l landing
	if a.Error != nil {
		l.err = callError(a.Error)
	} else {
		l.result = bytes.Clone(a.Result)
	}
	if f.sub != nil && l.err == nil {
		l.err = s.enlist(f.sub, l.result)
	}
	if f.dropped {
		s.stalled--
	}
	f.landed <- l
	return true
}
