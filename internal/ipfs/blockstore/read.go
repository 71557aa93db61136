package blockstore

import (
	"context"
	"errors"

	"github.com/ipfs/go-cid"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/ipfs/identity"
)

// Get reads a block and verifies it against its CID. Returns NotFound, or Damaged
// when the stored bytes are not what they were.
func (s *Store) Get(ctx context.Context, c cid.Cid) ([]byte, error) {
	return s.GetTo(ctx, c, nil)
}

// GetTo is Get into buf, when the block fits its capacity.
func (s *Store) GetTo(ctx context.Context, c cid.Cid, buf []byte) ([]byte, error) {
	if data, ok := identity.Data(c); ok {
		return append(buf[:0], data...), nil
	}
	hash, err := hashOf(c)
	if err != nil {
		return nil, err
	}
	if err := s.calls.enter(ctx); err != nil {
		return nil, err
	}
	defer s.calls.leave()
	return s.blocks.read(ctx, c, hash, buf)
}

// Size is the length of a block. It reads the index only. Errors are Get's.
func (s *Store) Size(ctx context.Context, c cid.Cid) (int, error) {
	if data, ok := identity.Data(c); ok {
		return len(data), nil
	}
	hash, err := hashOf(c)
	if err != nil {
		return 0, err
	}
	if err := s.calls.enter(ctx); err != nil {
		return 0, err
	}
	defer s.calls.leave()
	e, ok, err := s.index.block(hash)
	switch {
	case err != nil:
		return 0, err
	case !ok:
		return 0, errNoBlock(c)
	case e.damaged():
		return 0, errDamaged(c, nil)
	}
	return int(e.length), nil
}

// Has tells whether a block is stored and not known to be damaged.
func (s *Store) Has(ctx context.Context, c cid.Cid) (bool, error) {
	_, err := s.Size(ctx, c)
	if err == nil {
		return true, nil
	}
	if errors.Is(err, nodegate.NotFound) || errors.Is(err, nodegate.Damaged) {
		return false, nil
	}
	return false, err
}
