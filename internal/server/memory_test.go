package server

import (
	"math"
	"runtime/debug"
	"testing"

	"github.com/nodegate/nodegate/internal/config"
)

func TestRequestMemory(t *testing.T) {
	cfg := config.Default()
	for limit, want := range map[int64][2]int64{
		math.MaxInt64: {256 << 20, 64 << 20},
		1 << 30:       {128 << 20, 64 << 20},
		256 << 20:     {64 << 20, 64 << 20}, // what one largest request takes
	} {
		if got := requestMemory(cfg, limit); got.Process != want[0] || got.Account != want[1] {
			t.Errorf("under %d: %d, %d for an account, want %v", limit, got.Process, got.Account, want)
		}
	}
	cfg.Limits.ResponseBytes = 100 << 20
	if got := requestMemory(cfg, 1<<30); got.Account != 210<<20 || got.Process != 210<<20 {
		t.Errorf("the largest request doesn't fit: %+v", got)
	}
}

// TestCacheMemory keeps all caches together within a quarter of the limit.
func TestCacheMemory(t *testing.T) {
	cfg := config.Default()
	if got := cacheMemory(cfg, math.MaxInt64, cfg.Memory.Answers); got != uint64(cfg.Memory.Answers) {
		t.Errorf("without a limit: %d", got)
	}
	const limit = 1 << 30
	sum := cacheMemory(cfg, limit, cfg.Memory.RequestLog)
	for _, n := range cfg.Networks {
		sum += cacheMemory(cfg, limit, n.Cache) + cacheMemory(cfg, limit, cfg.Memory.Answers) + cacheMemory(cfg, limit, cfg.Memory.State)
	}
	if sum > limit/cachePart || sum < limit/cachePart*9/10 {
		t.Errorf("together %d of %d", sum, limit/cachePart)
	}
}

// TestPace: the garbage that may pile up doesn't grow with the caches of ledgers, up to 256 MiB
// of them. Beside more, the collector keeps Go's own pace.
func TestPace(t *testing.T) {
	if got := pacePercent(0); got != gcPercent {
		t.Errorf("without ledgers: %d", got)
	}
	for _, memory := range []int64{64 << 20, 256 << 20} {
		live := usualLive + memory
		if got := pacePercent(memory); got < leastPercent || live*int64(got)/100 > usualLive*gcPercent/100 {
			t.Errorf("beside %d bytes: %d", memory, got)
		}
	}
	if got := pacePercent(4 << 30); got != leastPercent {
		t.Errorf("beside 4 GiB: %d", got)
	}
}

// TestCollector: the pace follows what caches hold, stays slow while they are empty, and comes
// back when memory is no longer scarce. What the operator set stays.
func TestCollector(t *testing.T) {
	now := func() int {
		pace := debug.SetGCPercent(100)
		debug.SetGCPercent(pace)
		return pace
	}
	t.Setenv("GOGC", "")
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	var c collector
	for _, step := range []struct {
		what string
		do   func()
		want int
	}{
		{"empty caches", func() { c.beside(0) }, gcPercent},
		{"caches with little", func() { c.beside(4 << 20) }, gcPercent},
		{"64 MiB", func() { c.beside(64 << 20) }, 200},
		{"scarce memory", func() { c.pressed(true) }, pressedPercent},
		{"caches that fill meanwhile", func() { c.beside(128 << 20) }, pressedPercent},
		{"enough memory", func() { c.pressed(false) }, 150},
		{"empty caches again", func() { c.beside(0) }, gcPercent},
		{"scarce memory again", func() { c.pressed(true) }, pressedPercent},
		{"enough memory again", func() { c.pressed(false) }, gcPercent},
	} {
		if step.do(); now() != step.want {
			t.Errorf("with %s: %d, want %d", step.what, now(), step.want)
		}
	}
	t.Setenv("GOGC", "55")
	c.beside(256 << 20)
	c.pressed(true)
	if now() != gcPercent {
		t.Error("what the operator set was changed")
	}
}
