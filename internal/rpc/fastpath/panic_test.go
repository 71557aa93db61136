package fastpath

import (
	"bytes"
	"context"
	"log"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// clumsy panics, and it does so while the peer is being watched.
type clumsy struct{}

func (clumsy) ServePlain(ctx context.Context, _ *Conn, _ *Request, _ []byte) ([]byte, bool) {
	ctx.Done()
	panic("clumsy")
}

// lockedBuffer is a log that two goroutines may use.
type lockedBuffer struct {
	sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.Lock()
	defer b.Unlock()
	return b.Buffer.Write(p)
}

// TestPanic: a handler that panics loses its connection, as in net/http, and the
// others notice nothing.
func TestPanic(t *testing.T) {
	ln := listen(t)
	var out lockedBuffer
	s := &site{ln: ln, served: make(chan error, 1)}
	s.Server = New(clumsy{}, &http.Server{Handler: http.HandlerFunc(s.serveFull), ErrorLog: log.New(&out, "", 0)})
	go func() { s.served <- s.Serve(ln) }()
	t.Cleanup(func() { s.end(t) })
	c, other := s.dial(t), s.dial(t)
	c.send(post("/a", "", "1"))
	c.expectEnd()
	other.send(post("/a", "X-Force: 1\r\n", "1"))
	other.expect("full", echo("/a", "1"))
	mustShutDown(t, s.shutDown(patience)) // it does not wait for the one that panicked
	out.Lock()
	defer out.Unlock()
	if !strings.Contains(out.String(), "clumsy") || !strings.Contains(out.String(), "goroutine") {
		t.Errorf("the log has no word of it: %q", out.String())
	}
}
