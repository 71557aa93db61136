package filter

import (
	"context"
	"time"
)

// The bounds of filters. A place is one filter, or 4 KiB of a large one.
const (
	Life           = 15 * time.Minute // after the last poll
	MaxPlaces      = 500              // of an account on one network
	MaxPending     = 20_000           // transactions that are remembered for a network
	placeBytes     = 4 << 10
	largestRequest = 64 << 10 // bytes of a filter's parameters
)

// Store keeps filters. What is not loaded or saved for [Life] is gone.
type Store interface {
	// Create keeps a new filter, unless the account's places on the network are taken.
	Create(ctx context.Context, network, account, id string, places int, state []byte) (kept bool, err error)
	// Load returns the state of a filter, or nil when there is none.
	Load(ctx context.Context, network, account, id string) (state []byte, err error)
	// Save replaces what Load returned, unless somebody else has replaced it.
	Save(ctx context.Context, network, account, id string, before, after []byte) (saved bool, err error)
	Remove(ctx context.Context, network, account, id string) (removed bool, err error)

	// AddPending appends transactions that entered a network's pool. One that is known
	// stays where it is.
	AddPending(ctx context.Context, network string, hashes []string) error
	// Pending returns the oldest transactions after a position, at most so many, and
	// the position of the last one; with most 0, the position of the newest.
	Pending(ctx context.Context, network string, after uint64, most int) (hashes []string, last uint64, err error)
}
