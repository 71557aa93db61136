package fastpath

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// shutDown starts to drain and returns where its outcome will be.
func (s *site) shutDown(d time.Duration) <-chan error {
	done := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), d)
		defer cancel()
		done <- s.Shutdown(ctx)
	}()
	return done
}

// awaitDraining waits until the server has begun to drain.
func (s *site) awaitDraining(t *testing.T) {
	t.Helper()
	eventually(t, "draining", s.draining.Load)
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("never happened: " + what)
		}
	}
}

func mustShutDown(t *testing.T, done <-chan error) {
	t.Helper()
	if err := await(t, "Shutdown", done); err != nil {
		t.Fatalf("Shutdown: %v", err)
	}
}

// TestShutdownLingers: a request that was on its way when the server began to shut
// down is answered, on a connection that was idle.
func TestShutdownLingers(t *testing.T) {
	inFakeTime(t, func(t *testing.T, s *site, open func(*testing.T) *client) {
		c := open(t)
		c.send(post("/a", "", "1"))
		c.expect("plain", echo("/a", "1"))
		done := s.shutDown(patience)
		time.Sleep(linger / 3) // the server has long begun
		c.send(post("/a", "", "2"))
		c.expect("plain", echo("/a", "2"))
		mustShutDown(t, done)
		c.expectEnd()
	})
}

// TestShutdownIdle: connections without a request are closed soon, those that
// net/http has too.
func TestShutdownIdle(t *testing.T) {
	s := start(t)
	used, handed := s.dial(t), s.dial(t)
	used.send(post("/a", "", "1"))
	used.expect("plain", echo("/a", "1"))
	handed.send(post("/a", "X-Force: 1\r\n", "1"))
	handed.expect("full", echo("/a", "1"))
	begin := time.Now()
	mustShutDown(t, s.shutDown(patience))
	if took := time.Since(begin); took > patience/2 {
		t.Errorf("took %v", took)
	}
	used.expectEnd()
	handed.expectEnd()
	if _, err := net.Dial("tcp", s.ln.Addr().String()); err == nil {
		t.Error("the server still accepts")
	}
}

// TestShutdownFinishes: calls in progress are answered, then their connections end.
func TestShutdownFinishes(t *testing.T) {
	for _, body := range []string{askHold, askBlind} {
		t.Run(body, func(t *testing.T) {
			s := start(t)
			c := s.dial(t)
			c.send(post("/a", "", body))
			ctx := await(t, "the call", s.entered)
			done := s.shutDown(patience)
			s.awaitDraining(t)
			time.Sleep(50 * time.Millisecond) // some rounds of waking the idle ones
			if err := ctx.Err(); err != nil {
				t.Fatalf("draining ended the call: %v", err)
			}
			s.release <- struct{}{}
			c.expect("plain", echo("/a", body))
			c.expectEnd()
			mustShutDown(t, done)
		})
	}
}

// TestShutdownSaysClose: the last answer tells the client not to use the
// connection again. Without that it may send one more request, and lose it.
func TestShutdownSaysClose(t *testing.T) {
	for way, more := range map[string]string{"plain": "", "full": "X-Force: 1\r\n"} {
		t.Run(way, func(t *testing.T) {
			s := start(t)
			c := s.dial(t)
			c.send(post("/a", more, askBlind))
			await(t, "the call", s.entered)
			done := s.shutDown(patience)
			eventually(t, "both servers drain", s.closing.Load)
			s.release <- struct{}{}
			if res, _ := c.answer(); !res.Close {
				t.Error("the answer does not say Connection: close")
			}
			c.expectEnd()
			mustShutDown(t, done)
		})
	}
}

// TestShutdownDuringBody: a request whose head has arrived is in progress. Its body
// is awaited and it is answered, as net/http does it.
func TestShutdownDuringBody(t *testing.T) {
	lost := 0
	const rounds = 50
	raw := post("/a", "", `{"id":1}`)
	for range rounds {
		ln := newPipeListener()
		s := newSite(ln)
		c := ln.open(t)
		c.send(raw[:len(raw)-3]) // on a pipe this means that it was read
		done := s.shutDown(patience)
		s.awaitDraining(t)
		time.Sleep(5 * time.Millisecond)
		_, _ = io.WriteString(c.Conn, raw[len(raw)-3:]) // a connection that is cut is counted below
		if _, body, err := c.try(); err != nil || body != echo("/a", `{"id":1}`) {
			lost++
		}
		mustShutDown(t, done)
		s.end(t)
	}
	if lost > 0 {
		t.Errorf("%d of %d requests under way got no answer", lost, rounds)
	}
}

// TestShutdownDuringHandOver: requests that are just being given to net/http when
// the server begins to drain have been received whole, so they are answered.
func TestShutdownDuringHandOver(t *testing.T) {
	lost := 0
	const rounds = 200
	for range rounds {
		s := newSite(listen(t))
		s.handler = slowRefusal{s}
		c := s.dial(t)
		c.send(post("/a", "", "1"))
		await(t, "the request", s.entered)
		done := s.shutDown(patience)
		s.awaitDraining(t)
		s.release <- struct{}{} // now it is handed over
		if _, body, err := c.try(); err != nil || body != echo("/a", "1") {
			lost++
		}
		mustShutDown(t, done)
		s.end(t)
	}
	if lost > 0 {
		t.Errorf("%d of %d requests under way got no answer", lost, rounds)
	}
}

