package pinning_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/fairshare"
	"github.com/nodegate/nodegate/internal/ipfs/pinning"
	"github.com/nodegate/nodegate/internal/store/sqlstore"
	"github.com/nodegate/nodegate/test/full"
	"github.com/nodegate/nodegate/test/sqlitetest"
)

// engine has pins that a test can hold up; the real engines are in test/storage.
type engine struct {
	mu    sync.Mutex
	pins  map[string]nodegate.Pin
	pin   func(ctx context.Context, cid string) error // before a pin is made; nil is nothing
	unpin func()                                      // before a pin is taken off
	lists atomic.Int64                                // of all pins
	wait  time.Duration                               // of an answer for its result; 0 is as long as a test takes
}

func (e *engine) PinOf(_ context.Context, accountID, cid string) (nodegate.Pin, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	p, ok := e.pins[accountID+cid]
	if !ok {
		return p, &nodegate.Error{Code: nodegate.NotFound, Msg: "not pinned"}
	}
	return p, nil
}

func (e *engine) Pins(_ context.Context, accountID string, each func(nodegate.Pin) bool) error {
	e.lists.Add(1)
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, p := range e.pins {
		if p.AccountID == accountID && !each(p) {
			break
		}
	}
	return nil
}

func (e *engine) Pin(ctx context.Context, accountID, cid, name string) error {
	if e.pin != nil {
		if err := e.pin(ctx, cid); err != nil {
			return err
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.pins[accountID+cid] = nodegate.Pin{AccountID: accountID, CID: cid, Name: name, Recursive: true, Created: time.Now()}
	return nil
}

func (e *engine) Unpin(_ context.Context, accountID, cid string) error {
	if e.unpin != nil {
		e.unpin()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.pins, accountID+cid)
	return nil
}

func (e *engine) has(cid string) bool {
	_, err := e.PinOf(context.Background(), "a", cid)
	return err == nil
}

// open returns a service with its own store, and what stops it.
func open(t *testing.T, e *engine, path string) (*pinning.Service, func()) {
	t.Helper()
	return openOver(t, e, path, func(s nodegate.PinRequestStore) nodegate.PinRequestStore { return s })
}

func openOver(t *testing.T, e *engine, path string, over func(nodegate.PinRequestStore) nodegate.PinRequestStore) (*pinning.Service, func()) {
	t.Helper()
	store, err := sqlstore.OpenSQLite(t.Context(), path, []byte("key"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s := pinning.New(pinning.Config{
		Store: over(store), PinOf: e.PinOf, Pins: e.Pins, Pin: e.Pin, Unpin: e.Unpin, Log: slog.New(slog.DiscardHandler),
		Lease: 300 * time.Millisecond, Wait: cmp.Or(e.wait, time.Minute), Retry: 50 * time.Millisecond,
	})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { s.Run(ctx) })
	stop := sync.OnceFunc(func() {
		cancel()
		running.Wait()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return s, stop
}

func add(t *testing.T, s *pinning.Service, cid string) *nodegate.PinRequest {
	t.Helper()
	r, err := s.Add(t.Context(), "a", pinning.Ask{CID: cid})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

func status(t *testing.T, s *pinning.Service, id string) nodegate.PinRequestStatus {
	t.Helper()
	r, err := s.Get(t.Context(), "a", id)
	if err != nil {
		t.Fatal(err)
	}
	return r.Status
}

// TestDeletedWhilePinning: a request that is deleted in the last moment leaves no pin.
func TestDeletedWhilePinning(t *testing.T) {
	reached, goOn := make(chan struct{}), make(chan struct{})
	e := &engine{pins: map[string]nodegate.Pin{}, wait: time.Millisecond}
	e.pin = func(context.Context, string) error { // the context's end comes too late
		reached <- struct{}{}
		<-goOn
		return nil
	}
	s, stop := open(t, e, sqlitetest.New(t))
	r := add(t, s, "c")
	<-reached
	if err := s.Remove(t.Context(), "a", r.ID); err != nil {
		t.Fatal(err)
	}
	close(goOn)
	stop()
	if e.has("c") {
		t.Error("the pin of a deleted request stays")
	}
}

// TestAskedWhileRemoved: a request that comes while another one for the same CID is removed
// keeps its pin.
func TestAskedWhileRemoved(t *testing.T) {
	e := &engine{pins: map[string]nodegate.Pin{}}
	s, _ := open(t, e, sqlitetest.New(t))
	first := add(t, s, "c")
	var second *nodegate.PinRequest
	e.unpin = func() {
		e.unpin = nil
		second = add(t, s, "c")
	}
	if err := s.Remove(t.Context(), "a", first.ID); err != nil {
		t.Fatal(err)
	}
	until(t, "the second request has no pin", func() bool { return e.has("c") })
	until(t, "the second request isn't pinned", func() bool { return status(t, s, second.ID) == nodegate.PinPinned })
}

// TestTriedAgain: what says nothing about the request is tried again, anything else fails
// it, and an answer never shows the cause of an internal error.
func TestTriedAgain(t *testing.T) {
	full.Slow(t)
	var reached atomic.Bool
	e := &engine{pins: map[string]nodegate.Pin{}}
	e.pin = func(_ context.Context, cid string) error {
		switch {
		case cid == "busy" && !reached.Load():
			return &nodegate.Error{Code: nodegate.Busy, Msg: "no node can be reached"}
		case cid == "broken":
			return errors.New("a secret cause")
		case cid == "panics":
			panic("a secret cause")
		}
		return nil
	}
	s, _ := open(t, e, sqlitetest.New(t))
	r := add(t, s, "busy")
	until(t, "a request to a busy engine isn't queued with its reason", func() bool {
		now, err := s.Get(t.Context(), "a", r.ID)
		if err != nil {
			t.Fatal(err)
		}
		return now.Status == nodegate.PinQueued && now.Details == "no node can be reached"
	})
	reached.Store(true)
	until(t, "the request isn't tried again", func() bool { return status(t, s, r.ID) == nodegate.PinPinned })
	for _, cid := range []string{"broken", "panics"} {
		if r := add(t, s, cid); r.Status != nodegate.PinFailed || r.Details != "internal error: try again, and tell the operator if it happens again" {
			t.Errorf("%s: %+v", cid, r)
		}
	}
}

// TestEndedWithItsPin: requests whose pin was taken off elsewhere don't keep a later pin.
func TestEndedWithItsPin(t *testing.T) {
	e := &engine{pins: map[string]nodegate.Pin{}}
	s, _ := open(t, e, sqlitetest.New(t))
	old := add(t, s, "c")
	if err := e.Unpin(t.Context(), "a", "c"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), "a", old.ID); !errors.Is(err, nodegate.NotFound) {
		t.Errorf("a request without its pin: %v", err)
	}
	time.Sleep(350 * time.Millisecond) // it is no new request any more
	next := add(t, s, "c")
	if err := s.Remove(t.Context(), "a", next.ID); err != nil {
		t.Fatal(err)
	}
	if e.has("c") {
		t.Error("an ended request keeps the pin")
	}
}

// TestStopped: a request in progress goes on at the next start.
func TestStopped(t *testing.T) {
	e, path := &engine{pins: map[string]nodegate.Pin{}, wait: time.Millisecond}, sqlitetest.New(t)
	e.pin = func(ctx context.Context, _ string) error {
		<-ctx.Done()
		return ctx.Err()
	}
	s, stop := open(t, e, path)
	r := add(t, s, "c")
	if r.Status != nodegate.PinPinning {
		t.Errorf("it is %s", r.Status)
	}
	stop()
	e.pin = nil
	s, _ = open(t, e, path)
	until(t, "the request doesn't go on", func() bool { return status(t, s, r.ID) == nodegate.PinPinned })
}

// counting is a store that counts the requests it hands out.
type counting struct {
	nodegate.PinRequestStore
	rows atomic.Int64
}

func (c *counting) PinRequests(ctx context.Context, q nodegate.PinRequestQuery, each func(*nodegate.PinRequest) error) error {
	return c.PinRequestStore.PinRequests(ctx, q, func(r *nodegate.PinRequest) error {
		c.rows.Add(1)
		return each(r)
	})
}

// TestAddReadsFew: what one more request costs doesn't grow with those that there are for its
// CID. An account may have 50,000.
func TestAddReadsFew(t *testing.T) {
	e := &engine{pins: map[string]nodegate.Pin{}}
	var store counting
	s, _ := openOver(t, e, sqlitetest.New(t), func(s nodegate.PinRequestStore) nodegate.PinRequestStore {
		store.PinRequestStore = s
		return &store
	})
	const requests = 40
	for range requests {
		add(t, s, "c")
	}
	if n := store.rows.Load(); n > requests {
		t.Errorf("%d requests for one CID took reading %d", requests, n)
	}
}

// TestListTakesTurns: what a long list costs counts for the account.
func TestListTakesTurns(t *testing.T) {
	e := &engine{pins: map[string]nodegate.Pin{}}
	s, _ := open(t, e, sqlitetest.New(t))
	for _, cid := range []string{"c", "d", "e"} {
		add(t, s, cid)
	}
	ctx := fairshare.With(t.Context(), fairshare.New(1, 1), "a")
	page, err := s.List(ctx, pinning.Query{AccountID: "a", Statuses: []nodegate.PinRequestStatus{nodegate.PinPinned}, Limit: 10, Grow: func(int64) error { return nil }})
	if err != nil || page.Count != 3 {
		t.Fatalf("%+v, %v", page, err)
	}
	if fairshare.Spent(ctx) <= 0 {
		t.Error("the list cost nothing")
	}
}

// TestListMemory: a list reserves memory for what it keeps, and no more for what it drops.
func TestListMemory(t *testing.T) {
	e := &engine{pins: map[string]nodegate.Pin{}}
	s, _ := open(t, e, sqlitetest.New(t))
	large := map[string]string{"m": strings.Repeat("x", 10_000)}
	for i := range 30 {
		if _, err := s.Add(t.Context(), "a", pinning.Ask{CID: fmt.Sprint("c", i), Meta: large}); err != nil {
			t.Fatal(err)
		}
	}
	q := pinning.Query{AccountID: "a", Statuses: []nodegate.PinRequestStatus{nodegate.PinPinned}, Limit: 2}
	var held int64
	q.Grow = func(n int64) error { held += n; return nil }
	if page, err := s.List(t.Context(), q); err != nil || page.Count != 30 || len(page.Results) != 2 {
		t.Fatalf("%d, %v", page.Count, err)
	}
	if held < 2*2*10_000 || held > 2*4*12_000+30*200 {
		t.Errorf("a list of two requests of 10 KB reserves %d bytes", held)
	}
	full := errors.New("full")
	q.Grow = func(n int64) error {
		if n > 10_000 {
			return full
		}
		return nil
	}
	if _, err := s.List(t.Context(), q); !errors.Is(err, full) {
		t.Errorf("without memory: %v", err)
	}
}

// fullStore takes no more requests, and notes how requests are looked at.
type fullStore struct {
	nodegate.PinRequestStore
	full         bool
	scans, metas atomic.Int64 // looks at all requests of an account, and the metadata they read
}

func (f *fullStore) AddPinRequest(ctx context.Context, r *nodegate.PinRequest, now time.Time, b nodegate.PinRequestBounds) error {
	if f.full {
		return &nodegate.Error{Code: nodegate.QuotaReached, Msg: "too many pin requests"}
	}
	return f.PinRequestStore.AddPinRequest(ctx, r, now, b)
}

func (f *fullStore) PinRequests(ctx context.Context, q nodegate.PinRequestQuery, each func(*nodegate.PinRequest) error) error {
	if q.CIDs == nil {
		f.scans.Add(1)
	}
	return f.PinRequestStore.PinRequests(ctx, q, func(r *nodegate.PinRequest) error {
		if len(r.Meta) > 0 {
			f.metas.Add(1)
		}
		return each(r)
	})
}

// TestFullAccount: an account that has all requests it may makes the server look for those
// whose pins are gone now and then, and not with each request that it sends.
func TestFullAccount(t *testing.T) {
	e := &engine{pins: map[string]nodegate.Pin{}}
	store := &fullStore{}
	s, _ := openOver(t, e, sqlitetest.New(t), func(s nodegate.PinRequestStore) nodegate.PinRequestStore {
		store.PinRequestStore = s
		return store
	})
	var ids []string
	for i := range 10 {
		r, err := s.Add(t.Context(), "a", pinning.Ask{CID: fmt.Sprint("c", i), Meta: map[string]string{"m": "x"}})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.ID)
	}
	_ = e.Unpin(t.Context(), "a", "c3")
	store.full = true
	store.metas.Store(0)
	time.Sleep(400 * time.Millisecond) // the newest requests are left alone
	for range 5 {
		if _, err := s.Add(t.Context(), "a", pinning.Ask{CID: "more"}); !errors.Is(err, nodegate.QuotaReached) {
			t.Errorf("the error is %v", err)
		}
	}
	if scans, metas, all := store.scans.Load(), store.metas.Load(), e.lists.Load(); scans != 1 || metas != 0 || all != 0 {
		t.Errorf("five requests looked %d times at all requests, read metadata %d times and listed all pins %d times", scans, metas, all)
	}
	for i, id := range ids {
		if _, err := store.PinRequest(t.Context(), "a", id); errors.Is(err, nodegate.NotFound) != (i == 3) {
			t.Errorf("request %d: %v", i, err)
		}
	}
}
