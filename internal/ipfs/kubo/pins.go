package kubo

import (
	"context"
	"time"

	"github.com/nodegate/nodegate"
)

// pinReader reads accounts' pins.
type pinReader struct {
	store nodegate.PinStore
	undo  time.Duration // how long a pin that was taken off can be brought back
	now   func() time.Time
	life  context.Context // of the engine
}

// PinOf is an account's pin of a CID, or NotFound.
func (r *pinReader) PinOf(ctx context.Context, account, cid string) (nodegate.Pin, error) {
	return r.store.PinOf(ctx, account, cid)
}

// Pins hands an account's pins to each, by CID, until it says no.
func (r *pinReader) Pins(ctx context.Context, account string, each func(nodegate.Pin) bool) error {
	return r.eachPin(ctx, nodegate.PinQuery{AccountID: account}, each)
}

// Unpinned hands out the pins that an account took off and that Undo can bring back.
func (r *pinReader) Unpinned(ctx context.Context, account string, each func(nodegate.Pin) bool) error {
	return r.eachPin(ctx, nodegate.PinQuery{AccountID: account, Unpinned: r.now().Add(-r.undo)}, each)
}

func (r *pinReader) eachPin(ctx context.Context, q nodegate.PinQuery, each func(nodegate.Pin) bool) error {
	for q.Limit = 1000; ; {
		page, err := r.store.PinsOf(ctx, q)
		if err != nil {
			return err
		}
		for _, p := range page {
			if !each(p) {
				return nil
			}
			q.After = p.CID
		}
		if len(page) < q.Limit {
			return nil
		}
	}
}

// storedTime bounds a look at what an account has stored.
const storedTime = 5 * time.Second

// Stored is how many bytes an account pays for: the full size of each root that it
// pinned, undoable ones too, and what it stored without a pin until that is
// collected. It is 0 when the store does not answer; writes tell of that.
func (r *pinReader) Stored(account string) int64 {
	ctx, cancel := context.WithTimeout(r.life, storedTime)
	defer cancel()
	n, _ := r.store.PinnedBytes(ctx, account)
	return n
}

// Undo brings back a pin that was taken off. Returns NotFound when there is none,
// or when that was too long ago.
func (e *Engine) Undo(ctx context.Context, account, cid string) error {
	c := e.newChange(account)
	c.Ops = []nodegate.PinOp{{Kind: nodegate.PinUndo, Pin: nodegate.Pin{CID: cid}}}
	return e.cfg.Pins.CommitPins(ctx, c)
}

// Rename gives a pin another name; the nodes hear nothing of it. Returns NotFound for a
// pin that doesn't hold.
func (e *Engine) Rename(ctx context.Context, account, cid, name string) error {
	c := e.newChange(account)
	c.Ops = []nodegate.PinOp{{Kind: nodegate.PinRename, Pin: nodegate.Pin{CID: cid, Name: name}}}
	return e.cfg.Pins.CommitPins(ctx, c)
}
