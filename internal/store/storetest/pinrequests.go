package storetest

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
)

// manyRequests is more than the tests have.
func manyRequests() nodegate.PinRequestBounds {
	return nodegate.PinRequestBounds{Requests: 1000, Bytes: 1 << 20, Waiting: 1000}
}

func newRequest(account, id, cid string) *nodegate.PinRequest {
	return &nodegate.PinRequest{AccountID: account, ID: id, CID: cid, Status: nodegate.PinQueued}
}

func ask(t *testing.T, s Store, r *nodegate.PinRequest) *nodegate.PinRequest {
	t.Helper()
	if err := s.AddPinRequest(t.Context(), r, noon(), manyRequests()); err != nil {
		t.Fatal(err)
	}
	return r
}

// requestIDs are those of a query, sorted.
func requestIDs(t *testing.T, s Store, q nodegate.PinRequestQuery) (ids []string) {
	t.Helper()
	err := s.PinRequests(t.Context(), q, func(r *nodegate.PinRequest) error {
		ids = append(ids, r.ID)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(ids)
	return ids
}

func pinRequestsRoundTrip(t *testing.T, s Store) {
	at := noon().UTC()
	r := &nodegate.PinRequest{
		AccountID: "a", ID: "one", CID: "c1", Name: "näme", Origins: []string{"/ip4/192.0.2.1/tcp/4001"}, Meta: map[string]string{"app": "x\x00", "": "y"},
		Status: nodegate.PinPinned, Details: "why", Replaces: "zero", Created: at, Leased: at.Add(time.Second),
	}
	ask(t, s, r)
	same(t, "a request", must[*nodegate.PinRequest](t)(s.PinRequest(t.Context(), "a", "one")), r)
	err := s.PinRequests(t.Context(), nodegate.PinRequestQuery{AccountID: "a", Brief: true}, func(got *nodegate.PinRequest) error {
		same(t, "a request, briefly", got, &nodegate.PinRequest{AccountID: "a", ID: "one", CID: "c1", Status: nodegate.PinPinned})
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	again := *r
	again.Name = "other"
	ask(t, s, &again)
	same(t, "a request that was there", must[*nodegate.PinRequest](t)(s.PinRequest(t.Context(), "a", "one")).Name, "näme")
	for _, id := range []string{"two", "one\x00", ""} {
		_, err := s.PinRequest(t.Context(), "a", id)
		is(t, id, err, nodegate.NotFound)
	}
	_, err = s.PinRequest(t.Context(), "b", "one")
	is(t, "of another account", err, nodegate.NotFound)
	is(t, "deleting another's", s.DeletePinRequest(t.Context(), "b", "one"), nodegate.NotFound)
	is(t, "a name with a zero byte", s.AddPinRequest(t.Context(), &nodegate.PinRequest{AccountID: "a", ID: "x", Name: "\x00"}, at, manyRequests()), nodegate.InvalidInput)

	ask(t, s, newRequest("a", "two", "c2")).Created = time.Time{}
	ask(t, s, newRequest("b", "three", "c1"))
	for _, c := range []struct {
		q    nodegate.PinRequestQuery
		want []string
	}{
		{nodegate.PinRequestQuery{}, []string{"one", "two"}},
		{nodegate.PinRequestQuery{CIDs: []string{"c1", "c3"}}, []string{"one"}},
		{nodegate.PinRequestQuery{CIDs: []string{"c1", "c2"}}, []string{"one", "two"}},
		{nodegate.PinRequestQuery{Before: at.Add(-time.Millisecond)}, nil},
		{nodegate.PinRequestQuery{After: at, Before: at}, []string{"one"}},
		{nodegate.PinRequestQuery{Statuses: []nodegate.PinRequestStatus{nodegate.PinFailed, nodegate.PinPinning}}, nil},
		{nodegate.PinRequestQuery{Statuses: []nodegate.PinRequestStatus{nodegate.PinFailed, nodegate.PinPinned}}, []string{"one"}},
		{nodegate.PinRequestQuery{CIDs: []string{"c2"}, Statuses: []nodegate.PinRequestStatus{nodegate.PinQueued, nodegate.PinPinned}, Limit: 1}, []string{"two"}},
	} {
		c.q.AccountID = "a"
		same(t, fmt.Sprint(c.q), requestIDs(t, s, c.q), c.want)
	}
	if err := s.DeletePinRequest(t.Context(), "a", "one"); err != nil {
		t.Fatal(err)
	}
	is(t, "deleting twice", s.DeletePinRequest(t.Context(), "a", "one"), nodegate.NotFound)
	same(t, "the others", requestIDs(t, s, nodegate.PinRequestQuery{AccountID: "a"}), []string{"two"})
}

func pinRequestsBounded(t *testing.T, s Store) {
	add := func(r *nodegate.PinRequest, b nodegate.PinRequestBounds) error {
		return s.AddPinRequest(t.Context(), r, noon(), b)
	}
	ask(t, s, newRequest("a", "one", "c"))
	ask(t, s, newRequest("a", "two", "c"))
	is(t, "a third", add(newRequest("a", "three", "c"), nodegate.PinRequestBounds{Requests: 2, Bytes: 1 << 20, Waiting: 9}), nodegate.QuotaReached)
	is(t, "too many bytes", add(newRequest("a", "three", "c"), nodegate.PinRequestBounds{Requests: 9, Bytes: 1000, Waiting: 9}), nodegate.QuotaReached)
	is(t, "too many that wait", add(newRequest("a", "three", "c"), nodegate.PinRequestBounds{Requests: 9, Bytes: 1 << 20, Waiting: 2}), nodegate.AccountBusy)
	done := newRequest("a", "done", "c")
	done.Status = nodegate.PinPinned
	if err := add(done, nodegate.PinRequestBounds{Requests: 3, Bytes: 1 << 20, Waiting: 2}); err != nil {
		t.Errorf("one that doesn't wait: %v", err)
	}
	if err := s.DeletePinRequest(t.Context(), "a", "one"); err != nil {
		t.Fatal(err)
	}
	if err := add(newRequest("a", "three", "c"), nodegate.PinRequestBounds{Requests: 3, Bytes: 1 << 20, Waiting: 2}); err != nil {
		t.Errorf("after a deletion: %v", err)
	}
	if err := add(newRequest("b", "one", "c"), nodegate.PinRequestBounds{Requests: 1, Bytes: 1000, Waiting: 1}); err != nil {
		t.Errorf("another account: %v", err)
	}
}

// pinRequestsInOrder has many requests at one moment: each gets a millisecond.
func pinRequestsInOrder(t *testing.T, s Store) {
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if err := s.AddPinRequest(t.Context(), newRequest("a", fmt.Sprint(i), "c"), noon(), manyRequests()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	seen := map[int64]bool{}
	for i := range 20 {
		seen[must[*nodegate.PinRequest](t)(s.PinRequest(t.Context(), "a", fmt.Sprint(i))).Created.UnixMilli()] = true
	}
	same(t, "different milliseconds", len(seen), 20)
}

// pinRequestsClaimed lets one of many servers work on a request at a time.
func pinRequestsClaimed(t *testing.T, s Store) {
	now := noon().UTC()
	ask(t, s, newRequest("a", "one", "c1"))
	ask(t, s, newRequest("a", "two", "c2"))
	ask(t, s, newRequest("b", "one", "c1"))
	waiting := func(at time.Time) []string {
		return must[[]string](t)(s.WaitingPinAccounts(t.Context(), "", at, 9))
	}
	same(t, "who waits", waiting(now), []string{"a", "b"})
	same(t, "after one", must[[]string](t)(s.WaitingPinAccounts(t.Context(), "a", now, 9)), []string{"b"})
	same(t, "the first one", must[[]string](t)(s.WaitingPinAccounts(t.Context(), "", now, 1)), []string{"a"})
	same(t, "after the last one", len(must[[]string](t)(s.WaitingPinAccounts(t.Context(), "b", now, 9))), 0)

	claimed := map[string]bool{}
	var all sync.WaitGroup
	var mu sync.Mutex
	var none atomic.Int64
	for range 8 {
		all.Go(func() {
			r, err := s.ClaimPinRequest(t.Context(), "a", now, now.Add(time.Minute))
			if err != nil {
				none.Add(1)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if claimed[r.ID] {
				t.Errorf("%s is claimed twice", r.ID)
			}
			claimed[r.ID] = true
		})
	}
	all.Wait()
	if len(claimed) == 0 || len(claimed)+int(none.Load()) != 8 {
		t.Errorf("claimed %v, %d had none", claimed, none.Load())
	}
	for len(claimed) < 2 { // two may have looked at the same one
		claimed[must[*nodegate.PinRequest](t)(s.ClaimPinRequest(t.Context(), "a", now, now.Add(time.Minute))).ID] = true
	}
	_, err := s.ClaimPinRequest(t.Context(), "a", now.Add(59*time.Second), now.Add(time.Hour))
	is(t, "within the lease", err, nodegate.NotFound)
	same(t, "who waits beside claims", waiting(now), []string{"b"})
	same(t, "renewed", must[bool](t)(s.RenewPinRequest(t.Context(), "a", "one", now.Add(time.Hour))), true)
	same(t, "after the lease", must[*nodegate.PinRequest](t)(s.ClaimPinRequest(t.Context(), "a", now.Add(time.Minute), now.Add(time.Hour))).ID, "two")

	end := newRequest("a", "one", "")
	end.Status, end.Details = nodegate.PinPinned, ""
	if err := s.EndPinRequest(t.Context(), end); err != nil {
		t.Fatal(err)
	}
	is(t, "ending twice", s.EndPinRequest(t.Context(), end), nodegate.NotFound)
	same(t, "renewed at the end", must[bool](t)(s.RenewPinRequest(t.Context(), "a", "one", now)), false)
	same(t, "requeued", must[int64](t)(s.RequeuePinRequests(t.Context(), "a", "c1")), int64(1))
	same(t, "requeued again", must[int64](t)(s.RequeuePinRequests(t.Context(), "a", "c1")), int64(0))
	same(t, "claimed again", must[*nodegate.PinRequest](t)(s.ClaimPinRequest(t.Context(), "a", now, now.Add(time.Hour))).Status, nodegate.PinPinning)
}