// slowRefusal hands every request over, when the test says so.
type slowRefusal struct{ *site }

func (h slowRefusal) ServePlain(ctx context.Context, _ *Conn, _ *Request, _ []byte) ([]byte, bool) {
	h.entered <- ctx
	<-h.release
	return nil, false
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

// TestShutdownUnderLoad: every request that got an answer got the right one, and
// none is cut off in the middle. That a request finds its connection closed is
// only allowed before a byte of the answer.
func TestShutdownUnderLoad(t *testing.T) {
	for round := range 10 {
		s := newSite(listen(t))
		var busy sync.WaitGroup
		for w := range 8 {
			c := s.dial(t)
			busy.Go(func() { c.askUntilClosed(w) })
		}
		time.Sleep(time.Duration(round) * time.Millisecond)
		mustShutDown(t, s.shutDown(patience))
		busy.Wait()
		s.end(t)
	}
}

// askUntilClosed sends one request after the other, plain ones and others.
func (c *client) askUntilClosed(worker int) {
	for i := 0; ; i++ {
		body := strconv.Itoa(worker) + "/" + strconv.Itoa(i)
		more := ""
		if worker%2 == 1 && i > 20 {
			more = "X-Force: 1\r\n"
		}
		if _, err := io.WriteString(c.Conn, post("/a", more, body)); err != nil {
			return
		}
		if _, err := c.in.Peek(1); err != nil {
			return
		}
		if _, got, err := c.try(); err != nil || got != echo("/a", body) {
			c.t.Errorf("answered %q, %v, want %q", got, err, echo("/a", body))
			return
		}
	}
}

func TestShutdownTwice(t *testing.T) {
	s := start(t)
	c := s.dial(t)
	c.send(post("/a", "", askBlind))
	await(t, "the call", s.entered)
	first, second := s.shutDown(patience), s.shutDown(patience)
	s.awaitDraining(t)
	s.release <- struct{}{}
	c.expect("plain", echo("/a", askBlind))
	mustShutDown(t, first)
	mustShutDown(t, second)
	mustShutDown(t, s.shutDown(patience))
}

// TestShutdownOutOfTime: a call that outlasts the context is reported, so that
// the caller knows to cut it.
func TestShutdownOutOfTime(t *testing.T) {
	for way, more := range map[string]string{"plain": "", "full": "X-Force: 1\r\n"} {
		t.Run(way, func(t *testing.T) {
			s := start(t)
			c := s.dial(t)
			c.send(post("/a", more, askHold))
			await(t, "the call", s.entered)
			if err := await(t, "Shutdown", s.shutDown(50*time.Millisecond)); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Shutdown says %v with a call under way", err)
			}
			if err := s.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
			if err := await(t, "the call's end", s.left); !errors.Is(err, context.Canceled) {
				t.Errorf("the call ended with %v", err)
			}
		})
	}
}

// TestShutdownBeforeServe: the two start on different goroutines, so Shutdown may
// come first. Then Serve must not serve, nor leave the port open.
func TestShutdownBeforeServe(t *testing.T) {
	for name, stop := range map[string]func(*Server) error{
		"Shutdown": func(s *Server) error { return s.Shutdown(context.Background()) },
		"Close":    (*Server).Close,
	} {
		t.Run(name, func(t *testing.T) {
			ln := listen(t)
			defer ln.Close()
			s := New(lateRefusal{}, &http.Server{})
			if err := stop(s); err != nil {
				t.Fatal(err)
			}
			served := make(chan error, 1)
			go func() { served <- s.Serve(ln) }()
			select {
			case err := <-served:
				if !errors.Is(err, http.ErrServerClosed) {
					t.Errorf("Serve returned %v", err)
				}
			case <-time.After(patience):
				t.Fatal("Serve serves after the end")
			}
			if _, err := ln.Accept(); !errors.Is(err, net.ErrClosed) {
				t.Errorf("the listener is still open: %v", err)
			}
		})
	}
}

// TestCloseCutsAll: connections of both kinds, idle and busy, end at once.
func TestCloseCutsAll(t *testing.T) {
	s := start(t)
	var clients []*client
	for _, raw := range []string{"", post("/a", "", askHold), post("/a", "X-Force: 1\r\n", askHold), half("body")} {
		c := s.dial(t)
		c.send(raw)
		clients = append(clients, c)
	}
	await(t, "a call", s.entered)
	await(t, "the other call", s.entered)
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	await(t, "the end of a call", s.left)
	await(t, "the end of the other call", s.left)
	for _, c := range clients {
		if _, body, err := c.try(); err == nil {
			t.Errorf("answered %q", body)
		}
	}
}

// TestServeFails: a listener that breaks by itself is reported.
func TestServeFails(t *testing.T) {
	broken := errors.New("broken")
	s := New(lateRefusal{}, &http.Server{})
	if err := s.Serve(&troubledListener{Listener: listen(t), errs: []error{broken}}); !errors.Is(err, broken) {
		t.Errorf("Serve returned %v", err)
	}
	_ = s.Close()
	noGoroutines(t)
}

