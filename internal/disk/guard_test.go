package disk

import (
	"errors"
	"syscall"
	"testing"

	"github.com/nodegate/nodegate"
)

// expire makes the next Check look again.
func (g *Guard) expire() { g.looked.Add(-int64(lookEvery)) }

func TestGuard(t *testing.T) {
	free, looks := int64(100), 0
	g := NewGuard(t.TempDir(), 100)
	g.free = func(string) (int64, error) { looks++; return free, nil }
	if err := g.Check(); err != nil {
		t.Fatalf("with the reserve free: %v", err)
	}
	free = 99
	if err := g.Check(); err != nil || looks != 1 {
		t.Errorf("looked %d times within a moment: %v", looks, err)
	}
	g.expire()
	for range 3 {
		if err := g.Check(); !errors.Is(err, nodegate.InsufficientStorage) {
			t.Fatalf("below the reserve: %v", err)
		}
	}
	free = 100
	g.expire()
	if err := g.Check(); err != nil {
		t.Errorf("after space was freed: %v", err)
	}
	g.free = func(string) (int64, error) { return 0, syscall.EIO }
	g.expire()
	if err := g.Check(); err != nil {
		t.Errorf("a disk that can't be asked: %v", err)
	}
}

func TestNoReserve(t *testing.T) {
	for _, g := range []*Guard{nil, NewGuard(t.TempDir(), 0), NewGuard("", 1<<60)} {
		if err := g.Check(); err != nil {
			t.Error(err)
		}
	}
	if g := NewGuard(t.TempDir(), 1<<60); g.Check() == nil {
		t.Error("nothing has an exabyte free")
	}
}

func BenchmarkCheck(b *testing.B) {
	g := NewGuard(b.TempDir(), 1)
	for b.Loop() {
		if g.Check() != nil {
			b.Fatal("full")
		}
	}
}
