package kubo_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/ipfs/kubo"
)

// rogue is a node that answers some commands as it likes, and hands the others to a
// good one.
type rogue struct {
	endpoint kubo.Endpoint
	asked    sync.Map // how often, by command: *atomic.Int64

	mu    sync.Mutex
	rules map[string]http.HandlerFunc
}

func newRogue(t *testing.T) *rogue {
	t.Helper()
	good := shared(t)
	to, err := url.Parse(good.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		for name, value := range good.Headers {
			r.Out.Header.Set(name, value)
		}
	}, ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }}
	r := &rogue{rules: map[string]http.HandlerFunc{}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		command := strings.TrimPrefix(req.URL.Path, "/api/v0/")
		count, _ := r.asked.LoadOrStore(command, new(atomic.Int64))
		count.(*atomic.Int64).Add(1)
		r.mu.Lock()
		rule := r.rules[command]
		r.mu.Unlock()
		if rule != nil {
			rule(w, req)
			return
		}
		proxy.ServeHTTP(w, req)
	}))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	r.endpoint = kubo.Endpoint{URL: s.URL}
	return r
}

// on sets what a command does; nil is as it should be.
func (r *rogue) on(command string, rule http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rules[command] = rule
}

// times is how often a command came.
func (r *rogue) times(command string) int64 {
	if n, ok := r.asked.Load(command); ok {
		return n.(*atomic.Int64).Load()
	}
	return 0
}

// says answers with a status and a text.
func says(status int, kind, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
}

// trails answers 200 and hides an error behind the body.
func trails(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		w.Header().Set("Trailer", "X-Stream-Error")
		_, _ = io.WriteString(w, text)
		w.Header().Set("X-Stream-Error", "it broke")
	}
}

// hangs takes nothing and says nothing.
func hangs(w http.ResponseWriter, req *http.Request) {
	select {
	case <-req.Context().Done():
	case <-time.After(6 * time.Second):
	}
}

// cuts begins an answer and breaks it off.
func cuts(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.WriteString(w, text)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// floods never stops.
func floods(w http.ResponseWriter, req *http.Request) {
	for piece := make([]byte, 64<<10); ; {
		if _, err := w.Write(piece); err != nil {
			return
		}
	}
}

// drips sends a byte now and then, without an end.
func drips(w http.ResponseWriter, req *http.Request) {
	for req.Context().Err() == nil {
		_, _ = w.Write([]byte(" "))
		_ = http.NewResponseController(w).Flush()
		time.Sleep(50 * time.Millisecond)
	}
}

const hurry = 1500 * time.Millisecond

// hurried makes an engine impatient.
func hurried(c *kubo.Config) { c.Hurry(hurry, 64<<10) }

func rawCID(data string) cid.Cid {
	hash, err := multihash.Sum([]byte(data), multihash.SHA2_256, -1)
	if err != nil {
		panic(err)
	}
	return cid.NewCidV1(cid.Raw, hash)
}

// store keeps and pins a block.
func store(ctx context.Context, e *kubo.Engine, account, data string) (cid.Cid, error) {
	c := rawCID(data)
	b := e.Begin(account, 0)
	defer b.Abort()
	if err := b.Put(ctx, c, []byte(data)); err != nil {
		return c, err
	}
	b.Pin(nodegate.Pin{CID: c.String(), Recursive: true, Size: int64(len(data))})
	return c, b.Commit(ctx)
}

func mustStore(t *testing.T, e *kubo.Engine, account, data string) cid.Cid {
	t.Helper()
	c, err := store(t.Context(), e, account, data)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const jsonKind = "application/json"

func failure(message string) string {
	return fmt.Sprintf(`{"Message":%q,"Code":0,"Type":"error"}`, message)
}

// A node that reads badly never makes a wrong answer: another one is asked, and
// without one the error says what it is.
func TestHostileReads(t *testing.T) {
	const content = "what was stored"
	for name, c := range map[string]struct {
		rule http.HandlerFunc
		want nodegate.Code
	}{
		"wrong bytes":        {says(200, "application/vnd.ipld.raw", "what was forged"), nodegate.Damaged},
		"short bytes":        {says(200, "application/vnd.ipld.raw", content[:5]), nodegate.Damaged},
		"no bytes":           {says(200, "application/vnd.ipld.raw", ""), nodegate.Damaged},
		"an error behind it": {trails(content), nodegate.Busy},
		"an early end":       {cuts(content[:5]), nodegate.Busy},
		"no answer":          {hangs, nodegate.Busy},
		"an endless answer":  {floods, nodegate.Busy},
		"a dripping answer":  {drips, nodegate.Busy},
		"500 in text":        {says(500, "text/plain", "oops"), nodegate.Busy},
		"another failure":    {says(500, jsonKind, failure("repo is locked")), nodegate.Busy},
		"502":                {says(502, "text/html", "<h1>bad gateway</h1>"), nodegate.Busy},
		"429":                {says(429, "text/plain", "slow down"), nodegate.Busy},
		"no access":          {says(403, "text/plain", "denied"), nodegate.Busy},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:9/", http.StatusTemporaryRedirect)
		}, nodegate.Busy},
		"it does not have it": {says(500, jsonKind, failure("block was not found locally (offline): ipld: could not find it")), nodegate.NotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad := newRogue(t)
			alone := open(t, hurried, bad.endpoint)
			id := mustStore(t, alone, "a", content)
			bad.on("block/get", c.rule)
			begun := time.Now()
			if data, err := alone.Get(t.Context(), id); !errors.Is(err, c.want) || nodegate.AsError(err).Msg == "" {
				t.Errorf("alone: %q, %v, want %v", data, err, c.want)
			}
			if took := time.Since(begun); took > 10*time.Second {
				t.Errorf("it took %v", took)
			}
			pair := open(t, hurried, bad.endpoint, shared(t))
			for range 5 {
				if data, err := pair.Get(t.Context(), id); err != nil || string(data) != content {
					t.Fatalf("beside a good one: %q, %v", data, err)
				}
			}
			bad.on("block/get", nil)
			eventually(t, "it is well again", func() error {
				data, err := alone.Get(t.Context(), id)
				if err == nil && string(data) != content {
					t.Fatalf("wrong bytes: %q", data)
				}
				return err
			})
		})
	}
}

