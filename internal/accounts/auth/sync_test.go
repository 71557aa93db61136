package auth

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodegate/nodegate"
)

// TestSync: what was saved before holds when it returns, for many at once too.
func TestSync(t *testing.T) {
	g := newFixture(t, func(c *Config) { c.Follow = never })
	var all sync.WaitGroup
	for range 20 {
		k := g.key(t, nodegate.KeySettings{})
		g.enter(t, k.Value, "")
		all.Go(func() {
			g.revoke(t, k.Key.ID)
			if err := g.Sync(t.Context()); err != nil {
				t.Error(err)
			}
			_, err := g.ask(k.Value, "")
			refused(t, err, nodegate.KeyInvalid)
		})
	}
	all.Wait()
}

// TestSyncBounded: it waits no longer than it may for a store that hangs, tells of
// one that fails, and ends with the authenticator.
func TestSyncBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newFixture(t, nil)
		g.store.broken.Store(true)
		if err := g.Sync(t.Context()); err == nil {
			t.Error("a broken store was read")
		}
		g.store.broken.Store(false)
		g.store.hung.Store(true)
		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		refusedCode(t, g.Sync(ctx), nodegate.Timeout)
		if took := time.Since(begun); took != 2*time.Second {
			t.Errorf("it took %v", took)
		}
		g.store.hung.Store(false)
		time.Sleep(2 * askTime)
		if err := g.Sync(t.Context()); err != nil {
			t.Error(err)
		}
		g.Close()
		if err := g.Sync(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
