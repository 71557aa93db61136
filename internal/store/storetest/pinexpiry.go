package storetest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nodegate/nodegate"
)

// everything is past its time at a moment.
func everything(at time.Time) nodegate.PinCutoffs {
	return nodegate.PinCutoffs{Unpinned: at, Claimed: at, Loose: at, Now: at}
}

func pinsExpire(t *testing.T, s Store) {
	ctx := t.Context()
	for _, account := range []string{"a", "b"} {
		mustPin(t, s, change(account, account, adding(pinOf(account, "c1", 10)), adding(pinOf(account, "c2", 20))))
		if err := s.CommitPins(ctx, change(account, "", op(nodegate.PinRemove, "c1"))); err != nil {
			t.Fatal(err)
		}
	}
	must[[]string](t)(s.ClaimPins(ctx, change("a", "claim", adding(pinOf("a", "c3", 5)))))
	early := noon().Add(-time.Microsecond)
	same(t, "too early", must[nodegate.ExpiredPins](t)(s.ExpirePins(ctx, everything(early), false)), nodegate.ExpiredPins{})
	want := nodegate.ExpiredPins{Pins: 2, Claims: 1, Bytes: 25}
	same(t, "a dry run", must[nodegate.ExpiredPins](t)(s.ExpirePins(ctx, everything(noon()), true)), want)
	same(t, "freed by a dry run", len(must[[]string](t)(s.FreedContent(ctx, "", 9))), 0)
	same(t, "expired", must[nodegate.ExpiredPins](t)(s.ExpirePins(ctx, everything(noon()), false)), want)
	same(t, "again", must[nodegate.ExpiredPins](t)(s.ExpirePins(ctx, everything(noon()), false)), nodegate.ExpiredPins{})
	pays(t, s, "a", 20)
	pays(t, s, "b", 20)
	same(t, "pins that hold", cidsOf(t, s, "a", time.Time{}), []string{"c2"})
	same(t, "pins that were taken off", cidsOf(t, s, "a", noon().Add(-time.Hour)), []string{})
	same(t, "freed content", must[[]string](t)(s.FreedContent(ctx, "", 9)), []string{contentOf("c1"), contentOf("c3")})
	same(t, "the next page of it", must[[]string](t)(s.FreedContent(ctx, contentOf("c1"), 9)), []string{contentOf("c3")})
}

func heldContent(t *testing.T, s Store) {
	ctx := t.Context()
	mustPin(t, s, change("a", "1", adding(pinOf("a", "c1", 1)), adding(pinOf("a", "c3", 1)), adding(pinOf("a", "c4", 1))))
	mustPin(t, s, change("b", "2", adding(pinOf("b", "c3", 1)), adding(pinOf("b", "c2", 1))))
	must[[]string](t)(s.ClaimPins(ctx, change("a", "3", adding(pinOf("a", "c5", 1))))) // not pinned yet
	for account, cid := range map[string]string{"a": "c4", "b": "c3"} {
		if err := s.CommitPins(ctx, change(account, "", op(nodegate.PinRemove, cid))); err != nil {
			t.Fatal(err)
		}
	}
	held := func(after string, limit int) []string {
		t.Helper()
		return must[[]string](t)(s.HeldContent(ctx, after, limit))
	}
	same(t, "the first page", held("", 2), []string{contentOf("c1"), contentOf("c2")})
	same(t, "the rest", held(contentOf("c2"), 9), []string{contentOf("c3"), contentOf("c4")}) // an undo needs c4
	same(t, "behind the end", len(held(contentOf("c4"), 9)), 0)
	must[nodegate.ExpiredPins](t)(s.ExpirePins(ctx, everything(noon()), false))
	same(t, "after the time of an undo", held("", 9), []string{contentOf("c1"), contentOf("c2"), contentOf("c3")})
}

// began begins a removal that must, or must not, be possible.
func began(t *testing.T, s nodegate.PinStore, content string, at time.Time, want bool) {
	t.Helper()
	same(t, "the removal of "+content+" may begin", must[bool](t)(s.BeginRemoval(t.Context(), content, at)), want)
}

