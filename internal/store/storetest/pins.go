package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
)

// pinOf is a pin with every field but the time it was taken off.
func pinOf(account, cid string, size int64) nodegate.Pin {
	return nodegate.Pin{AccountID: account, CID: cid, Name: "name of " + cid, Recursive: true, Size: size, Created: noon().UTC()}
}

// adding is the operation that pins.
func adding(p nodegate.Pin) nodegate.PinOp {
	return nodegate.PinOp{Kind: nodegate.PinAdd, Pin: p, Content: contentOf(p.CID)}
}

func contentOf(cid string) string { return "content of " + cid }

// op is an operation that needs only a CID.
func op(kind nodegate.PinOpKind, cid string) nodegate.PinOp {
	return nodegate.PinOp{Kind: kind, Pin: nodegate.Pin{CID: cid}}
}

// change is a set of operations of an account without a quota.
func change(account, claim string, ops ...nodegate.PinOp) *nodegate.PinChange {
	return &nodegate.PinChange{AccountID: account, Claim: claim, Ops: ops, At: noon()}
}

// pin makes a change in both steps.
func pin(s nodegate.PinStore, t *testing.T, c *nodegate.PinChange) error {
	if _, err := s.ClaimPins(t.Context(), c); err != nil {
		return err
	}
	return s.CommitPins(t.Context(), c)
}

func mustPin(t *testing.T, s nodegate.PinStore, c *nodegate.PinChange) {
	t.Helper()
	if err := pin(s, t, c); err != nil {
		t.Fatal(err)
	}
}

// pays checks what an account pays for.
func pays(t *testing.T, s nodegate.PinStore, account string, want int64) {
	t.Helper()
	same(t, "what "+account+" pays for", must[int64](t)(s.PinnedBytes(t.Context(), account)), want)
}

// cidsOf lists the pins of an account; with a time those that were taken off after it.
func cidsOf(t *testing.T, s nodegate.PinStore, account string, unpinned time.Time) []string {
	t.Helper()
	list := []string{}
	for _, p := range must[[]nodegate.Pin](t)(s.PinsOf(t.Context(), nodegate.PinQuery{AccountID: account, Limit: 100, Unpinned: unpinned})) {
		list = append(list, p.CID)
	}
	return list
}

func metaReplaced(t *testing.T, s Store) {
	for _, value := range []string{"first", "second"} {
		if err := s.ReplaceMeta(t.Context(), "name", value); err != nil {
			t.Fatal(err)
		}
		same(t, "the value", must[string](t)(s.SetMeta(t.Context(), "name", "other")), value)
		same(t, "the value read", must[string](t)(s.Meta(t.Context(), "name")), value)
	}
}

func pinsRoundTrip(t *testing.T, s Store) {
	ctx := t.Context()
	p := pinOf("a", "c1", 100)
	mustPin(t, s, change("a", "1", adding(p)))
	same(t, "the pin", must[nodegate.Pin](t)(s.PinOf(ctx, "a", "c1")), p)
	pays(t, s, "a", 100)
	_, err := s.PinOf(ctx, "b", "c1")
	is(t, "somebody else's pin", err, nodegate.NotFound)
	pays(t, s, "b", 0)

	p.Recursive, p.Size, p.Name, p.Created = false, 30, "", noon().Add(time.Hour).UTC()
	mustPin(t, s, change("a", "2", adding(p)))
	p.Name = "name of c1"
	same(t, "the pin that replaced it", must[nodegate.Pin](t)(s.PinOf(ctx, "a", "c1")), p)
	pays(t, s, "a", 30)

	if err := s.CommitPins(ctx, change("a", "3", op(nodegate.PinRemove, "c1"))); err != nil {
		t.Fatal(err)
	}
	_, err = s.PinOf(ctx, "a", "c1")
	is(t, "a pin that was taken off", err, nodegate.NotFound)
	pays(t, s, "a", 30) // until it expires
	p.Unpinned = noon().UTC()
	same(t, "the unpinned ones", must[[]nodegate.Pin](t)(s.PinsOf(ctx, nodegate.PinQuery{AccountID: "a", Limit: 9, Unpinned: noon().Add(-time.Second)})), []nodegate.Pin{p})
	same(t, "those unpinned later", cidsOf(t, s, "a", noon()), []string{})
}

