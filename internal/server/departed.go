package server

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/ipfs/unixfs"
)

const (
	departedEvery = 5 * time.Second
	// departedKept is how long pins of a deleted account are looked for: an upload may have
	// been in progress.
	departedKept   = 24 * time.Hour
	departedMost   = 1000 // accounts, or pins, that are taken at once
	departedErrors = 3    // of one round that are logged

	departedLease     = "departed"
	departedLeaseTime = time.Minute
)

// turns are for servers that share pins: of those that ask, one at a time has its turn, and
// keeps it as long as it asks.
func turns(leases nodegate.LeaseStore) func(context.Context) (bool, error) {
	holder := rand.Text()
	return func(ctx context.Context) (bool, error) {
		now := time.Now()
		return leases.Lease(ctx, departedLease, holder, now, now.Add(departedLeaseTime))
	}
}

// departures remove the pins of accounts that were deleted, on this server or another one or
// by the command line.
type departures struct {
	*common
	store nodegate.DepartedStore
	// turn tells whether it is this server's turn, where several share the pins; nil where
	// each has its own.
	turn func(ctx context.Context) (bool, error)
	pins interface {
		Pins(ctx context.Context, accountID string, each func(nodegate.Pin) bool) error
		Begin(accountID string, quota int64) unixfs.Batch
	}
}

// run looks again and again, until ctx ends.
func (d *departures) run(ctx context.Context) {
	tick := time.NewTicker(departedEvery)
	defer tick.Stop()
	failed := false
	for {
		err := d.clear(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil && !failed {
			d.log.Error("can't remove the pins of a deleted account; trying again", "retry_in", departedEvery, "err", err)
		}
		failed = err != nil
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// clear goes through all that have left. An account whose pins can't be removed holds up
// nobody else.
func (d *departures) clear(ctx context.Context) error {
	if d.turn != nil {
		if mine, err := d.turn(ctx); err != nil || !mine {
			return err
		}
	}
	var failures []error
	for after := (nodegate.Departed{}); ; {
		list, err := d.store.Departed(ctx, after, departedMost)
		if err != nil {
			return errors.Join(append(failures, err)...)
		}
		for _, one := range list {
			if err := d.remove(ctx, one); err != nil && len(failures) < departedErrors {
				failures = append(failures, err)
			}
			after = one
		}
		if len(list) < departedMost || ctx.Err() != nil {
			return errors.Join(failures...)
		}
	}
}

// remove takes off the pins of an account that left, and forgets it after a while.
func (d *departures) remove(ctx context.Context, one nodegate.Departed) error {
	if err := d.unpinAll(ctx, one.AccountID); err != nil {
		return err
	}
	if time.Since(one.At) < departedKept {
		return nil
	}
	return d.store.ForgetDeparted(ctx, one.AccountID)
}

// unpinAll takes off the pins of an account, some at a time.
func (d *departures) unpinAll(ctx context.Context, accountID string) error {
	for {
		var cids []string
		err := d.pins.Pins(ctx, accountID, func(p nodegate.Pin) bool {
			cids = append(cids, p.CID)
			return len(cids) < departedMost
		})
		if err != nil || len(cids) == 0 {
			return err
		}
		if err := d.unpin(ctx, accountID, cids); err != nil && !errors.Is(err, nodegate.NotFound) {
			return err // one that is gone by now was taken off by somebody else: look again
		}
	}
}

func (d *departures) unpin(ctx context.Context, accountID string, cids []string) error {
	b := d.pins.Begin(accountID, 0)
	defer b.Abort()
	for _, cid := range cids {
		b.Unpin(cid)
	}
	return b.Commit(ctx)
}
