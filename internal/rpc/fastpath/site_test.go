package fastpath

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// patience is how long a test waits for what should happen at once.
const patience = time.Minute

// What a body asks the handlers for; any other body is just answered.
const (
	askDone   = "done"   // ask for Done and answer
	askHold   = "hold"   // ask for Done, then wait for the test or for the peer to go
	askBlind  = "blind"  // wait for the test without asking for Done
	askRefuse = "refuse" // the plain handler hands over
	askLarge  = "large"  // a large answer
)

var largeAnswer = strings.Repeat("0123456789abcdef", 1<<14)

// site is a server with a handler for each way; both answer alike.
type site struct {
	*Server
	ln     net.Listener
	served chan error // what Serve returned

	plain, full atomic.Int64
	entered     chan context.Context // the context of each call that holds
	release     chan struct{}        // a token lets one such call go on
	left        chan error           // what ended the context of a call that holds
}

func newSite(ln net.Listener) *site {
	s := &site{
		ln: ln, served: make(chan error, 1),
		entered: make(chan context.Context, 100), release: make(chan struct{}, 100), left: make(chan error, 100),
	}
	s.Server = New(s, &http.Server{Handler: http.HandlerFunc(s.serveFull), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute})
	go func() { s.served <- s.Serve(ln) }()
	return s
}

// start serves on a real socket and checks at the end that nothing is left.
func start(t *testing.T) *site {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(ln)
	t.Cleanup(func() { s.end(t) })
	return s
}

// end closes the server, waits for Serve and looks for goroutines left behind.
func (s *site) end(t *testing.T) {
	t.Helper()
	_ = s.Close() // nothing to learn: the listener may be closed already
	select {
	case err := <-s.served:
		if !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve returned %v", err)
		}
	case <-time.After(patience):
		t.Error("Serve did not return")
	}
	noGoroutines(t)
}

// noGoroutines waits until none runs our code but the tests' own.
func noGoroutines(t *testing.T) {
	t.Helper()
	var left []string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if left = ours(); len(left) == 0 {
			return
		}
	}
	t.Errorf("%d goroutines are left, one of them:\n%s", len(left), left[0])
}

// ours lists the goroutines that run a connection, a watcher or a server.
func ours() (list []string) {
	buf := make([]byte, 4<<20)
	for g := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		for _, name := range []string{"plainhttp.(*Conn)", "plainhttp.(*watcher)", "plainhttp.(*Server)", "net/http.(*conn).serve", "net/http.(*Server).Serve("} {
			if strings.Contains(g, name) {
				list = append(list, g)
				break
			}
		}
	}
	return list
}

// ServePlain is the handler of the short way.
func (s *site) ServePlain(ctx context.Context, _ *Conn, r *Request, out []byte) ([]byte, bool) {
	if string(r.Body) == askRefuse {
		return nil, false
	}
	s.plain.Add(1)
	body := s.reply(ctx, "POST", string(r.Path), string(r.Body))
	out = append(out, "HTTP/1.1 200 OK\r\nX-Way: plain\r\nContent-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"...)
	return append(out, body...), true
}

// serveFull is the handler of the net/http server.
func (s *site) serveFull(w http.ResponseWriter, req *http.Request) {
	s.full.Add(1)
	if req.Header.Get("Upgrade") != "" {
		upgrade(w)
		return
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		http.Error(w, "short body", http.StatusBadRequest)
		return
	}
	w.Header().Set("X-Way", "full")
	_, _ = io.WriteString(w, s.reply(req.Context(), req.Method, req.URL.Path, string(body)))
}

// reply is the answer of either way.
func (s *site) reply(ctx context.Context, method, path, body string) string {
	switch body {
	case askDone:
		ctx.Done()
	case askHold:
		s.hold(ctx)
	case askBlind:
		s.entered <- ctx
		<-s.release
	case askLarge:
		return largeAnswer
	}
	return fmt.Sprintf("%s %s %q", method, path, body)
}

func (s *site) hold(ctx context.Context) {
	done := ctx.Done()
	s.entered <- ctx
	select {
	case <-done:
		s.left <- ctx.Err()
	case <-s.release:
	}
}

// upgrade takes the connection and sends back whatever comes.
func upgrade(w http.ResponseWriter) {
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	_, _ = io.Copy(conn, rw.Reader)
}

// client is one connection, seen from the other side.
type client struct {
	net.Conn
	t  *testing.T
	in *bufio.Reader
}

func (s *site) dial(t *testing.T) *client {
	t.Helper()
	conn, err := net.Dial("tcp", s.ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return newClient(t, conn)
}

func newClient(t *testing.T, conn net.Conn) *client {
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(2 * patience)) // a test that hangs should say where
	return &client{Conn: conn, t: t, in: bufio.NewReader(conn)}
}

func (c *client) send(raw string) {
	c.t.Helper()
	if _, err := io.WriteString(c.Conn, raw); err != nil {
		c.t.Fatalf("can't send: %v", err)
	}
}

// answer reads one answer. The body is read whole.
func (c *client) answer() (*http.Response, string) {
	c.t.Helper()
	res, body, err := c.try()
	if err != nil {
		c.t.Fatalf("no answer: %v", err)
	}
	return res, body
}

func (c *client) try() (*http.Response, string, error) {
	res, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return nil, "", err
	}
	body, err := io.ReadAll(res.Body)
	return res, string(body), err
}

// expect reads one answer and compares it; way is "plain", "full" or "" for either.
func (c *client) expect(way, body string) {
	c.t.Helper()
	res, got := c.answer()
	if res.StatusCode != http.StatusOK || got != body {
		c.t.Fatalf("answered %d %.100q, want %.100q", res.StatusCode, got, body)
	}
	if way != "" && res.Header.Get("X-Way") != way {
		c.t.Fatalf("%.100q went the way %q, want %q", got, res.Header.Get("X-Way"), way)
	}
}

// expectEnd waits for the server to close the connection, with nothing more to say.
func (c *client) expectEnd() {
	c.t.Helper()
	if b, err := c.in.ReadByte(); !errors.Is(err, io.EOF) {
		c.t.Fatalf("read %q, %v, want the end of the connection", b, err)
	}
}

// echo is the answer to a POST.
func echo(path, body string) string { return fmt.Sprintf("POST %s %q", path, body) }

// await receives within the test's patience.
func await[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatalf("waited in vain: %s", what)
		panic("unreachable")
	}
}