func contentRemoved(t *testing.T, s Store) {
	ctx := t.Context()
	c1 := contentOf("c1")
	mustPin(t, s, change("a", "1", adding(pinOf("a", "c1", 10))))
	mustPin(t, s, change("b", "2", adding(pinOf("b", "c1", 10))))
	began(t, s, c1, noon(), false)
	began(t, s, "never heard of", noon(), false)
	letGo := func(account string) {
		t.Helper()
		if err := s.CommitPins(ctx, change(account, "", op(nodegate.PinRemove, "c1"))); err != nil {
			t.Fatal(err)
		}
		must[nodegate.ExpiredPins](t)(s.ExpirePins(ctx, everything(noon()), false))
	}
	letGo("a")
	same(t, "freed", must[[]string](t)(s.FreedContent(ctx, "", 9)), []string{c1})
	began(t, s, c1, noon(), false) // the other account has it
	same(t, "freed after that", len(must[[]string](t)(s.FreedContent(ctx, "", 9))), 0)
	letGo("b")
	began(t, s, c1, noon(), true)
	began(t, s, c1, noon(), false) // somebody does it already
	if err := s.EndRemoval(ctx, c1, noon(), false); err != nil {
		t.Fatal(err)
	}
	later := noon().Add(time.Minute)
	began(t, s, c1, later, true)
	if err := s.EndRemoval(ctx, c1, noon(), true); err != nil { // not the one that is in progress
		t.Fatal(err)
	}
	same(t, "still there", must[[]string](t)(s.FreedContent(ctx, "", 9)), []string{c1})
	if err := s.EndRemoval(ctx, c1, later, true); err != nil {
		t.Fatal(err)
	}
	same(t, "forgotten", len(must[[]string](t)(s.FreedContent(ctx, "", 9))), 0)
}

func claimsAndRemovals(t *testing.T, s Store) {
	ctx := t.Context()
	c1 := contentOf("c1")
	claim := change("a", "1", adding(pinOf("a", "c1", 10)))
	must[[]string](t)(s.ClaimPins(ctx, claim))
	if err := s.ReleasePins(ctx, "a", "1"); err != nil {
		t.Fatal(err)
	}
	began(t, s, c1, noon(), true)
	_, err := s.ClaimPins(ctx, claim)
	is(t, "a claim of what is being removed", err, nodegate.Busy)
	pays(t, s, "a", 0)
	claim.At = noon().Add(nodegate.RemovalTime)
	same(t, "held, when who removed it is gone", len(must[[]string](t)(s.ClaimPins(ctx, claim))), 0)
	if err := s.EndRemoval(ctx, c1, noon(), true); err != nil {
		t.Fatal(err)
	}
	began(t, s, c1, noon().Add(2*nodegate.RemovalTime), false) // it is claimed
	if err := s.CommitPins(ctx, claim); err != nil {
		t.Fatal(err)
	}
	raceRemovals(t, s)
}

