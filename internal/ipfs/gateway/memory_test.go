package gateway

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/usage"
	"github.com/nodegate/nodegate/internal/budget"
	"github.com/nodegate/nodegate/internal/ipfs/blockstore"
	"github.com/nodegate/nodegate/internal/ipfs/unixfs"
)

// engine is the real block store.
type engine struct{ *blockstore.Store }

func (e engine) Begin(accountID string, quota int64) unixfs.Batch {
	return e.Store.Begin(accountID, quota)
}

// noUsage forgets usage.
type noUsage struct{ nodegate.UsageWriter }

func (noUsage) AddUsage(context.Context, *nodegate.UsageBatch) error { return nil }

// budgeted is a gateway over a real store, within a budget. The request's path is the
// command, and X-Account the account.
func budgeted(t *testing.T, cfg budget.Config) (*httptest.Server, *budget.Budget) {
	t.Helper()
	srv, g := served(t, cfg)
	return srv, g.cfg.Memory
}

// served is budgeted with the gateway itself.
func served(t *testing.T, cfg budget.Config) (*httptest.Server, *Gateway) {
	t.Helper()
	ctx, log := context.Background(), slog.New(slog.DiscardHandler)
	store, err := blockstore.Open(ctx, blockstore.Config{Dir: t.TempDir(), ScrubRate: -1, Links: unixfs.Links, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	recorder := usage.New(usage.Config{Store: noUsage{}, Every: time.Hour})
	g := New(Config{
		Engine: engine{store}, Memory: budget.New(cfg), Usage: recorder, Log: log, Timeout: time.Minute,
		Moved: func(string, time.Time) (int64, error) { return 0, nil },
	})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		g.ServeGranted(w, req, strings.TrimPrefix(req.URL.Path, "/"), grantOf(req.Header.Get("X-Account")))
	}))
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
		if err := recorder.Close(ctx); err != nil {
			t.Error(err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return srv, g
}

// grantOf lets an account with a card in.
func grantOf(account string) *nodegate.Grant {
	policy := new(atomic.Pointer[nodegate.Policy])
	policy.Store(&nodegate.Policy{Card: &nodegate.Card{ExpYear: 2999, ExpMonth: 12}})
	grant, _ := nodegate.NewGrant(account, "key", policy)
	return grant
}

// upload begins a command with one file of which what is written to the pipe is the
// content; closing it ends the body.
func upload(t *testing.T, srv *httptest.Server, account, command string) (*io.PipeWriter, <-chan string) {
	t.Helper()
	r, w := io.Pipe()
	head, tail := new(bytes.Buffer), new(bytes.Buffer)
	form := multipart.NewWriter(head)
	_, _ = form.CreateFormFile("file", "f")
	fmt.Fprintf(tail, "\r\n--%s--\r\n", form.Boundary())
	req, err := http.NewRequest(http.MethodPost, srv.URL+"/"+command, io.MultiReader(head, r, tail))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", form.FormDataContentType())
	req.Header.Set("X-Account", account)
	done := make(chan string, 1)
	go func() {
		defer r.Close() //nolint:errcheck // ends the writer
		res, err := srv.Client().Do(req)
		if err != nil {
			done <- err.Error()
			return
		}
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		done <- fmt.Sprint(res.StatusCode, " ", res.Header.Get("Retry-After"), " ", string(text))
	}()
	return w, done
}

// whole uploads a file and returns the answer.
func whole(t *testing.T, srv *httptest.Server, account, command string, size int) string {
	t.Helper()
	w, done := upload(t, srv, account, command)
	_, _ = w.Write(bytes.Repeat([]byte("content "), size/8))
	_ = w.Close()
	return <-done
}

func settled(t *testing.T, b *budget.Budget, reserved int64) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); b.Usage().Reserved != reserved; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%+v, want %d reserved", b.Usage(), reserved)
		}
	}
}

