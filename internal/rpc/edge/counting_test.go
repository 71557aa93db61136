package edge_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/requestlog"
	"github.com/nodegate/nodegate/internal/accounts/usage"
	"github.com/nodegate/nodegate/internal/obs"
	"github.com/nodegate/nodegate/internal/rpc/edge"
	"github.com/nodegate/nodegate/internal/rpc/fastpath"
	"github.com/nodegate/nodegate/internal/web"
)

// goodKey is let in; others get the error that they name, see doorman.
const goodKey = "good"

// tally is a node and an authenticator that count what reaches them.
type tally struct {
	let   atomic.Int32 // requests let in
	calls atomic.Int32
	mu    sync.Mutex
	seen  []string // method and parameters of each call

	answer func(ctx context.Context, method string) ([]byte, error)
	refuse map[string]error // by key
	policy nodegate.Policy
}

func (n *tally) Call(ctx context.Context, method string, params []byte) ([]byte, error) {
	n.calls.Add(1)
	n.mu.Lock()
	n.seen = append(n.seen, method+string(params))
	n.mu.Unlock()
	if n.answer != nil {
		return n.answer(ctx, method)
	}
	return []byte(`"` + method + `"`), nil
}

func (*tally) Head(context.Context) (nodegate.Head, error) { return nodegate.Head{}, nil }

func (n *tally) Authenticate(_ context.Context, c nodegate.Credentials) (*nodegate.Grant, error) {
	if err := n.refuse[c.Key]; err != nil {
		return nil, err
	}
	if c.Key != goodKey {
		return nil, &nodegate.Error{Code: nodegate.KeyInvalid, Msg: "invalid API key"}
	}
	n.let.Add(1)
	return n.grant(), nil
}

// grant is the one of the good key; its policy is the test's to choose.
func (n *tally) grant() *nodegate.Grant { return edge.NewTestGrant(goodKey, n.policy) }

func (n *tally) reset() {
	n.let.Store(0)
	n.calls.Store(0)
	n.mu.Lock()
	n.seen = nil
	n.mu.Unlock()
}

// house is an edge over a tally, served as the real one is.
type house struct {
	*tally
	addr  string
	tls   *tls.Config // nil is plain HTTP
	logs  *lockedBuffer
	sink  *edge.Sink
	usage *usage.Recorder
	kept  *requestlog.Log
	edge  *edge.Edge
}

func build(t *testing.T) *house {
	t.Helper()
	return buildWith(t)
}

// buildWith changes the configuration first.
func buildWith(t *testing.T, changes ...func(*edge.Config)) *house {
	t.Helper()
	return buildOn(t, nil, changes...)
}

// buildOn serves TLS where there is a configuration of it.
func buildOn(t *testing.T, secure *tls.Config, changes ...func(*edge.Config)) *house {
	t.Helper()
	h := &house{tally: &tally{}, logs: new(lockedBuffer), tls: secure}
	cfg := edge.Config{
		Networks: []nodegate.Network{{Name: "net", Node: h.tally}}, DefaultNetwork: "net", Auth: h.tally,
		BodyBytes: 1 << 20, BatchItems: 10, ResponseBytes: 1 << 20, SubscriptionsPerConn: 2,
		Log: obs.NewLogger(h.logs, "text", slog.LevelDebug), Metrics: obs.NewMetrics(), Ready: func(string) error { return nil },
	}
	h.sink = edge.Bill(t, &cfg)
	h.usage, h.kept = cfg.Usage, cfg.RequestLog
	for _, change := range changes {
		change(&cfg)
	}
	e := edge.New(cfg)
	h.edge = e
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.addr = ln.Addr().String()
	ln = web.Limit(ln, web.Bounds{PerIP: 1024})
	if h.tls != nil {
		ln = web.Secure(ln, h.tls, e.RefuseUnread(http.StatusBadRequest, "use https://"))
	}
	srv := fastpath.New(e, web.Readable(&http.Server{Handler: e, ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}))
	srv.Wrap = func(c net.Conn) net.Conn { return web.RequestConn(c, e.RefuseUnread) }
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := srv.Shutdown(ctx); err != nil {
			_ = srv.Close()
		}
		e.Close(ctx)
		if err := <-done; !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			t.Errorf("serving ended with %v", err)
		}
	})
	return h
}

// url is the HTTP address for a key.
func (h *house) url(key string) string { return "http://" + h.addr + "/net/v3/" + key }

// post sends one body as a client would.
func (h *house) post(t *testing.T, key, body string) (*http.Response, string) {
	t.Helper()
	res, err := http.Post(h.url(key), "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(data)
}

// silence is how long a server says nothing that has said everything. An answer can be late
// on a busy machine.
const silence = 3 * time.Second

// raw sends bytes on one connection and collects the answers until the server
// closes it or stays silent.
func (h *house) raw(t *testing.T, text string) (answers []*http.Response, bodies []string) {
	t.Helper()
	c, err := net.Dial("tcp", h.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(c)
	for {
		_ = c.SetReadDeadline(time.Now().Add(silence))
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			return answers, bodies
		}
		_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
		body, _ := io.ReadAll(res.Body)
		answers, bodies = append(answers, res), append(bodies, string(body))
	}
}

// envelope is a call of a method without parameters.
func envelope(method string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q}`, method)
}

// wire is a plain request on the wire.
func wire(body string, header ...string) string {
	lines := append([]string{"POST /net/v3/" + goodKey + " HTTP/1.1", "Host: x", "Content-Type: application/json"}, header...)
	if len(header) == 0 {
		lines = append(lines, fmt.Sprintf("Content-Length: %d", len(body)))
	}
	return strings.Join(lines, "\r\n") + "\r\n\r\n" + body
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