// raceRemovals has many claim and remove the same content at once: never both.
func raceRemovals(t *testing.T, s Store) {
	ctx := t.Context()
	content := contentOf("raced")
	var mu sync.Mutex
	users, removing := 0, 0
	enter := func(n *int, other *int) {
		mu.Lock()
		defer mu.Unlock()
		*n++
		if *other > 0 || n == &removing && removing > 1 {
			t.Errorf("%d users while %d remove", users, removing)
		}
	}
	leave := func(n *int) {
		mu.Lock()
		defer mu.Unlock()
		*n--
	}
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			for round := range 10 {
				now := time.Now()
				if i%2 == 0 {
					c := change(fmt.Sprint("racer", i), fmt.Sprint(i, "-", round), adding(pinOf("x", "raced", 1)))
					c.At = now
					if _, err := s.ClaimPins(ctx, c); err != nil {
						if !errors.Is(err, nodegate.Busy) {
							t.Error(err)
						}
						continue
					}
					enter(&users, &removing)
					leave(&users)
					if err := s.ReleasePins(ctx, c.AccountID, c.Claim); err != nil {
						t.Error(err)
					}
					continue
				}
				mine, err := s.BeginRemoval(ctx, content, now)
				if err != nil && !errors.Is(err, nodegate.Busy) {
					t.Error(err)
				}
				if mine {
					enter(&removing, &users)
					leave(&removing)
					if err := s.EndRemoval(ctx, content, now.Truncate(time.Microsecond), round%2 == 0); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wait.Wait()
}

// pinModel is what the store should hold.
type pinModel struct {
	pins   map[string]int64 // size by CID
	off    map[string]int64
	claims map[string]int64 // bytes by claim
	loose  int64
}

func (m *pinModel) paid() int64 {
	sum := m.loose
	for _, list := range []map[string]int64{m.pins, m.off, m.claims} {
		for _, n := range list {
			sum += n
		}
	}
	return sum
}

func pinsAddUp(t *testing.T, s Store) {
	round := 0
	rapid.Check(t, func(r *rapid.T) {
		round++
		account := fmt.Sprint("account ", round)
		m := &pinModel{map[string]int64{}, map[string]int64{}, map[string]int64{}, 0}
		for i := range rapid.IntRange(1, 12).Draw(r, "steps") {
			m.step(t, r, s, account, fmt.Sprint(round, "-", i))
			pays(t, s, account, m.paid())
		}
		same(t, "the pins", cidsOf(t, s, account, time.Time{}), append([]string{}, slices.Sorted(maps.Keys(m.pins))...))
		same(t, "those that were taken off", cidsOf(t, s, account, noon().Add(-time.Hour)), append([]string{}, slices.Sorted(maps.Keys(m.off))...))
		must[nodegate.ExpiredPins](t)(s.ExpirePins(t.Context(), everything(noon()), false)) // leave nothing to the next round
	})
}

// step does one thing to the store and to the model.
func (m *pinModel) step(t *testing.T, r *rapid.T, s nodegate.PinStore, account, claim string) {
	ctx := t.Context()
	cid := rapid.SampledFrom([]string{"c1", "c2", "c3"}).Draw(r, "cid")
	size := int64(rapid.IntRange(1, 50).Draw(r, "size"))
	_, on := m.pins[cid]
	before, off := m.off[cid]
	switch rapid.IntRange(0, 6).Draw(r, "kind") {
	case 0:
		mustPin(t, s, change(account, claim, adding(pinOf(account, cid, size))))
		delete(m.off, cid)
		m.pins[cid] = size
	case 1:
		if err := s.CommitPins(ctx, change(account, claim, op(nodegate.PinRemove, cid))); (err == nil) != on {
			t.Errorf("unpin, pinned %v: %v", on, err)
		} else if on {
			m.off[cid] = m.pins[cid]
			delete(m.pins, cid)
		}
	case 2:
		c := change(account, claim, op(nodegate.PinUndo, cid))
		c.UndoSince = noon().Add(-time.Hour)
		if err := s.CommitPins(ctx, c); (err == nil) != off {
			t.Errorf("undo, unpinned %v: %v", off, err)
		} else if off {
			m.pins[cid] = before
			delete(m.off, cid)
		}
	case 3:
		c := change(account, claim)
		c.Loose = size
		if err := s.CommitPins(ctx, c); err != nil {
			t.Error(err)
		}
		m.loose += size
	case 4:
		must[[]string](t)(s.ClaimPins(ctx, change(account, claim, adding(pinOf(account, cid, size)))))
		m.claims[claim] = max(size-m.pins[cid]-before, 0)
	case 5:
		for id := range m.claims {
			if err := s.ReleasePins(ctx, account, id); err != nil {
				t.Error(err)
			}
			delete(m.claims, id)
		}
	case 6:
		must[nodegate.ExpiredPins](t)(s.ExpirePins(ctx, everything(noon()), false))
		clear(m.off)
		clear(m.claims)
		m.loose = 0
	}
}
