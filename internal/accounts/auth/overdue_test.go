package auth

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/test/full"
)

// TestExpiry: a key works until it expires, and no moment longer, its open connections neither.
// It is overdue then, until the store says that it is revoked. A restart knows of it too.
func TestExpiry(t *testing.T) {
	full.Slow(t)
	synctest.Test(t, func(t *testing.T) {
		g := newFixture(t, nil)
		k := g.key(t, nodegate.KeySettings{Expires: time.Now().Add(time.Hour)})
		other := g.key(t, nodegate.KeySettings{Expires: time.Now().Add(2 * time.Hour)})
		grant, stays := g.enter(t, k.Value, ""), g.enter(t, other.Value, "")
		time.Sleep(time.Hour - 2*time.Second)
		g.enter(t, k.Value, "")
		if list := g.Ends.Overdue(); len(list) != 0 || ended(grant) {
			t.Errorf("before: overdue are %v, ended: %v", list, ended(grant))
		}
		time.Sleep(2 * time.Second)
		_, err := g.ask(k.Value, "")
		refused(t, err, nodegate.KeyInvalid)
		time.Sleep(time.Second)
		synctest.Wait()
		if !ended(grant) || ended(stays) {
			t.Errorf("ended: %v; the other one: %v", ended(grant), ended(stays))
		}
		want := Overdue{AccountID: g.owner.ID, KeyID: k.Key.ID}
		if list := g.Ends.Overdue(); len(list) != 1 || list[0] != want {
			t.Errorf("overdue are %v, want %v", list, want)
		}
		g.open(t, g.cfg)
		_, err = g.ask(k.Value, "")
		refused(t, err, nodegate.KeyInvalid)
		if list := g.Ends.Overdue(); len(list) != 1 || list[0] != want {
			t.Errorf("after a restart overdue are %v, want %v", list, want)
		}
		if err := g.desk.ExpireKey(t.Context(), actor(), g.owner.ID, k.Key.ID); err != nil {
			t.Fatal(err)
		}
		g.settle()
		if list := g.Ends.Overdue(); len(list) != 0 {
			t.Errorf("overdue are still %v", list)
		}
		g.enter(t, other.Value, "")
		if err := g.desk.Delete(t.Context(), actor(), g.owner.ID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		for _, o := range g.Ends.Overdue() {
			if err := g.desk.ExpireKey(t.Context(), actor(), o.AccountID, o.KeyID); !errors.Is(err, nodegate.NotFound) {
				t.Errorf("a key of a deleted account: %v", err)
			}
			g.Ends.Forget(o.KeyID)
		}
		if list := g.Ends.Overdue(); len(list) != 0 {
			t.Errorf("overdue are keys of a deleted account: %v", list)
		}
	})
}

// TestExpiryMoves: a key whose owner puts the end off, or takes it back, goes on. The end of an
// old value stays.
func TestExpiryMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newFixture(t, nil)
		k := g.key(t, nodegate.KeySettings{Expires: time.Now().Add(time.Hour)})
		g.enter(t, k.Value, "")
		for _, until := range []time.Time{time.Now().Add(2 * time.Hour), {}} {
			err := g.desk.UpdateKey(t.Context(), actor(), g.owner.ID, k.Key.ID, func(_ *string, s *nodegate.KeySettings) { s.Expires = until })
			if err != nil {
				t.Fatal(err)
			}
			g.settle()
			time.Sleep(100 * time.Minute)
			g.enter(t, k.Value, "")
		}
		if list := g.Ends.Overdue(); len(list) != 0 {
			t.Errorf("overdue are %v", list)
		}
	})
}
