package nodegate

import (
	"context"
	"time"
)

// Account is one customer: who they are, what they pay for, and their keys.
type Account struct {
	ID       string
	Email    string // lower case; unique
	Password string // argon2id in PHC form; "" can't sign in
	Plan     string // the name of a Plan in the configuration
	Operator bool   // may see the whole service, not only the own account
	Card     *Card  // nil without one
	Created  time.Time

	// Development gives the account's keys the scope development. Anyone can sign up, so
	// only operators grant it.
	Development bool

	// Unverified says that nobody has shown yet that they read mail at Email.
	Unverified bool

	// Suspended is since when an operator keeps the account from signing in and its keys
	// from working; zero for others.
	Suspended time.Time

	// PlanChosen is when a member last chose the plan; zero if none did.
	PlanChosen time.Time

	// Version counts the changes. A Store refuses to save over another version
	// than the one that was read.
	Version int64
}

// Card is what is kept of a billing card. The number never reaches us, or is
// forgotten before anything is written.
type Card struct {
	Brand     string // visa, mastercard, ...
	LastFour  string
	ExpMonth  int // 1 to 12
	ExpYear   int // four digits
	Processor string
	Reference string // the processor's own name for it, to remove it there; not card data
}

// Valid tells whether the card is good at a time: to the end of its last month.
func (c *Card) Valid(now time.Time) bool {
	if c == nil {
		return false
	}
	firstBad := time.Date(c.ExpYear, time.Month(c.ExpMonth)+1, 1, 0, 0, 0, 0, time.UTC)
	return now.Before(firstBad)
}

// CardProcessor verifies billing cards. The embedded one knows the test numbers;
// the real one is Stripe, where a card's number never passes through us.
type CardProcessor interface {
	// Name is stored with the cards of this processor.
	Name() string
	// Begin prepares to take a card of a customer. The returned secret is for the
	// customer's browser, where the processor has one; otherwise it is "".
	Begin(ctx context.Context, accountID, email string) (CardSetup, error)
	// Complete verifies the card of a finished set-up.
	//
	// Returns CardDeclined when the processor refuses the card, is not sure yet or
	// finds it expired; InvalidInput for one that can't be read; Busy when the
	// processor can't be reached.
	Complete(ctx context.Context, e CardEntry) (*Card, error)
	// Remove forgets a card. One that is not there any more is no error.
	Remove(ctx context.Context, c *Card) error
}

// CardSetup is a card that is about to be entered.
type CardSetup struct {
	ID           string // of the set-up, at the processor
	ClientSecret string // for the processor's own form
	PublicKey    string // for the processor's own form
}

// CardEntry is what came of a set-up: its ID where the processor has the card
// already, or the card itself for the embedded test processor.
type CardEntry struct {
	AccountID string
	SetupID   string

	Number            string
	ExpMonth, ExpYear int
	CVC               string
}

// Session is one sign-in of an account. The token is the browser's; the store
// has its digest only.
type Session struct {
	Digest    Digest
	AccountID string
	Created   time.Time
	Expires   time.Time

	// From and Agent are the client's address and its User-Agent header, for the account's
	// list of sessions. They go with the session.
	From, Agent string
}
