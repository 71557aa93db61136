package fairshare

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
)

func TestTry(t *testing.T) {
	p := New(3, 2)
	for i, want := range []struct {
		name string
		ok   bool
	}{{"a", true}, {"a", true}, {"a", false}, {"b", true}, {"c", false}} {
		if p.Try(want.name) != want.ok {
			t.Errorf("%d: %s got %t", i, want.name, !want.ok)
		}
	}
	for _, name := range []string{"a", "a", "b"} {
		p.Release(name)
	}
	if p.Used() != 0 || len(p.owners) != 0 {
		t.Errorf("%d slots and %d owners are left", p.Used(), len(p.owners))
	}
}

// Owners take turns: one with a hundred requests waits as long as one with one.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(1, 1)
		if !p.Try("x") {
			t.Fatal("no slot")
		}
		var mu sync.Mutex
		var order []string
		wait := func(name string) {
			go func() {
				if err := p.Acquire(t.Context(), name); err != nil {
					t.Error(err)
				}
				mu.Lock()
				order = append(order, name)
				mu.Unlock()
				p.Release(name)
			}()
			synctest.Wait()
		}
		for range 5 {
			wait("greedy")
		}
		wait("modest")
		p.Release("x")
		synctest.Wait()
		if len(order) != 6 || order[1] != "modest" {
			t.Errorf("the order is %v", order)
		}
		if p.Used() != 0 || len(p.owners) != 0 || len(p.queue) != 0 {
			t.Errorf("left: %d, %v, %v", p.Used(), p.owners, p.queue)
		}
	})
}

// Who gives up waiting leaves nothing behind.
func TestGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(1, 1)
		p.Try("x")
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			if err := p.Acquire(ctx, "a"); !errors.Is(err, context.Canceled) {
				t.Errorf("the error is %v", err)
			}
		}()
		synctest.Wait()
		cancel()
		synctest.Wait()
		p.Release("x")
		if !p.Try("b") || len(p.queue) != 0 || len(p.owners) != 1 {
			t.Errorf("left: %v, %v", p.owners, p.queue)
		}
	})
}
