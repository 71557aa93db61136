package ratelimit

import (
	"context"
	"sync"
	"sync/atomic"
)

// lose notes that the shared limiter does not answer.
func (m *Limiter) lose(err error) {
	if m.down.CompareAndSwap(false, true) {
		m.log.Warn("the shared rate limiter does not answer: each server applies limits on its own until it does", "err", err)
	}
}

// probe looks for a lost limiter and tells it what was used meanwhile.
func (m *Limiter) probe() {
	if !m.down.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), m.patience)
	_, err := m.shared.Take(ctx, Ask{Name: "probe"})
	cancel()
	if err != nil || m.settle(context.Background(), false) != nil {
		return
	}
	m.down.Store(false)
	m.log.Info("the shared rate limiter answers again")
}

// settleUp reports the debts of accounts that have become quiet.
func (m *Limiter) settleUp() {
	if !m.down.Load() {
		_ = m.settle(context.Background(), false) // a failure is noted where it happens
	}
}

// debt is an Ask that only reports.
type debt struct {
	account *account
	tally   *tally
	ask     Ask
}

// settlers is how many debts are reported at a time.
const settlers = 16

// settle reports what is owed, and with all it gives unused leases back. After a
// failure it begins no other report, and returns it.
func (m *Limiter) settle(ctx context.Context, all bool) error {
	debts := make(chan debt)
	var failed atomic.Pointer[error]
	var settling sync.WaitGroup
	for range settlers {
		settling.Go(func() {
			for d := range debts {
				if err := m.take(ctx, d.account, d.tally, d.ask); err != nil {
					failed.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	m.table.each(func(a *account, t *tally) {
		l := t.lease
		if l == nil || l.flight != nil || failed.Load() != nil || l.owed == 0 && (!all || l.left == 0) {
			return
		}
		if all {
			l.owed, l.left = l.owed-l.left, 0
		}
		l.flight = make(chan struct{})
		d := debt{account: a, tally: t, ask: l.ask(t)}
		a.mu.Unlock() // take needs it
		debts <- d
		a.mu.Lock()
	})
	close(debts)
	settling.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}
