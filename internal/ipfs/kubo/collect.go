package kubo

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/ipfs/blockstore"
)

const (
	freedPage   = 100
	removalTime = time.Minute // of one piece of content, far below nodegate.RemovalTime
)

// Collect forgets pins, claims and uploads without a pin that are past their time,
// and unpins on the nodes what nobody needs any more. Deleting blocks is the nodes'
// own business. Several servers may collect at once. While a node is away nothing is
// unpinned: it would keep its pins forever. A dry run changes nothing.
//
// Returns Conflict when this server is collecting already.
func (e *Engine) Collect(ctx context.Context, dryRun bool) (report blockstore.CollectReport, err error) {
	if !e.collecting.TryLock() {
		return report, &nodegate.Error{Op: "kubo.collect", Code: nodegate.Conflict, Msg: "a collection is running already: wait until it ends"}
	}
	defer e.collecting.Unlock()
	now := e.cfg.now()
	expired, err := e.cfg.Pins.ExpirePins(ctx, nodegate.PinCutoffs{
		Unpinned: now.Add(-e.cfg.Undo), Claimed: now.Add(-claimTime), Loose: now.Add(-e.cfg.Undo), Now: now,
	}, dryRun)
	report.Pins, report.Loose, report.Bytes = expired.Pins, expired.Loose, expired.Bytes
	if err != nil || dryRun {
		return report, err
	}
	return report, e.removeFreed(ctx)
}

// removeFreed goes through all content that somebody let go of.
func (e *Engine) removeFreed(ctx context.Context) error {
	for after := ""; ; {
		list, err := e.cfg.Pins.FreedContent(ctx, after, freedPage)
		if err != nil {
			return err
		}
		for _, content := range list {
			if len(e.usable()) < len(e.nodes) {
				e.cfg.Log.Warn("a storage node is unavailable: unneeded content stays pinned until the next garbage collection")
				return nil
			}
			if err := e.remove(ctx, content); err != nil {
				return err
			}
			after = content
		}
		if len(list) < freedPage {
			return nil
		}
	}
}

// remove unpins content on all nodes, unless somebody needs it. Until it ends nobody
// can claim it.
func (e *Engine) remove(ctx context.Context, content string) error {
	began := e.cfg.now().Truncate(time.Microsecond)
	mine, err := e.cfg.Pins.BeginRemoval(ctx, content, began)
	if err != nil || !mine {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, removalTime)
	defer cancel()
	errs := make([]error, len(e.nodes))
	var wait sync.WaitGroup
	for i, n := range e.nodes {
		wait.Go(func() { errs[i] = n.unpin(limited, content) })
	}
	wait.Wait()
	failed := errors.Join(errs...)
	if failed != nil {
		e.cfg.Log.Warn("can't unpin content on every node: the next garbage collection tries again", "err", failed)
	}
	ending, stop := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer stop()
	return errors.Join(ctx.Err(), e.cfg.Pins.EndRemoval(ending, content, began, failed == nil))
}
