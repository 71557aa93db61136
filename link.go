package nodegate

import (
	"context"
	"time"
)

// LinkPurpose is what a Link allows.
type LinkPurpose string

// The purposes of links.
const (
	LinkSignUp LinkPurpose = "signup" // create an account for the address
	LinkReset  LinkPurpose = "reset"  // choose a new password
	LinkVerify LinkPurpose = "verify" // confirm the account's address
	LinkEmail  LinkPurpose = "email"  // move the account to the address
)

// Link is a link that was mailed to somebody, or printed for an operator to pass on. It
// works once, for a short time. The token in it is its holder's; the store has its digest only.
type Link struct {
	Digest    Digest
	Purpose   LinkPurpose
	AccountID string // "" before there is an account
	Email     string // that the link is about, in lower case
	Mailed    bool   // it was sent to Email: whoever has it reads mail there
	Created   time.Time
	Expires   time.Time
}

// LinkStore keeps the links that nobody has used yet. Save uses them up.
type LinkStore interface {
	// SaveLink keeps a new link. Older ones of the same account, address and purpose end:
	// only the newest works.
	//
	// Returns NotFound for an account that is not there.
	SaveLink(ctx context.Context, l Link) error
	// LinkByDigest returns NotFound for a link that was used, replaced or has expired.
	LinkByDigest(ctx context.Context, d Digest, now time.Time) (*Link, error)
}
