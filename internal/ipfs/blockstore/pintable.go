package blockstore

import (
	"context"

	"github.com/cockroachdb/pebble"
	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/fairshare"
)

// pinTable is what the index knows of pins, and of what was stored without one. An
// account's usage changes with them, under the lock of the quotas.
type pinTable struct {
	index  *index
	quotas *quotas
}

// apply enters what a commit record says.
func (t *pinTable) apply(r *result) error {
	t.quotas.mu.Lock()
	defer t.quotas.mu.Unlock()
	return t.enter(r)
}

// applyReserved is apply for a batch, whose reservation ends with it.
func (t *pinTable) applyReserved(r *result, account string, reserved int64) error {
	t.quotas.mu.Lock()
	defer t.quotas.mu.Unlock()
	if err := t.enter(r); err != nil {
		return err
	}
	t.quotas.addReserved(account, -reserved)
	return nil
}

// applyCarried is apply for what compaction wrote again, and forgets the pins that
// are over.
func (t *pinTable) applyCarried(r *result, over []*pinState) error {
	t.quotas.mu.Lock()
	defer t.quotas.mu.Unlock()
	if err := t.enter(r); err != nil {
		return err
	}
	return t.forget(over)
}

// dropLoose forgets what was stored without a pin.
func (t *pinTable) dropLoose(list []loose) error {
	t.quotas.mu.Lock()
	defer t.quotas.mu.Unlock()
	w := t.index.db.NewBatch()
	changes := map[string]int64{}
	for i := range list {
		changes[list[i].account] -= list[i].bytes
		if err := w.Delete(list[i].key(), nil); err != nil {
			return t.index.failed(err)
		}
	}
	if err := t.quotas.addUsage(w, changes); err != nil {
		return err
	}
	return t.index.commit(w)
}

// each hands out the wanted pins of an account, by CID, until each says no.
func (t *pinTable) each(ctx context.Context, account string, wanted func(*pinState) bool, each func(nodegate.Pin) bool) error {
	return t.index.scan(accountKey(keyPin, account), func(_, value []byte) (bool, error) {
		if err := ctx.Err(); err != nil { // a request without turns may end, too
			return false, err
		}
		var p *pinState
		var err error
		if turnErr := fairshare.Do(ctx, func() { p, err = decodePinState(value) }); turnErr != nil {
			return false, turnErr
		}
		if err != nil {
			return false, t.index.failed(err)
		}
		return !wanted(p) || each(p.Pin), nil
	})
}

// enter enters the pins and the loose bytes of a commit. The caller holds the
// lock of the quotas.
func (t *pinTable) enter(r *result) error {
	w := t.index.db.NewBatch()
	changes := map[string]int64{}
	for _, p := range r.pins {
		old, err := t.set(w, p)
		if err != nil {
			return err
		}
		changes[p.AccountID] += p.paid()
		if old != nil {
			changes[p.AccountID] -= old.paid()
		}
	}
	for i := range r.loose {
		l := &r.loose[i]
		known, err := t.index.get(l.key())
		if err != nil {
			return err
		}
		if known == nil {
			changes[l.account] += l.bytes
		}
		if err := w.Set(l.key(), l.encode(), nil); err != nil {
			return t.index.failed(err)
		}
	}
	if err := t.quotas.addUsage(w, changes); err != nil {
		return err
	}
	return t.index.commit(w)
}

// set writes a pin's state and returns the one before.
func (t *pinTable) set(w *pebble.Batch, p *pinState) (*pinState, error) {
	key := pinKey(p.AccountID, p.CID)
	old := p.before
	if !p.looked {
		var err error
		if old, err = t.index.pin(key); err != nil {
			return nil, err
		}
	}
	p.first = p.segment
	if old != nil {
		p.first = min(old.first, p.segment)
		if err := addLive(w, old.segment, -old.space()); err != nil {
			return nil, t.index.failed(err)
		}
	}
	if err := addLive(w, p.segment, p.space()); err != nil {
		return nil, t.index.failed(err)
	}
	if err := w.Set(key, p.encode(), nil); err != nil {
		return nil, t.index.failed(err)
	}
	return old, nil
}

// forget removes pins of which the log knows nothing any more.
func (t *pinTable) forget(list []*pinState) error {
	w := t.index.db.NewBatch()
	for _, p := range list {
		if err := w.Delete(pinKey(p.AccountID, p.CID), nil); err != nil {
			return t.index.failed(err)
		}
	}
	return t.index.commit(w)
}
