package kubo_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/ipfs/kubo"
	"github.com/nodegate/nodegate/test/full"
)

// While no node answers everything is Busy, and Ready says so; then all is well again.
func TestAllAway(t *testing.T) {
	full.Slow(t)
	t.Parallel()
	node := newRogue(t)
	e := open(t, hurried, node.endpoint)
	id := mustStore(t, e, "a", "all away")
	down := says(502, "text/plain", "down")
	for _, command := range []string{"version", "block/get", "dag/import", "pin/add"} {
		node.on(command, down)
	}
	eventually(t, "it is not ready", func() error {
		if e.Ready() == nil {
			return errors.New("ready")
		}
		return nil
	})
	if _, err := e.Get(t.Context(), id); !errors.Is(err, nodegate.Busy) || !strings.Contains(err.Error(), "no storage node answers") {
		t.Errorf("get: %v", err)
	}
	if _, err := store(t.Context(), e, "a", "not stored"); !errors.Is(err, nodegate.Busy) {
		t.Errorf("store: %v", err)
	}
	before := node.times("block/get")
	_, _ = e.Get(t.Context(), id)
	if node.times("block/get") != before {
		t.Error("a node that is out of use is asked")
	}
	if s := e.Stats()[0]; s.Up || s.Failures == 0 {
		t.Errorf("its figures: %+v", s)
	}
	for _, command := range []string{"version", "block/get", "dag/import", "pin/add"} {
		node.on(command, nil)
	}
	eventually(t, "it is ready", e.Ready)
	if _, err := e.Get(t.Context(), id); err != nil {
		t.Errorf("get: %v", err)
	}
	mustStore(t, e, "a", "stored again")
}

// A block that the nodes that answer don't have may be on the one that does not.
func TestPartlyAway(t *testing.T) {
	t.Parallel()
	bad := newRogue(t)
	bad.on("block/get", says(502, "text/plain", "down"))
	e := open(t, hurried, shared(t), bad.endpoint)
	if _, err := e.Get(t.Context(), rawCID("nobody has it")); !errors.Is(err, nodegate.Busy) {
		t.Errorf("%v, want Busy", err)
	}
	whole := open(t, hurried, shared(t), shared(t))
	if _, err := whole.Get(t.Context(), rawCID("nobody has it")); !errors.Is(err, nodegate.NotFound) {
		t.Errorf("%v, want NotFound", err)
	}
}

// A node that refuses our credentials is not asked without a pause.
func TestDenied(t *testing.T) {
	full.Slow(t)
	t.Parallel()
	node := newRogue(t)
	for _, command := range []string{"block/get", "dag/import", "pin/add"} {
		node.on(command, says(403, "text/plain", "Kubo RPC Access Denied"))
	}
	node.endpoint.Headers = map[string]string{"Authorization": "Bearer swordfish"}
	e := open(t, hurried, node.endpoint)
	end := time.Now().Add(4 * hurry)
	for time.Now().Before(end) {
		_, err := e.Get(t.Context(), rawCID("x"))
		if !errors.Is(err, nodegate.Busy) || strings.Contains(err.Error(), "swordfish") {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond)
	}
	if n := node.times("block/get"); n > 20 {
		t.Errorf("it was asked %d times", n)
	}
}

