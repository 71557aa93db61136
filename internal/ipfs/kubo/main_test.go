package kubo_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/credential"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/ipfs/blocktest"
	"github.com/nodegate/nodegate/internal/ipfs/kubo"
	"github.com/nodegate/nodegate/internal/ipfs/unixfs"
	"github.com/nodegate/nodegate/internal/store/sqlstore"
	"github.com/nodegate/nodegate/test/full"
	"github.com/nodegate/nodegate/test/harness"
	"github.com/nodegate/nodegate/test/sqlitetest"
)

// The nodes of these tests are servers of our own, whose gateway speaks Kubo's API.
// With KUBO_API=URL the tests that need one healthy node run on that one instead.

// upstream is a running node.
type upstream struct {
	*harness.Service
	endpoint kubo.Endpoint
}

// launch starts a node in a folder.
func launch(dir, listen string) (*upstream, error) {
	s, err := harness.Launch(dir, func(c *config.Config) {
		c.Networks, c.DefaultNetwork = c.Networks[:1], c.Networks[0].Name
		c.Storage.Reserve, c.Storage.Undo = 0, 0
		if listen != "" {
			c.StorageListen = listen
		}
	})
	if err != nil {
		return nil, err
	}
	const secret = "0123456789012345678901234567890123456789"
	key := credential.NewKey()
	if err := s.AddStorageKey(fmt.Sprint("node", time.Now().UnixNano()), "unlimited", key, secret, nodegate.KeySettings{}); err != nil {
		return nil, err
	}
	return &upstream{s, kubo.Endpoint{
		URL:     "http" + strings.TrimPrefix(s.Server.Addresses().Storage, "https"),
		Headers: map[string]string{"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte(key+":"+secret))},
	}}, nil
}

// start runs a node of a test's own.
func start(t *testing.T) *upstream {
	t.Helper()
	u, err := launch(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = u.Close() })
	return u
}

// sharedNode is a node for all tests that don't harm it.
var sharedNode struct {
	sync.Once
	*upstream
	dir string
	err error
}

func shared(t *testing.T) kubo.Endpoint {
	t.Helper()
	if api := os.Getenv("KUBO_API"); api != "" {
		return kubo.Endpoint{URL: api}
	}
	n := &sharedNode
	n.Do(func() {
		if n.dir, n.err = os.MkdirTemp("", "nodegate-kubo"); n.err == nil {
			n.upstream, n.err = launch(n.dir, "")
		}
	})
	if n.err != nil {
		t.Fatal(n.err)
	}
	return n.endpoint
}

func TestMain(m *testing.M) {
	code := m.Run()
	if sharedNode.upstream != nil {
		_ = sharedNode.Close()
	}
	_ = os.RemoveAll(sharedNode.dir)
	os.Exit(code)
}

// clock can be moved.
type clock struct {
	mu   sync.Mutex
	more time.Duration
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.more)
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.more += d
}

// pinStore is a store of a test's own.
func pinStore(t *testing.T) *sqlstore.Store {
	t.Helper()
	s, err := sqlstore.OpenSQLite(t.Context(), sqlitetest.New(t), []byte("key"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// open makes an engine over nodes. change may be nil.
func open(t *testing.T, change func(*kubo.Config), nodes ...kubo.Endpoint) *kubo.Engine {
	t.Helper()
	c := kubo.Config{Endpoints: nodes, Undo: blocktest.Undo, Links: unixfs.Links, Log: logger(t)}
	if change != nil {
		change(&c)
	}
	if c.Pins == nil {
		c.Pins = pinStore(t)
	}
	e := kubo.New(c)
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// logger shows the log of a test that failed.
func logger(t *testing.T) *slog.Logger {
	b := new(harness.Buffer)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the engine's log:\n%.8000s", b)
		}
	})
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// engine is what blocktest wants: only the type of Begin's result differs.
type engine struct{ *kubo.Engine }

func (e engine) Begin(account string, quota int64) unixfs.Batch {
	return e.Engine.Begin(account, quota)
}

// TestEngine holds the engine to what every engine promises.
func TestEngine(t *testing.T) {
	full.Slow(t)
	node := shared(t)
	for name, kept := range map[string]int64{"as it is": 4 << 20, "streamed": 0} {
		if testing.Short() && name != "as it is" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			blocktest.Run(t, func(t *testing.T) *blocktest.Fixture {
				c := &clock{}
				e := open(t, func(k *kubo.Config) {
					k.Fetch = true
					k.SetClock(c.Now)
					k.Hurry(5*time.Second, kept)
				}, node)
				return &blocktest.Fixture{
					Engine: engine{e}, Advance: c.Advance, Early: true, Keeps: true,
					Collect: func(ctx context.Context) error { _, err := e.Collect(ctx, false); return err },
				}
			})
		})
	}
}

// ask sends a command to a node, past the engine.
func ask(t *testing.T, n kubo.Endpoint, command string, args url.Values) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.URL+"/api/v0/"+command+"?"+args.Encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range n.Headers {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}
