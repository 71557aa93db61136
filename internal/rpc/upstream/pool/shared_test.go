package pool

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

// board is what servers share, in memory.
type board struct {
	mu      sync.Mutex
	highest map[string]uint64
	down    bool
}

func (b *board) Raise(_ context.Context, network string, number uint64) (uint64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down {
		return 0, errors.New("away")
	}
	b.highest[network] = max(b.highest[network], number)
	return b.highest[network], nil
}

// TestSharedHeads: what one server has told, another does not fall behind, and each
// goes on alone when nothing can be shared.
func TestSharedHeads(t *testing.T) {
	bubble(t, func(t *testing.T) {
		shared := &board{highest: map[string]uint64{}}
		share := func(c *Config) { c.Shared = shared }
		a, b := newFake("a", 100), newFake("b", 98)
		one, _ := openFakes(t, share, a)
		two, _ := openFakes(t, share, b)
		settle()
		for name, p := range map[string]*Pool{"one": one, "two": two} {
			if head, err := p.Head(t.Context()); err != nil || head.Number != 100 {
				t.Errorf("server %s tells of %d, %v", name, head.Number, err)
			}
		}
		go func() {
			time.Sleep(500 * time.Millisecond)
			b.grow(genesisBranch, 100)
		}()
		time.Sleep(3 * time.Second)
		if got, err := two.Call(t.Context(), "eth_getBlockByNumber", []byte(`["0x64",false]`)); err != nil || string(got) == "null" {
			t.Errorf("the shared head on the other server: %s, %v", got, err)
		}
		shared.mu.Lock()
		shared.down = true
		shared.mu.Unlock()
		b.grow(genesisBranch, 103)
		settle()
		if head, err := two.Head(t.Context()); err != nil || head.Number != 103 {
			t.Errorf("alone: %d, %v", head.Number, err)
		}
		shared.mu.Lock()
		shared.down, shared.highest["net"] = false, 5_000_000
		shared.mu.Unlock()
		settle()
		if head, err := two.Head(t.Context()); err != nil || head.Number != 103 {
			t.Errorf("a shared head that can't be is told: %d, %v", head.Number, err)
		}
	})
}
