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
	now := s.clock.stamp()
	return s.eachPin(ctx, account, func(p *pinState) bool { return p.undoable(now, s.cfg.Undo) }, each)
}

func (s *Store) eachPin(ctx context.Context, account string, wanted func(*pinState) bool, each func(nodegate.Pin) bool) error {
	if err := s.calls.enter(ctx); err != nil {
		return err
	}
	defer s.calls.leave()
	return s.pins.each(ctx, account, wanted, each)
}

// PinOf is an account's pin of a CID, or NotFound.
func (s *Store) PinOf(ctx context.Context, account, cid string) (nodegate.Pin, error) {
	if err := s.calls.enter(ctx); err != nil {
		return nodegate.Pin{}, err
	}
	defer s.calls.leave()
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

// Rename gives a pin another name. Returns NotFound for a pin that doesn't hold.
func (s *Store) Rename(ctx context.Context, account, cid, name string) error {
	b := s.Begin(account, 0)
	b.change(pinRename, nodegate.Pin{CID: cid, Name: name})
	return b.Commit(ctx)
}
