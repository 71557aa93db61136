package auth

import (
	"testing"

	"github.com/nodegate/nodegate"
)

// TestSuspended: the keys of a suspended account are refused and open connections end; they
// come back with the account, also those that were asked for meanwhile. Those of a deleted
// one never do.
func TestSuspended(t *testing.T) {
	g := newFixture(t, nil)
	ctx := t.Context()
	issue := func() string {
		issued, err := g.desk.CreateKey(ctx, actor(), g.owner.ID, "key", nodegate.KeySettings{})
		if err != nil {
			t.Fatal(err)
		}
		return issued.Value
	}
	try := func(key string) error {
		if err := g.Sync(ctx); err != nil {
			t.Fatal(err)
		}
		_, err := g.Authenticate(ctx, nodegate.Credentials{Key: key, From: from})
		return err
	}
	one := issue()
	if err := try(one); err != nil {
		t.Fatal(err)
	}
	grant, err := g.Authenticate(ctx, nodegate.Credentials{Key: one, From: from})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := g.desk.SetSuspended(ctx, actor(), g.owner.ID, true); err != nil {
			t.Fatal(err)
		}
		two := issue() // by an operator
		for _, key := range []string{one, two} {
			refused(t, try(key), nodegate.KeyInvalid)
			refused(t, try(key), nodegate.KeyInvalid)
		}
		select {
		case <-grant.Ended():
		default:
			t.Error("an open connection goes on")
		}
		if err := g.desk.SetSuspended(ctx, actor(), g.owner.ID, false); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{one, two} {
			if err := try(key); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		}
		if grant, err = g.Authenticate(ctx, nodegate.Credentials{Key: one, From: from}); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.desk.Delete(ctx, actor(), g.owner.ID); err != nil {
		t.Fatal(err)
	}
	refused(t, try(one), nodegate.KeyInvalid)
	select {
	case <-grant.Ended():
	default:
		t.Error("an open connection of a deleted account goes on")
	}
	if n := g.Keys(); n != 0 {
		t.Errorf("%d keys are let in", n)
	}
}

// TestSuspendedAtStart: a server that starts meanwhile refuses the keys too.
func TestSuspendedAtStart(t *testing.T) {
	g := newFixture(t, nil)
	issued, err := g.desk.CreateKey(t.Context(), actor(), g.owner.ID, "key", nodegate.KeySettings{})
	if err == nil {
		err = g.desk.SetSuspended(t.Context(), actor(), g.owner.ID, true)
	}
	if err != nil {
		t.Fatal(err)
	}
	g.open(t, g.cfg)
	_, err = g.Authenticate(t.Context(), nodegate.Credentials{Key: issued.Value, From: from})
	refused(t, err, nodegate.KeyInvalid)
	if err := g.desk.SetSuspended(t.Context(), actor(), g.owner.ID, false); err != nil {
		t.Fatal(err)
	}
	if err := g.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Authenticate(t.Context(), nodegate.Credentials{Key: issued.Value, From: from}); err != nil {
		t.Error(err)
	}
}