// What no node has is fetched from the network only where that is allowed, and not
// forever.
func TestFetch(t *testing.T) {
	full.Slow(t)
	t.Parallel()
	const content = "somewhere in the network"
	node := newRogue(t)
	node.on("block/get", func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.FormValue("offline") == "true":
			says(500, jsonKind, failure("block was not found locally (offline): ipld: could not find it"))(w, r)
		case r.FormValue("arg") == rawCID(content).String():
			_, _ = io.WriteString(w, content)
		default:
			hangs(w, r)
		}
	})
	with := open(t, func(c *kubo.Config) { hurried(c); c.Fetch, c.Timeout = true, hurry }, node.endpoint)
	if data, err := with.Get(t.Context(), rawCID(content)); err != nil || string(data) != content {
		t.Errorf("fetched %q, %v", data, err)
	}
	begun := time.Now()
	if _, err := with.Get(t.Context(), rawCID("nowhere")); !errors.Is(err, nodegate.Timeout) || !strings.Contains(err.Error(), "context deadline exceeded") {
		t.Errorf("%v, want Timeout", err)
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	if has, err := with.Has(t.Context(), rawCID(content)); has || err != nil {
		t.Errorf("what is elsewhere is here: %v, %v", has, err)
	}
	without := open(t, hurried, node.endpoint)
	if _, err := without.Get(t.Context(), rawCID(content)); !errors.Is(err, nodegate.NotFound) {
		t.Errorf("%v, want NotFound", err)
	}
}

// A client that leaves does not end a node's pin/add: Kubo would drop a good pin. The
// pin is not made for it either.
func TestClientLeaves(t *testing.T) {
	t.Parallel()
	node := newRogue(t)
	entered, left := make(chan struct{}), make(chan error, 1)
	node.on("pin/add", func(w http.ResponseWriter, r *http.Request) {
		close(entered)
		select {
		case <-r.Context().Done():
			left <- errors.New("the request was ended")
		case <-time.After(hurry / 2):
			_, _ = fmt.Fprintf(w, `{"Pins":[%q]}`, r.FormValue("arg"))
			left <- nil
		}
	})
	e := open(t, hurried, node.endpoint)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-entered
		cancel()
	}()
	if _, err := store(ctx, e, "a", "left alone"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want Canceled", err)
	}
	if err := <-left; err != nil {
		t.Error(err)
	}
	eventually(t, "the claim is given up", func() error {
		if n := e.Stored("a"); n != 0 {
			return fmt.Errorf("%d bytes", n)
		}
		return nil
	})
	if list := pinsOf(t, e, "a"); len(list) != 0 {
		t.Errorf("pins: %v", list)
	}
}

// What somebody holds already is not pinned again.
func TestHeldIsNotPinnedAgain(t *testing.T) {
	t.Parallel()
	node := newRogue(t)
	e := open(t, nil, node.endpoint)
	for _, account := range []string{"a", "b", "a"} {
		mustStore(t, e, account, "held by many")
	}
	if n := node.times("pin/add"); n != 1 {
		t.Errorf("%d pin/adds, want one", n)
	}
}

