package kubo

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/nodegate/nodegate"
)

// Commit ends the batch. When it returns nil the nodes have its blocks and pins, and
// the store knows who pins what; on an error no pin of it is there.
//
// Returns QuotaReached, Busy when too few nodes answer, InsufficientStorage when they
// have no room, or NotFound for an Unpin of no pin.
func (b *Batch) Commit(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.usable(); err != nil {
		return err
	}
	b.ended = true
	defer b.forget()
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := b.store(ctx); err != nil {
		return err
	}
	c := b.pinChange()
	switch {
	case len(c.Ops) == 0 && c.Loose == 0:
		return nil
	case !b.pins():
		return b.e.cfg.Pins.CommitPins(ctx, c)
	}
	return b.e.pin(ctx, c, &origin{homes: b.homes, sources: b.sources, kept: b.kept})
}

// origin is where the content of new pins comes from.
type origin struct {
	homes   []*node     // have all blocks of the batch
	sources []*node     // gave the others
	kept    []keptBlock // all blocks of the batch, or none
}

// store brings all blocks to the nodes.
func (b *Batch) store(ctx context.Context) error {
	if b.streams != nil {
		return b.endStreams(ctx)
	}
	if len(b.kept) == 0 {
		return nil
	}
	if b.homes != nil { // a part was streamed before: the rest goes to the same nodes
		if err := b.openStreams(ctx); err != nil {
			return err
		}
		return b.endStreams(ctx)
	}
	var err error
	b.homes, err = b.e.spread(ctx, b.e.usable(), func(ctx context.Context, n *node) error {
		return b.e.send(ctx, n, b.kept)
	})
	return err
}

// send brings some blocks to a node.
func (e *Engine) send(ctx context.Context, n *node, list []keptBlock) error {
	u, err := e.openWith(ctx, n, list)
	if err != nil {
		return err
	}
	if err := u.finish(ctx); err != nil {
		u.abort()
		return err
	}
	return nil
}

// spread does something on as many nodes as there are to be copies, and takes others
// for those that fail. It returns where it was done.
func (e *Engine) spread(ctx context.Context, nodes []*node, do func(context.Context, *node) error) (done []*node, err error) {
	var causes []error
	var mu sync.Mutex
	for len(done) < e.cfg.Copies {
		missing := e.cfg.Copies - len(done)
		if len(nodes) < missing {
			return nil, orCancelled(ctx, errCopies(e.cfg.Copies, causes))
		}
		var wait sync.WaitGroup
		for _, n := range nodes[:missing] {
			wait.Go(func() {
				err := do(ctx, n)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					done = append(done, n)
				} else {
					causes = append(causes, err)
				}
			})
		}
		wait.Wait()
		nodes = nodes[missing:]
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return done, nil
}

// pins tells whether the batch pins something; if not, all its blocks are loose.
func (b *Batch) pins() bool {
	return slices.ContainsFunc(b.ops, func(op nodegate.PinOp) bool { return op.Kind == nodegate.PinAdd })
}

// pinChange is the batch for the store of pins.
func (b *Batch) pinChange() *nodegate.PinChange {
	c := b.e.newChange(b.account)
	c.Quota, c.Ops = b.quota, b.ops
	for i := range c.Ops {
		if p := &c.Ops[i].Pin; p.Created.IsZero() {
			p.Created = c.At
		}
	}
	c.Loose = b.unpinned
	if !b.pins() {
		c.Loose = b.bytes
	}
	return c
}

func (e *Engine) newChange(account string) *nodegate.PinChange {
	now := e.cfg.now()
	return &nodegate.PinChange{AccountID: account, Claim: rand.Text(), At: now, UndoSince: now.Add(-e.cfg.Undo)}
}

// pin claims content, pins it on the nodes and makes the pins. A caller that leaves
// does not end what a node is doing, but then the pins are not made.
func (e *Engine) pin(ctx context.Context, c *nodegate.PinChange, from *origin) error {
	held, err := e.claim(ctx, c)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	if !e.spawn(func() { ended <- e.pinClaimed(ctx, c, held, from) }) {
		e.release(c)
		return errAway(nil)
	}
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// claim waits a little for content that is being removed.
func (e *Engine) claim(ctx context.Context, c *nodegate.PinChange) (held []string, err error) {
	const every, patience = 200 * time.Millisecond, 5 * time.Second
	for end := time.Now().Add(patience); ; {
		held, err = e.cfg.Pins.ClaimPins(ctx, c)
		if !errors.Is(err, nodegate.Busy) || ctx.Err() != nil || time.Now().After(end) {
			return held, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(every):
		}
	}
}

func (e *Engine) pinClaimed(ctx context.Context, c *nodegate.PinChange, held []string, from *origin) error {
	detached, cancel := context.WithTimeout(e.life, e.cfg.limits.pinning)
	defer cancel()
	contents := map[string]bool{} // and whether others hold it
	for _, op := range c.Ops {
		if op.Kind == nodegate.PinAdd {
			contents[op.Content] = false
		}
	}
	for _, content := range held {
		contents[content] = true
	}
	near := append(slices.Clone(from.homes), from.sources...)
	_, err := e.spread(detached, ordered(near, e.usable()), func(ctx context.Context, n *node) error {
		home := slices.Contains(from.homes, n)
		if !home && from.kept != nil { // it stands in for one that failed
			if err := e.send(ctx, n, from.kept); err != nil {
				return err
			}
		}
		return e.pinOn(ctx, n, contents, home)
	})
	if err == nil && ctx.Err() != nil {
		err = ctx.Err() // the caller was told that it failed
	}
	if err == nil {
		err = e.cfg.Pins.CommitPins(detached, c)
	}
	if err != nil {
		e.release(c)
	}
	return err
}

// releaseTime bounds the giving up of a claim. Without it the claim ends by itself.
const releaseTime = 5 * time.Second

func (e *Engine) release(c *nodegate.PinChange) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.life), releaseTime)
	defer cancel()
	if err := e.cfg.Pins.ReleasePins(ctx, c.AccountID, c.Claim); err != nil {
		e.cfg.Log.Warn("can't release a claim on content: it expires within an hour", "err", err)
	}
}
