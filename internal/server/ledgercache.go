package server

import (
	"sync"
	"time"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/rpc/ledger"
	"github.com/nodegate/nodegate/internal/rpc/ledger/store"
)

// answersPart is the part of a ledger's memory that finished answers get. The rest is the
// database's.
const answersPart = 2

// ledgerMemories hand out the caches of ledgers. Ledgers without a setting share one pair, which
// is made when the first of them needs it.
type ledgerMemories struct {
	cfg *config.Config

	mu     sync.Mutex
	shared *ledgerCaches // nil: not needed yet, or closed
}

// ledgerCaches are what a ledger keeps in memory.
type ledgerCaches struct {
	answers *ledger.Answers
	blocks  *store.Cache // nil: not shared, the store makes one
	own     int64        // bytes of that one
}

// of returns the caches of a network's ledger.
func (m *ledgerMemories) of(n *config.Network) ledgerCaches {
	if n.Ledger.Memory > 0 {
		bytes := int64(cacheMemory(m.cfg, memoryLimit(), n.Ledger.Memory))
		answers := bytes / answersPart
		return ledgerCaches{answers: ledger.NewAnswers(answers), own: bytes - answers}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.shared == nil {
		bytes := int64(cacheMemory(m.cfg, memoryLimit(), m.cfg.Memory.Ledgers))
		answers := bytes / answersPart
		m.shared = &ledgerCaches{answers: ledger.NewAnswers(answers), blocks: store.NewCache(bytes - answers)}
	}
	return *m.shared
}

// used is how many bytes the shared caches hold.
func (m *ledgerMemories) used() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.shared == nil {
		return 0
	}
	return m.shared.answers.Size() + m.shared.blocks.Size()
}

// close comes after the last ledger was closed.
func (m *ledgerMemories) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.shared != nil {
		m.shared.blocks.Close()
		m.shared = nil
	}
}

// paceEvery is how often the collector's pace is set by what caches of ledgers hold. They take
// minutes to fill.
const paceEvery = 5 * time.Second

// keepPace lets the garbage collector's pace follow the caches until closing is closed. Memory
// that ledgers have of their own counts as full.
func (m *ledgerMemories) keepPace(c *collector, closing <-chan struct{}) {
	tick := time.NewTicker(paceEvery)
	defer tick.Stop()
	own := ownLedgerMemory(m.cfg)
	for {
		c.beside(own + m.used())
		select {
		case <-closing:
			return
		case <-tick.C:
		}
	}
}