// A crash between the claim and the pins leaves nothing after a collection.
func TestCrashBetween(t *testing.T) {
	t.Parallel()
	c, pins, node := &clock{}, pinStore(t), shared(t)
	e := open(t, func(k *kubo.Config) { k.SetClock(c.Now); k.Pins = pins }, node)
	id := mustStore(t, e, "other", "claimed and left")
	mustUnpin(t, e, "other", id.String())
	change := &nodegate.PinChange{AccountID: "a", Claim: "crashed", At: c.Now(), Ops: []nodegate.PinOp{
		{Kind: nodegate.PinAdd, Pin: nodegate.Pin{CID: id.String(), Recursive: true, Size: 16}, Content: id.String()},
	}}
	if _, err := pins.ClaimPins(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	if n := e.Stored("a"); n != 16 {
		t.Errorf("the claim counts %d bytes", n)
	}
	c.Advance(59 * time.Minute)
	mustCollect(t, e)
	if !pinnedOn(t, node, id) || e.Stored("a") != 16 {
		t.Error("a claim that may still be used is gone")
	}
	c.Advance(2 * time.Minute)
	mustCollect(t, e)
	if pinnedOn(t, node, id) || e.Stored("a") != 0 {
		t.Error("something is left")
	}
}

// A collection unpins on all nodes; while one is away it waits.
func TestCollectWaits(t *testing.T) {
	t.Parallel()
	c, node, bad := &clock{}, shared(t), newRogue(t)
	e := open(t, func(k *kubo.Config) { hurried(k); k.SetClock(c.Now) }, node, bad.endpoint)
	id := mustStore(t, e, "a", "waits for all")
	mustUnpin(t, e, "a", id.String())
	c.Advance(2 * time.Hour)
	bad.on("pin/rm", says(500, jsonKind, failure("repo is locked")))
	mustCollect(t, e)
	if e.Stored("a") != 0 {
		t.Error("the account pays for what is past its time")
	}
	again := mustStore(t, e, "b", "waits for all") // it can be had again at any time
	mustUnpin(t, e, "b", again.String())
	c.Advance(2 * time.Hour)
	before := bad.times("pin/rm")
	bad.on("pin/rm", nil)
	mustCollect(t, e)
	if pinnedOn(t, node, id) || bad.times("pin/rm") == before {
		t.Error("it was not tried again")
	}
}

// Copies are on as many nodes as are asked for, or the upload fails.
func TestCopies(t *testing.T) {
	full.Slow(t)
	t.Parallel()
	first, second := start(t), start(t)
	e := open(t, func(c *kubo.Config) { hurried(c); c.Copies = 2 }, first.endpoint, second.endpoint)
	id := mustStore(t, e, "a", "on both")
	if err := storeLarge(t, e, "on both"); err != nil {
		t.Fatal(err)
	}
	if !pinnedOn(t, first.endpoint, id) || !pinnedOn(t, second.endpoint, id) {
		t.Error("a copy is missing")
	}
	only := open(t, hurried, second.endpoint)
	carried := mustStore(t, only, "a", "on the second")
	b := e.Begin("b", 0)
	b.Pin(nodegate.Pin{CID: carried.String(), Recursive: true, Size: 13})
	if err := b.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !pinnedOn(t, first.endpoint, carried) {
		t.Error("content that one node has is not carried to the other")
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"on both", "on the second"} {
		if data, err := e.Get(t.Context(), rawCID(what)); err != nil || string(data) != what {
			t.Errorf("read after one was stopped: %q, %v", data, err)
		}
	}
	if _, err := store(t.Context(), e, "a", "on one only"); !errors.Is(err, nodegate.Busy) {
		t.Errorf("a write with one of two: %v, want Busy", err)
	}
}

// Clients notice nothing of a node that is stopped and started again while they read
// and write small files.
func TestFailover(t *testing.T) {
	full.Slow(t)
	t.Parallel()
	stays := start(t)
	dir := t.TempDir()
	goes, err := launch(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	both := open(t, func(c *kubo.Config) { hurried(c); c.Copies = 2 }, stays.endpoint, goes.endpoint)
	old := mustStore(t, both, "old", "there before")
	patient := func(c *kubo.Config) { c.Hurry(20*time.Second, 64<<10) } // on a busy machine, the one that stays may be slow
	e := open(t, patient, goes.endpoint, stays.endpoint)
	stop := make(chan struct{})
	var wait sync.WaitGroup
	for i := range 4 {
		wait.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := e.Get(t.Context(), old); err != nil {
					t.Errorf("read: %v", err)
				}
				if _, err := store(t.Context(), e, fmt.Sprint("writer", i), fmt.Sprint("file ", i, n)); err != nil {
					t.Errorf("write: %v", err)
				}
			}
		})
	}
	time.Sleep(300 * time.Millisecond)
	where, _ := url.Parse(goes.endpoint.URL)
	_ = goes.Server.Close(cancelled()) // cut off
	time.Sleep(700 * time.Millisecond)
	again, err := launch(dir, where.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	time.Sleep(700 * time.Millisecond)
	close(stop)
	wait.Wait()
}

// cancelled is a context that has ended.
func cancelled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func mustUnpin(t *testing.T, e *kubo.Engine, account, cid string) {
	t.Helper()
	b := e.Begin(account, 0)
	b.Unpin(cid)
	if err := b.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func mustCollect(t *testing.T, e *kubo.Engine) {
	t.Helper()
	if _, err := e.Collect(t.Context(), false); err != nil {
		t.Fatal(err)
	}
}
