package auth

import (
	"context"
	"errors"
	"time"

	"github.com/nodegate/nodegate"
)

// askTime bounds each reading of the store, so that a hung one is noticed.
const askTime = 5 * time.Second

// follow reads the change sequence until the authenticator is closed.
func (d *Authenticator) follow(ctx context.Context) {
	defer close(d.ended)
	tick := time.NewTicker(d.cfg.Follow)
	defer tick.Stop()
	lost := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-d.poke:
		}
		waiting := d.takeWaiting() // before the reading: it covers what they wait for
		d.expire()
		err := d.catchUp(ctx)
		for _, w := range waiting {
			w <- err
		}
		if err != nil && !lost && ctx.Err() == nil {
			d.cfg.Log.Error("the account store can't be read; known keys keep working for five minutes", "err", err)
		}
		if err == nil && lost {
			d.cfg.Log.Info("the account store is reachable again")
		}
		lost = err != nil
		d.away.Store(lost && ctx.Err() == nil)
	}
}

// takeWaiting are those who wait for the reading that follows.
func (d *Authenticator) takeWaiting() []chan error {
	d.waiting.Lock()
	defer d.waiting.Unlock()
	list := d.waiting.list
	d.waiting.list = nil
	return list
}

// catchUp takes over what changed since the last reading.
func (d *Authenticator) catchUp(ctx context.Context) error {
	for {
		changes, err := d.changes(ctx)
		if err != nil {
			return err
		}
		if err := d.takeOver(ctx, changes); err != nil {
			return err
		}
		if len(changes) < page {
			d.contact.hear()
			return nil
		}
	}
}

func (d *Authenticator) changes(ctx context.Context) ([]nodegate.Changed, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	return d.cfg.Store.Changes(ctx, d.last, page)
}

// takeOver reloads what a run of changes names, each once. What is done is not
// done again after a failure, so a slow store is caught up with in the end.
func (d *Authenticator) takeOver(ctx context.Context, changes []nodegate.Changed) error {
	type subject struct{ account, key string }
	done := map[subject]bool{}
	for _, c := range changes {
		s := subject{c.AccountID, c.KeyID}
		if !done[s] {
			if err := d.reload(ctx, c.AccountID, c.KeyID); err != nil && !errors.Is(err, nodegate.NotFound) {
				return err
			}
			done[s] = true
		}
		d.last = c.Number
	}
	return nil
}

// expire ends the versions whose overlap has run out, and sweeps out all that ended.
func (d *Authenticator) expire() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for digest, v := range d.expiring {
		if v.expired() {
			d.remove(digest)
		}
	}
	d.sweep()
}