// eventually waits until something works.
func eventually(t *testing.T, what string, try func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(15 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if err = try(); err == nil {
			return
		}
	}
	t.Errorf("%s: still %v", what, err)
}

// A node that writes badly is not believed: nothing is acknowledged that it alone
// should have, another one takes small uploads, and large ones fail.
func TestHostileWrites(t *testing.T) {
	for _, c := range []struct {
		name, command string
		rule          http.HandlerFunc
		want          nodegate.Code
	}{
		{"an import without a word", "dag/import", says(200, jsonKind, ""), nodegate.Busy},
		{"an import of fewer blocks", "dag/import", says(200, jsonKind, `{"Stats":{"BlockCount":0,"BlockBytesCount":0}}`), nodegate.Busy},
		{"an import with an error line", "dag/import", says(200, jsonKind, `{"Message":"it broke","Code":0,"Type":"error"}`), nodegate.Busy},
		{"an import with an error behind it", "dag/import", trails(`{"Stats":{"BlockCount":1}}`), nodegate.ExecutionFailed},
		{"an import that is cut", "dag/import", cuts(`{"Stats":`), nodegate.Busy},
		{"an import that hangs", "dag/import", hangs, nodegate.Busy},
		{"an import that floods", "dag/import", floods, nodegate.Busy},
		{"a full disk", "dag/import", says(500, jsonKind, failure("write: no space left on device")), nodegate.InsufficientStorage},
		{"a full node", "dag/import", says(507, "text/plain", "insufficient storage"), nodegate.InsufficientStorage},
		{"no access", "dag/import", says(403, "text/plain", "denied"), nodegate.Busy},
		{"a pin of something else", "pin/add", says(200, jsonKind, `{"Pins":["bafkqaa3bmjrq"]}`), nodegate.Busy},
		{"a pin without a word", "pin/add", says(200, jsonKind, ""), nodegate.Busy},
		{"a pin with an error behind it", "pin/add", trails(`{"Progress":1}`), nodegate.ExecutionFailed},
		{"a pin that hangs", "pin/add", hangs, nodegate.Busy},
		{"a pin that gets nowhere", "pin/add", drips, nodegate.Busy},
		{"a pin that fails", "pin/add", says(500, jsonKind, failure("pin: repo is locked")), nodegate.ExecutionFailed},
		{"a pin that is cut", "pin/add", cuts(`{"Progress":1}`), nodegate.Busy},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bad := newRogue(t)
			bad.on(c.command, c.rule)
			alone := open(t, hurried, bad.endpoint)
			_, err := store(t.Context(), alone, "a", c.name)
			if !errors.Is(err, c.want) || nodegate.AsError(err).Msg == "" {
				t.Errorf("alone: %v, want %v", err, c.want)
			}
			if list := pinsOf(t, alone, "a"); len(list) != 0 || alone.Stored("a") != 0 {
				t.Errorf("left behind: %v, %d bytes", list, alone.Stored("a"))
			}
			pair := open(t, hurried, bad.endpoint, shared(t))
			id, err := store(t.Context(), pair, "a", c.name+" beside a good one")
			if err != nil {
				t.Fatalf("beside a good one: %v", err)
			}
			if !pinnedOn(t, shared(t), id) {
				t.Error("no node has it pinned")
			}
			if err := storeLarge(t, alone, c.name); c.command == "dag/import" && err == nil {
				t.Error("a large upload passes")
			}
		})
	}
}

// storeLarge keeps more than a batch holds in memory.
func storeLarge(t *testing.T, e *kubo.Engine, name string) error {
	b := e.Begin("large", 0)
	defer b.Abort()
	for i := range 20 {
		data := fmt.Sprintf("%s %d %s", name, i, strings.Repeat("x", 16<<10))
		if err := b.Put(t.Context(), rawCID(data), []byte(data)); err != nil {
			return err
		}
	}
	return b.Commit(t.Context())
}

func pinsOf(t *testing.T, e *kubo.Engine, account string) (list []string) {
	t.Helper()
	if err := e.Pins(t.Context(), account, func(p nodegate.Pin) bool { list = append(list, p.CID); return true }); err != nil {
		t.Fatal(err)
	}
	return list
}

// pinnedOn asks a node itself.
func pinnedOn(t *testing.T, n kubo.Endpoint, c cid.Cid) bool {
	t.Helper()
	status, _ := ask(t, n, "pin/ls", url.Values{"arg": {c.String()}, "type": {"recursive"}})
	return status == http.StatusOK
}
