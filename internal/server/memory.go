package server

import (
	"github.com/nodegate/nodegate/internal/budget"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/obs"
)

// Parts of the memory limit: what requests may hold, and the caches together. The rest
// is for execution, for small buffers and for garbage.
const (
	requestPart = 8
	cachePart   = 4
)

// requestMemory is the budget of requests under a memory limit. However small that is,
// one account can always have its largest request and the answer to it.
func requestMemory(cfg *config.Config, limit int64) budget.Config {
	largest := 2 * (int64(cfg.Limits.BodyBytes) + int64(cfg.Limits.ResponseBytes)) // each of them is copied once
	account := max(int64(cfg.Memory.PerAccount), largest)
	return budget.Config{Process: max(min(int64(cfg.Memory.Requests), limit/requestPart), account), Account: account}
}

// cacheMemory scales the size of a cache down where all caches together would take too
// much of the memory limit.
func cacheMemory(cfg *config.Config, limit int64, size config.Size) uint64 {
	all := int64(cfg.Memory.RequestLog) + ledgerMemory(cfg)
	for i := range cfg.Networks {
		n := &cfg.Networks[i]
		all += int64(n.Cache)
		all += int64(provenMemory(n))
		if len(n.Nodes) == 0 {
			all += int64(cfg.Memory.Answers) + int64(cfg.Memory.State)
		}
	}
	allowed := limit / cachePart
	if all <= allowed {
		return uint64(size)
	}
	return uint64(float64(size) * float64(allowed) / float64(all))
}

// ledgerMemory is what the caches of all ledgers may take: some have their own, and the others
// share one.
func ledgerMemory(cfg *config.Config) int64 {
	var shared int64
	for i := range cfg.Networks {
		if n := &cfg.Networks[i]; n.Ledger.Blocks > 0 && n.Ledger.Memory == 0 {
			shared = int64(cfg.Memory.Ledgers)
		}
	}
	return shared + ownLedgerMemory(cfg)
}

// ownLedgerMemory is what the caches of ledgers may take that share none.
func ownLedgerMemory(cfg *config.Config) (all int64) {
	for i := range cfg.Networks {
		if n := &cfg.Networks[i]; n.Ledger.Blocks > 0 {
			all += int64(n.Ledger.Memory)
		}
	}
	return all
}

// provenMemory is what a network keeps of proven accounts: little where clients ask for proofs
// themselves.
func provenMemory(n *config.Network) config.Size {
	switch {
	case len(n.Nodes) == 0:
		return 0
	case n.Verify == config.VerifyState, n.Verify == config.VerifyExecution:
		return 32 << 20
	}
	return 4 << 20
}

// openMemory makes the budget that all requests draw on.
func (s *Server) openMemory() {
	cfg := requestMemory(s.cfg, memoryLimit())
	cfg.Pressure = s.pace.pressed
	s.memory = budget.New(cfg)
	s.metrics.Memory(func() obs.MemoryFigures {
		u := s.memory.Usage()
		return obs.MemoryFigures{Reserved: u.Reserved, Highest: u.Highest, Limit: u.Limit, Accounts: u.Accounts, OverShare: u.Refused.Account, OverLimit: u.Refused.Process}
	})
	s.log.Debug("request memory limits", "limit", cfg.Process, "account", cfg.Account)
}