func pinsInPages(t *testing.T, s Store) {
	c := change("a", "1")
	for _, cid := range []string{"Qm2", "bafy1", "Qm1", "b", "QmZ"} {
		c.Ops = append(c.Ops, adding(pinOf("a", cid, 1)))
	}
	mustPin(t, s, c)
	mustPin(t, s, change("b", "2", adding(pinOf("b", "Qm3", 1))))
	var got []string
	for after := ""; ; {
		page := must[[]nodegate.Pin](t)(s.PinsOf(t.Context(), nodegate.PinQuery{AccountID: "a", After: after, Limit: 2}))
		for _, p := range page {
			after = p.CID
			got = append(got, p.CID)
		}
		if len(page) < 2 {
			break
		}
	}
	same(t, "all pages", got, []string{"Qm1", "Qm2", "QmZ", "b", "bafy1"}) // by bytes
}

func pinsKeepNames(t *testing.T, s Store) {
	p := pinOf("a", "c1", 1)
	unnamed := p
	unnamed.Name = ""
	named := func() string { return must[nodegate.Pin](t)(s.PinOf(t.Context(), "a", "c1")).Name }
	mustPin(t, s, change("a", "1", adding(p)))
	mustPin(t, s, change("a", "2", adding(unnamed)))
	same(t, "the name after a pin without one", named(), p.Name)
	if err := s.CommitPins(t.Context(), change("a", "3", op(nodegate.PinRemove, "c1"))); err != nil {
		t.Fatal(err)
	}
	mustPin(t, s, change("a", "4", adding(unnamed)))
	same(t, "the name after unpin and pin", named(), "")
	rename := func(cid string) error {
		return s.CommitPins(t.Context(), change("a", "5", nodegate.PinOp{Kind: nodegate.PinRename, Pin: nodegate.Pin{CID: cid, Name: "other"}}))
	}
	if err := rename("c1"); err != nil {
		t.Fatal(err)
	}
	same(t, "the name after a rename", named(), "other")
	pays(t, s, "a", 1)
	is(t, "a rename of none", rename("none"), nodegate.NotFound)
}

func pinsWholeOrNot(t *testing.T, s Store) {
	ctx := t.Context()
	mustPin(t, s, change("a", "1", adding(pinOf("a", "c1", 10)), adding(pinOf("a", "c2", 20))))
	for name, ops := range map[string][]nodegate.PinOp{
		"unpin of none":          {op(nodegate.PinRemove, "c1"), op(nodegate.PinRemove, "none")},
		"unpin twice":            {op(nodegate.PinRemove, "c1"), op(nodegate.PinRemove, "c1")},
		"undo of what is pinned": {op(nodegate.PinRemove, "c2"), op(nodegate.PinUndo, "c1")},
		"a new one and none":     {adding(pinOf("a", "c3", 5)), op(nodegate.PinRemove, "none")},
	} {
		c := change("a", name, ops...)
		must[[]string](t)(s.ClaimPins(ctx, c))
		is(t, name, s.CommitPins(ctx, c), nodegate.NotFound)
		if err := s.ReleasePins(ctx, "a", name); err != nil {
			t.Fatal(err)
		}
	}
	same(t, "the pins", cidsOf(t, s, "a", time.Time{}), []string{"c1", "c2"})
	pays(t, s, "a", 30)

	moved := change("a", "2", adding(pinOf("a", "c3", 5)), op(nodegate.PinRemove, "c1"))
	mustPin(t, s, moved)
	same(t, "the pins after a move", cidsOf(t, s, "a", time.Time{}), []string{"c2", "c3"})
	pays(t, s, "a", 35)

	mustPin(t, s, change("a", "3", adding(pinOf("a", "c4", 1)), op(nodegate.PinRemove, "c4")))
	same(t, "pinned and unpinned at once", cidsOf(t, s, "a", time.Time{}), []string{"c2", "c3"})
	pays(t, s, "a", 36)
}

func pinsComeBack(t *testing.T, s Store) {
	ctx := t.Context()
	p := pinOf("a", "c1", 10)
	mustPin(t, s, change("a", "1", adding(p)))
	unpin := change("a", "2", op(nodegate.PinRemove, "c1"))
	if err := s.CommitPins(ctx, unpin); err != nil {
		t.Fatal(err)
	}
	undo := change("a", "3", op(nodegate.PinUndo, "c1"))
	undo.UndoSince = noon()
	is(t, "an undo that is too late", s.CommitPins(ctx, undo), nodegate.NotFound)
	undo.UndoSince = noon().Add(-time.Second)
	if err := s.CommitPins(ctx, undo); err != nil {
		t.Fatal(err)
	}
	same(t, "the pin", must[nodegate.Pin](t)(s.PinOf(ctx, "a", "c1")), p)
	is(t, "an undo of a pin that holds", s.CommitPins(ctx, undo), nodegate.NotFound)
	pays(t, s, "a", 10)
}