func TestMemoryOfUploads(t *testing.T) {
	for name, c := range map[string]struct {
		command string
		size    int
		atLeast int64
		answer  string
	}{
		"a small file":     {"add", 1000, 300 << 10, "200"},
		"a long file":      {"add", 8 << 20, 2 << 20, "200"},
		"large chunks":     {"add?chunker=size-1048576", 8 << 20, 3 << 20, "200"},
		"a block":          {"block/put", 1 << 20, 2 << 20, "200"},
		"too large":        {"block/put", 3 << 20, 4 << 20, "500"},
		"not a CAR":        {"dag/import", 1 << 20, 192 << 10, "500"},
		"no such option":   {"add?cid-version=7", 1000, 0, "500"},
		"a value":          {"dag/put?input-codec=raw&store-codec=raw", 1 << 20, 3 << 20, "200"},
		"not what it says": {"dag/put?input-codec=dag-json", 1 << 20, 128 << 10, "500"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv, b := budgeted(t, budget.Config{Process: 64 << 20, Account: 32 << 20})
			if got := whole(t, srv, "a", c.command, c.size); !strings.HasPrefix(got, c.answer) {
				t.Errorf("answered %.300s", got)
			}
			settled(t, b, 0)
			if u := b.Usage(); u.Highest < c.atLeast || c.atLeast == 0 && u.Highest != 0 {
				t.Errorf("reserved %d at most, want at least %d", u.Highest, c.atLeast)
			}
		})
	}
}

// TestUploadsShareMemory lets stalled uploads of one account fill its share: its next
// one is refused with 429, another account's goes through, and all is given back when
// the clients go.
func TestUploadsShareMemory(t *testing.T) {
	srv, b := budgeted(t, budget.Config{Process: 8 << 20, Account: 1 << 20})
	var stalled []*io.PipeWriter
	for range 3 { // each holds its body's buffer and one leaf
		w, _ := upload(t, srv, "a", "add")
		_, _ = w.Write([]byte("the begin"))
		stalled = append(stalled, w)
	}
	for end := time.Now().Add(20 * time.Second); b.Usage().Reserved < 900<<10; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%+v", b.Usage())
		}
	}
	if got := whole(t, srv, "a", "add", 1000); !strings.HasPrefix(got, "429 01 ") || !strings.Contains(got, "memory") {
		t.Errorf("an upload over the share: %s", got)
	}
	if got := whole(t, srv, "other", "add", 4<<20); !strings.HasPrefix(got, "200") {
		t.Errorf("another account's: %s", got)
	}
	for _, w := range stalled {
		_ = w.CloseWithError(io.ErrUnexpectedEOF)
	}
	settled(t, b, 0)
	if got := whole(t, srv, "a", "add", 1000); !strings.HasPrefix(got, "200") {
		t.Errorf("afterwards: %s", got)
	}
}

// TestNarrowUpload goes on with two leaves when there is no memory for more, and to the
// same CID.
func TestNarrowUpload(t *testing.T) {
	roomy, _ := budgeted(t, budget.Config{Process: 64 << 20})
	tight, b := budgeted(t, budget.Config{Process: 64<<10 + 2*(256<<10+1000) + 100<<10})
	want, got := whole(t, roomy, "a", "add", 8<<20), whole(t, tight, "a", "add", 8<<20)
	if got != want || !strings.HasPrefix(got, "200") {
		t.Errorf("%s, want %s", got, want)
	}
	settled(t, b, 0)
	if u := b.Usage(); u.Refused != (budget.Refusals{}) {
		t.Errorf("counted as refused: %+v", u)
	}
}

// TestMemoryOfDownloads counts what is read ahead and gives it back, also when the
// client leaves in the middle; over the limit a download is refused before it begins.
func TestMemoryOfDownloads(t *testing.T) {
	srv, b := budgeted(t, budget.Config{Process: 12 << 20})
	text := whole(t, srv, "a", "add", 8<<20)
	_, rest, _ := strings.Cut(text, `"Hash":"`)
	cid, _, _ := strings.Cut(rest, `"`)
	highest := b.Usage().Highest
	get := func() (*http.Response, error) {
		return srv.Client().Post(srv.URL+"/cat?arg="+cid, "", nil)
	}
	res, err := get()
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(err, res)
	}
	if n, err := io.Copy(io.Discard, res.Body); err != nil || n != 8<<20 {
		t.Errorf("%d bytes, %v", n, err)
	}
	_ = res.Body.Close()
	settled(t, b, 0)
	if u := b.Usage(); u.Highest <= highest || u.Highest < 4<<20 {
		t.Errorf("reserved %d at most", u.Highest)
	}
	res, err = get()
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.ReadFull(res.Body, make([]byte, 1000))
	_ = res.Body.Close() // in the middle
	settled(t, b, 0)
	all := b.Hold("")
	if err := all.Grow(12<<20 - 100<<10); err != nil {
		t.Fatal(err)
	}
	defer all.Release()
	if res, err = get(); err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
		t.Errorf("over the limit: %v", res)
	}
}
