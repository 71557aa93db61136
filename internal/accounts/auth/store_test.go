package auth

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/test/sqlitetest"
)

// TestStoreGone: known keys go on, nobody can say about others; what changed
// meanwhile holds when the store is back.
func TestStoreGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newFixture(t, nil)
		known, revoked := g.key(t, nodegate.KeySettings{}), g.key(t, nodegate.KeySettings{})
		g.settle()
		g.store.broken.Store(true)
		made := g.key(t, nodegate.KeySettings{})
		g.revoke(t, revoked.Key.ID)
		time.Sleep(10 * time.Second)
		g.enter(t, known.Value, "")
		g.enter(t, revoked.Value, "")
		_, err := g.ask(made.Value, "")
		refused(t, err, nodegate.Busy)
		_, err = g.ask("garbage", "")
		refused(t, err, nodegate.KeyInvalid)
		g.store.broken.Store(false)
		time.Sleep(time.Second)
		synctest.Wait()
		g.enter(t, known.Value, "")
		g.enter(t, made.Value, "")
		_, err = g.ask(revoked.Value, "")
		refused(t, err, nodegate.KeyInvalid)
	})
}

// TestStoreGoneForLong closes the authenticator, until the store is back.
func TestStoreGoneForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newFixture(t, nil)
		k := g.key(t, nodegate.KeySettings{})
		g.settle()
		grant := g.enter(t, k.Value, "")
		g.store.broken.Store(true)
		time.Sleep(5*time.Minute - 2*time.Second)
		g.enter(t, k.Value, "")
		if err := g.Ready(); err != nil {
			t.Error("not ready within the grace period:", err)
		}
		time.Sleep(4 * time.Second)
		_, err := g.ask(k.Value, "")
		refused(t, err, nodegate.Busy)
		if g.Ready() == nil {
			t.Error("ready although no key is let in")
		}
		g.store.broken.Store(false)
		time.Sleep(time.Second)
		synctest.Wait()
		if err := g.Ready(); err != nil {
			t.Error("not ready again:", err)
		}
		if g.enter(t, k.Value, "") != grant || ended(grant) {
			t.Error("the grant did not outlive it")
		}
	})
}

// TestStoreHangs: nobody waits for longer than one reading may take, and known keys
// don't wait at all.
func TestStoreHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newFixture(t, nil)
		k := g.key(t, nodegate.KeySettings{})
		g.settle()
		made := g.key(t, nodegate.KeySettings{})
		g.store.hung.Store(true)
		start := time.Now()
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				_, err := g.ask(made.Value, "")
				refused(t, err, nodegate.Busy)
			})
		}
		synctest.Wait()
		if g.enter(t, k.Value, ""); time.Since(start) != 0 {
			t.Errorf("a known key waited for %v", time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := g.Authenticate(ctx, nodegate.Credentials{Key: made.Value})
		refused(t, err, nodegate.Busy)
		if took := time.Since(start); took != time.Second {
			t.Errorf("an impatient one waited for %v", took)
		}
		all.Wait()
		if took := time.Since(start); took != askTime {
			t.Errorf("the others waited for %v", took)
		}
		g.store.hung.Store(false)
		time.Sleep(2 * askTime)
		g.enter(t, made.Value, "")
	})
}

// TestSlowStore is caught up with in the end, however many changes there are.
func TestSlowStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newFixture(t, nil)
		const keys = 150
		for range keys {
			g.key(t, nodegate.KeySettings{})
		}
		g.store.slow.Store(int64(askTime / 50))
		time.Sleep(10 * askTime)
		synctest.Wait()
		if g.Keys() != keys {
			t.Errorf("%d of %d keys are there", g.Keys(), keys)
		}
		done := g.store.reads.Load()
		time.Sleep(10 * time.Second)
		if n := g.store.reads.Load() - done; n != 0 {
			t.Errorf("what is done is read again, %d times", n)
		}
	})
}

// TestOpenFails without a store, and leaves nothing running.
func TestOpenFails(t *testing.T) {
	g := newFixture(t, nil)
	cfg := g.Authenticator.cfg
	store := openStore(t, sqlitetest.New(t))
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	cfg.Store = store
	d, err := Open(t.Context(), cfg)
	if d != nil {
		t.Error("a door is open")
	}
	refusedCode(t, err, nodegate.Busy)
}

func refusedCode(t *testing.T, err error, code nodegate.Code) {
	t.Helper()
	if nodegate.AsError(err).Code != code {
		t.Errorf("got %v, want %v", err, code)
	}
}

// TestLateReading: a reading from before the revocation arrives after it, and
// doesn't bring the key back.
func TestLateReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newFixture(t, nil)
		k := g.key(t, nodegate.KeySettings{})
		first := true
		late := func(read *nodegate.Key) {
			if !first || !read.Live() {
				return
			}
			first = false
			g.revoke(t, k.Key.ID)
			time.Sleep(3 * time.Second / 2) // the authenticator follows meanwhile
		}
		g.store.afterKey.Store(&late)
		_, err := g.ask(k.Value, "")
		refused(t, err, nodegate.KeyInvalid)
		synctest.Wait()
		if first || g.Keys() != 0 {
			t.Errorf("%d keys are let in", g.Keys())
		}
	})
}

// TestLateAccount: the same for an account's plan.
func TestLateAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newFixture(t, nil)
		k := g.key(t, nodegate.KeySettings{})
		first := true
		late := func(read *nodegate.Account) {
			if !first {
				return
			}
			first = false
			if err := g.desk.SetPlan(context.Background(), actor(), read.ID, "unlimited"); err != nil {
				t.Error(err)
			}
			time.Sleep(3 * time.Second / 2) // the authenticator follows meanwhile
		}
		g.store.afterAccount.Store(&late)
		if got := g.enter(t, k.Value, "").Policy().Plan.Name; got != "unlimited" || first {
			t.Errorf("the plan is %s", got)
		}
	})
}

// TestLateReadings is the same with many at once and delays of all kinds.
func TestLateReadings(t *testing.T) {
	g := newFixture(t, func(c *Config) { c.Follow, c.Guesses = 2*time.Millisecond, 1_000_000 })
	delay := func(k *nodegate.Key) { time.Sleep(time.Duration(k.Values[0].Digest[0]%4) * time.Millisecond) }
	g.store.afterKey.Store(&delay)
	const keys = 40
	var all sync.WaitGroup
	var mu sync.Mutex
	var values []string
	for range keys {
		all.Go(func() {
			k := g.key(t, nodegate.KeySettings{})
			mu.Lock()
			values = append(values, k.Value)
			mu.Unlock()
			var users sync.WaitGroup
			for range 4 {
				users.Go(func() {
					for range 20 {
						_, err := g.ask(k.Value, "")
						if err != nil {
							refused(t, err, nodegate.KeyInvalid)
						}
						time.Sleep(100 * time.Microsecond)
					}
				})
			}
			g.revoke(t, k.Key.ID)
			users.Wait()
		})
	}
	all.Wait()
	for deadline := time.Now().Add(10 * time.Second); g.Keys() != 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	for _, value := range values {
		_, err := g.ask(value, "")
		refused(t, err, nodegate.KeyInvalid)
	}
	if g.Keys() != 0 {
		t.Errorf("%d revoked keys are let in", g.Keys())
	}
}