// troubledListener fails a few times before it works.
type troubledListener struct {
	net.Listener
	errs   []error
	failed atomic.Int32
}

func (l *troubledListener) Accept() (net.Conn, error) {
	if n := int(l.failed.Load()); n < len(l.errs) {
		l.failed.Add(1)
		return nil, l.errs[n]
	}
	return l.Listener.Accept()
}

// TestTemporaryTrouble: running out of descriptors does not end the server.
func TestTemporaryTrouble(t *testing.T) {
	full := &net.OpError{Op: "accept", Net: "tcp", Err: syscall.EMFILE}
	aborted := &net.OpError{Op: "accept", Net: "tcp", Err: syscall.ECONNABORTED}
	ln := &troubledListener{Listener: listen(t), errs: []error{full, aborted, full}}
	s := newSite(ln)
	t.Cleanup(func() { s.end(t) })
	c := s.dial(t)
	c.send(post("/a", "", "1"))
	c.expect("plain", echo("/a", "1"))
	if n := ln.failed.Load(); n != 3 {
		t.Errorf("failed %d times, want 3", n)
	}
}

// TestAcceptDuringShutdown: connections keep coming while the server ends.
func TestAcceptDuringShutdown(t *testing.T) {
	for range 20 {
		s := newSite(listen(t))
		var dialers sync.WaitGroup
		stop := make(chan struct{})
		for range 4 {
			dialers.Go(func() { knock(s.ln.Addr().String(), stop) })
		}
		time.Sleep(2 * time.Millisecond)
		mustShutDown(t, s.shutDown(patience))
		close(stop)
		dialers.Wait()
		s.end(t)
	}
}

// knock connects and sends until told to stop; what comes of it does not matter.
func knock(addr string, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		if c, err := net.Dial("tcp", addr); err == nil {
			_, _ = io.WriteString(c, post("/a", "", "1"))
			_ = c.Close()
		}
	}
}

// half is a request that lacks half of its body.
func half(body string) string {
	raw := post("/a", "", body)
	return raw[:len(raw)-len(body)/2]
}

// TestNoLeaks: after many connections of every kind, nothing is left; the check
// is in the site's end.
func TestNoLeaks(t *testing.T) {
	s := start(t)
	for i := range 100 {
		c := s.dial(t)
		switch i % 5 {
		case 0:
			c.send(post("/a", "", askDone))
			c.expect("plain", echo("/a", askDone))
		case 1:
			c.send(handedOver[3].raw)
			c.expect("full", handedOver[3].want)
		case 2:
			c.send(half(strings.Repeat("x", 100)))
		case 3:
			c.send("PO")
		}
		_ = c.Close()
	}
	noConns(t, s)
}

// slowDeadlines is a listener whose connections take their time to set a deadline
// in the past, which is how a draining server wakes idle connections.
type slowDeadlines struct {
	net.Listener
	waking, woken chan struct{} // have a token when the first one begins, and when it is set
	wake          chan struct{} // closed when it may be set
	read          atomic.Int64  // bytes from all connections
}

func (l *slowDeadlines) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return slowConn{c, l}, err
}

type slowConn struct {
	net.Conn
	ln *slowDeadlines
}

func (c slowConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.ln.read.Add(int64(n))
	return n, err
}

func (c slowConn) SetReadDeadline(d time.Time) error {
	if d.IsZero() || time.Since(d) < time.Hour {
		return c.Conn.SetReadDeadline(d)
	}
	tell(c.ln.waking)
	<-c.ln.wake
	err := c.Conn.SetReadDeadline(d)
	tell(c.ln.woken)
	return err
}

// tell puts a token into a channel that has none.
func tell(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// TestShutdownLateDeadline: a connection that was idle when the server looked has
// been handed over by the time its deadline is set. The request there must not
// suffer from it.
func TestShutdownLateDeadline(t *testing.T) {
	ln := &slowDeadlines{Listener: listen(t), waking: make(chan struct{}, 1), woken: make(chan struct{}, 1), wake: make(chan struct{})}
	s := newSite(ln)
	t.Cleanup(func() { s.end(t) })
	wake := sync.OnceFunc(func() { close(ln.wake) })
	t.Cleanup(wake)
	c := s.dial(t)
	c.send(post("/a", "", "1"))
	c.expect("plain", echo("/a", "1"))
	done := s.shutDown(patience)
	await(t, "the server to wake the connection", ln.waking)
	raw, before := handedOver[3].raw, ln.read.Load()
	begin := raw[:len(raw)-8]
	c.send(begin)
	eventually(t, "it is read", func() bool { return ln.read.Load() == before+int64(len(begin)) })
	time.Sleep(20 * time.Millisecond) // it is handed over, too; either way is right
	wake()
	await(t, "the deadline, on whoever has the connection", ln.woken)
	c.send(raw[len(raw)-8:])
	c.expect("full", handedOver[3].want)
	mustShutDown(t, done)
}