func pinsNeedClaim(t *testing.T, s Store) {
	ctx := t.Context()
	c := change("a", "1", adding(pinOf("a", "c1", 10)))
	is(t, "a pin without a claim", s.CommitPins(ctx, c), nodegate.Conflict)
	must[[]string](t)(s.ClaimPins(ctx, c))
	other := change("a", "1", adding(pinOf("a", "c2", 10)))
	is(t, "a pin with the claim of something else", s.CommitPins(ctx, other), nodegate.Conflict)
	stolen := change("b", "1", adding(pinOf("b", "c1", 10)))
	is(t, "somebody else's claim", s.CommitPins(ctx, stolen), nodegate.Conflict)
	if err := s.CommitPins(ctx, c); err != nil {
		t.Fatal(err)
	}
	is(t, "a claim twice", s.CommitPins(ctx, c), nodegate.Conflict)
	pays(t, s, "a", 10)
}

func claimsCount(t *testing.T, s Store) {
	ctx := t.Context()
	c := change("a", "1", adding(pinOf("a", "c1", 60)))
	c.Quota = 100
	same(t, "held before", len(must[[]string](t)(s.ClaimPins(ctx, c))), 0)
	pays(t, s, "a", 60)
	second := change("a", "2", adding(pinOf("a", "c2", 41)))
	second.Quota = 100
	_, err := s.ClaimPins(ctx, second)
	is(t, "a claim over the quota", err, nodegate.QuotaReached)
	pays(t, s, "a", 60)
	for range 2 { // again is no error
		if err := s.ReleasePins(ctx, "a", "1"); err != nil {
			t.Fatal(err)
		}
	}
	pays(t, s, "a", 0)
	mustPin(t, s, second)
	again := change("a", "3", adding(pinOf("a", "c2", 41)))
	again.Quota = 50
	mustPin(t, s, again) // what is paid for already costs nothing
	again.Claim, again.Quota = "4", 10
	mustPin(t, s, again) // also when the quota is below it by now
	same(t, "held before", must[[]string](t)(s.ClaimPins(ctx, change("b", "5", adding(pinOf("b", "c2", 1)), adding(pinOf("b", "c9", 1))))), []string{contentOf("c2")})
}

func looseCounts(t *testing.T, s Store) {
	ctx := t.Context()
	c := change("a", "1")
	c.Quota, c.Loose = 100, 60
	if err := s.CommitPins(ctx, c); err != nil {
		t.Fatal(err)
	}
	pays(t, s, "a", 60)
	c.Claim, c.Loose = "2", 41
	is(t, "loose bytes over the quota", s.CommitPins(ctx, c), nodegate.QuotaReached)
	pays(t, s, "a", 60)
	cutoffs := nodegate.PinCutoffs{Loose: noon().Add(-time.Microsecond), Now: noon()}
	same(t, "expired too early", must[nodegate.ExpiredPins](t)(s.ExpirePins(ctx, cutoffs, false)), nodegate.ExpiredPins{})
	cutoffs.Loose = noon()
	want := nodegate.ExpiredPins{Loose: 1, Bytes: 60}
	same(t, "a dry run", must[nodegate.ExpiredPins](t)(s.ExpirePins(ctx, cutoffs, true)), want)
	pays(t, s, "a", 60)
	same(t, "expired", must[nodegate.ExpiredPins](t)(s.ExpirePins(ctx, cutoffs, false)), want)
	pays(t, s, "a", 0)
}

func quotaInParallel(t *testing.T, s Store) {
	var wait sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for i := range 16 {
		wait.Go(func() {
			c := change("a", fmt.Sprint(i), adding(pinOf("a", fmt.Sprint("c", i), 60)))
			c.Quota = 200
			err := pin(s, t, c)
			for errors.Is(err, nodegate.Busy) { // the databases may ask for another try
				err = pin(s, t, c)
			}
			if err != nil && !errors.Is(err, nodegate.QuotaReached) {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				done++
			}
		})
	}
	wait.Wait()
	same(t, "changes that passed", done, 3)
	pays(t, s, "a", 180)
}

func oddPinNames(t *testing.T, s Store) {
	ctx := t.Context()
	p := pinOf("a", "c1", 1)
	p.Name = "' \" $1 \t é 😀 %"
	mustPin(t, s, change("a", "1", adding(p)))
	same(t, "the pin", must[nodegate.Pin](t)(s.PinOf(ctx, "a", "c1")), p)
	for _, name := range []string{"zero \x00", "broken \xff"} {
		p.Name = name
		_, err := s.ClaimPins(ctx, change("a", "2", adding(p)))
		is(t, "a name that can't be stored", err, nodegate.InvalidInput)
		is(t, "a name that can't be stored", s.CommitPins(ctx, change("a", "2", adding(p))), nodegate.InvalidInput)
	}
}
