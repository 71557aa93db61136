package server

import (
	"errors"
	"log/slog"
	"path/filepath"
	"runtime/debug"
	"testing"
	"testing/synctest"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/obs"
	"github.com/nodegate/nodegate/internal/rpc/ledger"
)

// TestLedgersShare: two instances of a network use one open copy, and the folder is free
// when both have let go of it.
func TestLedgersShare(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	cfg := config.Default()
	cfg.Data = t.TempDir()
	l := newLedgers(&common{cfg: cfg, log: log})
	folder := filepath.Join(cfg.Data, "ledger", "main")
	of := origin{genesis: [32]byte{1}}
	first, err := l.take(t.Context(), folder, of, ledgerCaches{own: 1 << 20}, log)
	if err != nil {
		t.Fatal(err)
	}
	second, err := l.take(t.Context(), folder, of, ledgerCaches{own: 1 << 20}, log)
	if err != nil || second != first {
		t.Fatalf("a second user gets another copy: %v", err)
	}
	other := origin{genesis: [32]byte{2}}
	if _, err := l.take(t.Context(), folder, other, ledgerCaches{own: 1 << 20}, log); !errors.Is(err, errInUse) {
		t.Errorf("another chain in the same folder: %v", err)
	}
	l.release(folder, log)
	if _, _, err := first.ByHash([32]byte{1}); err != nil {
		t.Errorf("the copy is closed while one uses it: %v", err)
	}
	l.release(folder, log)
	if _, _, err := first.ByHash([32]byte{1}); err == nil {
		t.Error("the copy is open after its last user")
	}
	if _, err := l.take(t.Context(), folder, other, ledgerCaches{own: 1 << 20}, log); err != nil {
		t.Errorf("another chain afterwards: %v", err)
	}
	l.release(folder, log)
}

// TestLedgerReserve: ledgers stop before accounts and chains do.
func TestLedgerReserve(t *testing.T) {
	const gib = 1 << 30
	for reserve, want := range map[int64]int64{leastReserve: gib + leastReserve, gib: 2 * gib, 5 * gib: 10 * gib} {
		if got := ledgerReserve(reserve); got != want {
			t.Errorf("with a reserve of %d they leave %d, want %d", reserve, got, want)
		}
	}
	cfg := config.Default()
	cfg.Data, cfg.Storage.Reserve = t.TempDir(), 5*gib
	free := func(string) (int64, error) { return 6 * gib, nil }
	if err := guardOf(cfg).Asking(free).Check(); err != nil {
		t.Errorf("accounts: %v", err)
	}
	l := newLedgers(&common{cfg: cfg, log: slog.New(slog.DiscardHandler)})
	if err := l.guard.Asking(free).Check(); !errors.Is(err, nodegate.InsufficientStorage) {
		t.Errorf("ledgers: %v", err)
	}
}

// TestLedgerFigures: a ledger without a copy has no figures: it would seem to be the whole
// chain behind.
func TestLedgerFigures(t *testing.T) {
	r := &remote{cfg: config.Network{Name: "main"}, ledger: ledger.New(nil, ledger.Config{})}
	a := &ledgerAdmin{networks: &networks{remotes: map[string]*remote{"main": r}}}
	a.show(func(network string, f *obs.LedgerFigures) { t.Errorf("%s shows %+v", network, f) })
}

// TestLedgersApart: while the copy of one network takes long to open, those of others are opened
// and closed.
func TestLedgersApart(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	cfg := config.Default()
	cfg.Data = t.TempDir()
	l := newLedgers(&common{cfg: cfg, log: log})
	slow := l.at(filepath.Join(cfg.Data, "ledger", "slow"))
	slow.mu.Lock()
	defer slow.mu.Unlock()
	quick := filepath.Join(cfg.Data, "ledger", "quick")
	for range 2 {
		if _, err := l.take(t.Context(), quick, origin{genesis: [32]byte{1}}, ledgerCaches{own: 1 << 20}, log); err != nil {
			t.Fatal(err)
		}
		l.release(quick, log)
	}
}

// TestLedgerMemories: networks share one cache, except those that have memory of their own.
func TestLedgerMemories(t *testing.T) {
	cfg := config.Default()
	m := ledgerMemories{cfg: cfg}
	defer m.close()
	shared := &config.Network{}
	a, b := m.of(shared), m.of(shared)
	if a != b || a.blocks == nil {
		t.Errorf("two networks have %+v and %+v", a, b)
	}
	own := m.of(&config.Network{Ledger: config.Ledger{Memory: 8 << 20}})
	if own.answers == a.answers || own.blocks != nil || own.own != 4<<20 {
		t.Errorf("a network with memory of its own has %+v", own)
	}
	m.close()
	if m.used() != 0 || m.of(shared).answers == a.answers {
		t.Error("memory is used after it was closed")
	}
}

// TestLedgerMemory: the caches of ledgers count once where they are shared.
func TestLedgerMemory(t *testing.T) {
	cfg := config.Default()
	cfg.Memory.Ledgers = 100
	for _, c := range []struct {
		ledgers []config.Ledger
		want    int64
	}{
		{nil, 0},
		{[]config.Ledger{{Memory: 7}, {}}, 0}, // they keep no blocks
		{[]config.Ledger{{Blocks: 1}, {Blocks: 1}}, 100},
		{[]config.Ledger{{Blocks: 1, Memory: 7}, {Blocks: 1, Memory: 8}}, 15},
		{[]config.Ledger{{Blocks: 1, Memory: 7}, {Blocks: 1}, {Blocks: 1}}, 107},
	} {
		cfg.Networks = nil
		for _, l := range c.ledgers {
			cfg.Networks = append(cfg.Networks, config.Network{Ledger: l})
		}
		if got := ledgerMemory(cfg); got != c.want {
			t.Errorf("%+v: %d, want %d", c.ledgers, got, c.want)
		}
	}
}

// TestKeepPace: the collector's pace is set soon after the start, and memory that a ledger has of
// its own counts as full.
func TestKeepPace(t *testing.T) {
	t.Setenv("GOGC", "")
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	cfg := config.Default()
	cfg.Networks = []config.Network{{Ledger: config.Ledger{Blocks: 1, Memory: 64 << 20}}}
	synctest.Test(t, func(t *testing.T) {
		m, c, closing := ledgerMemories{cfg: cfg}, new(collector), make(chan struct{})
		go m.keepPace(c, closing)
		synctest.Wait()
		if c.pace != 200 {
			t.Errorf("the pace is %d", c.pace)
		}
		close(closing)
	})
}
