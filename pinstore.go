package nodegate

import (
	"context"
	"time"
)

// PinStore keeps accounts' pins for an engine whose blocks lie on nodes that several
// servers share. It says who needs which content, and counts what each account pays:
// its pins, those that can still be undone, claims, and uploads without a pin. An
// engine that keeps pins beside its blocks does not use it.
//
// A pin comes in two steps, so that the nodes and the store agree whatever fails
// between them: ClaimPins, then the engine pins the content on its nodes, then
// CommitPins. Content that nobody needs any more is let go the other way round:
// ExpirePins, then for each of FreedContent BeginRemoval, the nodes, EndRemoval.
// Content is never claimed and removed at the same time.
type PinStore interface {
	// PinOf finds an account's pin of a CID. One that was taken off is NotFound.
	PinOf(ctx context.Context, accountID, cid string) (Pin, error)
	// PinsOf lists an account's pins in the order of CIDs.
	PinsOf(ctx context.Context, q PinQuery) ([]Pin, error)
	// PinnedBytes is what an account pays for.
	PinnedBytes(ctx context.Context, accountID string) (int64, error)

	// ClaimPins reserves the quota that a change's new pins need, and holds their
	// content until CommitPins or ReleasePins. It returns which of the content was
	// held before, by a pin or a claim of whomever.
	//
	// Returns QuotaReached, or Busy while some of the content is being removed.
	ClaimPins(ctx context.Context, c *PinChange) (held []string, err error)
	// CommitPins makes a change: all of it or nothing. Its claim ends.
	//
	// Returns NotFound for a pin that can't be taken off, renamed or brought back,
	// QuotaReached for loose bytes, and Conflict when new pins are not claimed, or
	// no longer.
	CommitPins(ctx context.Context, c *PinChange) error
	// ReleasePins gives up a claim. One that is not there is no error.
	ReleasePins(ctx context.Context, accountID, claim string) error

	// HeldContent lists content that pins need, those that can be undone included, in
	// order, after one. Repairs compare it with what the nodes have.
	HeldContent(ctx context.Context, after string, limit int) ([]string, error)

	// ExpirePins forgets what is past its time, and frees content that this leaves
	// without anybody. A dry run only counts.
	ExpirePins(ctx context.Context, before PinCutoffs, dryRun bool) (ExpiredPins, error)
	// FreedContent lists content that somebody let go of, in order, after one.
	FreedContent(ctx context.Context, after string, limit int) ([]string, error)
	// BeginRemoval holds freed content for its removal from the nodes, for at most
	// RemovalTime. It reports false when somebody needs it, or removes it already.
	BeginRemoval(ctx context.Context, content string, now time.Time) (bool, error)
	// EndRemoval ends what BeginRemoval began at that time: the content is forgotten
	// when it was removed, and stays freed otherwise.
	EndRemoval(ctx context.Context, content string, began time.Time, removed bool) error
}

// RemovalTime is how long a server may take to remove one piece of content. After
// that it counts as gone, and its removal is recreated by others.
const RemovalTime = 5 * time.Minute

// PinQuery asks for an account's pins.
type PinQuery struct {
	AccountID string
	After     string // a CID; the list begins behind it
	Limit     int
	// Unpinned asks for pins that were taken off after this time, and not for those
	// that hold. Zero asks for those that hold.
	Unpinned time.Time
}

// PinChange is a set of changes to one account's pins, done whole or not at all.
type PinChange struct {
	AccountID string
	Quota     int64  // bytes that the account may have stored; 0 is no limit
	Claim     string // the claim's own name, as unique as a random one is
	Ops       []PinOp
	Loose     int64 // bytes that were stored and that no pin keeps
	At        time.Time
	UndoSince time.Time // pins that were taken off before can't be brought back
}

// PinOp is one change of a pin.
type PinOp struct {
	Kind PinOpKind
	Pin  Pin // with PinRemove and PinUndo only its CID counts, with PinRename its name too
	// Content is what has to stay on the nodes for a new pin, in their words.
	Content string
}

// PinOpKind is what an operation does.
type PinOpKind uint8

// The kinds.
const (
	PinAdd    PinOpKind = iota // pin, or replace; without a name it keeps the old pin's
	PinRemove                  // take a pin off
	PinUndo                    // bring back one that was taken off
	PinRename                  // name one that holds, and change nothing else
)

// PinCutoffs are times: what is older than its own is past.
type PinCutoffs struct {
	Unpinned time.Time // pins that were taken off
	Claimed  time.Time // claims that nobody ended
	Loose    time.Time // uploads without a pin
	Now      time.Time
}

// ExpiredPins counts what is past its time.
type ExpiredPins struct {
	Pins, Claims, Loose int
	Bytes               int64 // that the accounts don't pay for any more
}
