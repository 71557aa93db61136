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

// Watch has nothing to say: Raise tells all.
func (b *board) Watch(ctx context.Context, _ string, _, _ func(uint64)) { <-ctx.Done() }

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

// slowBoard takes its time.
type slowBoard struct {
	board
	begun, done chan struct{}
}

func (b *slowBoard) Raise(ctx context.Context, network string, number uint64) (uint64, error) {
	b.begun <- struct{}{}
	<-b.done
	return b.board.Raise(ctx, network, number)
}

// TestToldLast: clients hear of a head after the other servers.
func TestToldLast(t *testing.T) {
	bubble(t, func(t *testing.T) {
		shared := &slowBoard{board: board{highest: map[string]uint64{}}, begun: make(chan struct{}, 100), done: make(chan struct{}, 100)}
		a := newFake("a", 100)
		p, _ := openFakes(t, func(c *Config) { c.Shared = shared }, a)
		<-shared.begun
		time.Sleep(200 * time.Millisecond)
		if _, _, ok := p.heads.Last(); ok {
			t.Error("clients know before the other servers do")
		}
		shared.done <- struct{}{}
		time.Sleep(time.Millisecond)
		if n := p.heads.Number(); n != 100 {
			t.Errorf("clients know of %d", n)
		}
		close(shared.done)
	})
}
