package server

import (
	"context"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/ipfs/unixfs"
)

const (
	departedEvery = 5 * time.Second
	// departedKept is how long pins of a deleted account are looked for: an upload may have
	// been in progress.
	departedKept = 24 * time.Hour
	departedMost = 1000 // accounts, or pins, that are taken at once
)

// departures remove the pins of accounts that were deleted, on this server or another one or
// by the command line.
type departures struct {
	*common
	store nodegate.DepartedStore
	pins  interface {
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

func (d *departures) clear(ctx context.Context) error {
	list, err := d.store.Departed(ctx, departedMost)
	if err != nil {
		return err
	}
	for _, one := range list {
		if err := d.unpinAll(ctx, one.AccountID); err != nil {
			return err
		}
		if time.Since(one.At) < departedKept {
			continue
		}
		if err := d.store.ForgetDeparted(ctx, one.AccountID); err != nil {
			return err
		}
	}
	return nil
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
		if err := d.unpin(ctx, accountID, cids); err != nil {
			return err
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
