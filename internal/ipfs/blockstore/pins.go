package blockstore

import (
	"context"

	"github.com/nodegate/nodegate"
)

// Pins hands an account's pins to each, by CID, until it says no.
func (s *Store) Pins(ctx context.Context, account string, each func(nodegate.Pin) bool) error {
	return s.eachPin(ctx, account, (*pinState).live, each)
}

// Unpinned hands out the pins that an account took off and that Undo can bring back.
func (s *Store) Unpinned(ctx context.Context, account string, each func(nodegate.Pin) bool) error {
	now := s.stamp()
	return s.eachPin(ctx, account, func(p *pinState) bool { return p.undoable(now, s.cfg.Undo) }, each)
}

func (s *Store) eachPin(ctx context.Context, account string, wanted func(*pinState) bool, each func(nodegate.Pin) bool) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	return s.index.scan(accountKey(keyPin, account), func(_, value []byte) (bool, error) {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		p, err := decodePinState(value)
		if err != nil {
			return false, s.index.failed(err)
		}
		return !wanted(p) || each(p.Pin), nil
	})
}

// PinOf is an account's pin of a CID, or NotFound.
func (s *Store) PinOf(ctx context.Context, account, cid string) (nodegate.Pin, error) {
	if err := s.enter(ctx); err != nil {
		return nodegate.Pin{}, err
	}
	defer s.leave()
	p, err := s.index.pin(pinKey(account, cid))
	if err != nil {
		return nodegate.Pin{}, err
	}
	if p == nil || !p.live() {
		return nodegate.Pin{}, errNoPin("pin", cid)
	}
	return p.Pin, nil
}

// Undo brings back a pin that was taken off. Returns NotFound when there is none,
// or when that was too long ago.
func (s *Store) Undo(ctx context.Context, account, cid string) error {
	b := s.Begin(account, 0)
	b.change(pinUndo, nodegate.Pin{CID: cid})
	return b.Commit(ctx)
}
