package nodegate

import (
	"context"
	"time"
)

// PinRequest is what an account has asked the pinning service for: to keep the content
// of a CID. Several requests may ask for the same CID; the pin stays as long as one of
// them does.
type PinRequest struct {
	AccountID string
	ID        string
	CID       string // in its canonical text form
	Name      string
	Origins   []string          // addresses that are said to have the content
	Meta      map[string]string // the client's own
	Status    PinRequestStatus
	Details   string    // why it failed, or why it waits
	Replaces  string    // the request that ends when this one is pinned, or ""
	Created   time.Time // no two requests of an account that were asked for have the same millisecond

	// Leased is until when a server works on the request, or lets it rest.
	Leased time.Time
}

// PinRequestStatus is how far a request has come, in the words of the pinning service API.
type PinRequestStatus string

// The statuses. Requests wait while they are queued or pinning.
const (
	PinQueued  PinRequestStatus = "queued"
	PinPinning PinRequestStatus = "pinning"
	PinPinned  PinRequestStatus = "pinned"
	PinFailed  PinRequestStatus = "failed"
)

// Waits tells whether there is still something to do.
func (s PinRequestStatus) Waits() bool { return s == PinQueued || s == PinPinning }

// PinRequestStore keeps pin requests. The pins themselves are in the storage engine.
type PinRequestStore interface {
	// AddPinRequest writes a new request. Where Created is zero, it becomes now or the
	// next free millisecond. A request that is there already is left as it is.
	//
	// Returns QuotaReached when the account has as many requests, or as many bytes of
	// them, as it may, and AccountBusy when as many of them wait as may.
	AddPinRequest(ctx context.Context, r *PinRequest, now time.Time, b PinRequestBounds) error
	// PinRequest finds a request of an account. Another account's is NotFound.
	PinRequest(ctx context.Context, accountID, id string) (*PinRequest, error)
	// PinRequests hands an account's requests to each, in no order.
	PinRequests(ctx context.Context, q PinRequestQuery, each func(*PinRequest) error) error
	// DeletePinRequest removes a request. Returns NotFound.
	DeletePinRequest(ctx context.Context, accountID, id string) error

	// ClaimPinRequest takes an account's oldest request that waits and that no server
	// works on, until a time. Returns NotFound.
	ClaimPinRequest(ctx context.Context, accountID string, now, until time.Time) (*PinRequest, error)
	// RenewPinRequest moves the end of a claim. It reports false when the request is gone
	// or doesn't wait any more.
	RenewPinRequest(ctx context.Context, accountID, id string, until time.Time) (bool, error)
	// EndPinRequest writes status, details and lease of a request that waits.
	// Returns NotFound.
	EndPinRequest(ctx context.Context, r *PinRequest) error
	// RequeuePinRequests lets an account's pinned requests for a CID wait again.
	RequeuePinRequests(ctx context.Context, accountID, cid string) (int64, error)
	// WaitingPinAccounts lists accounts with requests that could be claimed, in order,
	// after one.
	WaitingPinAccounts(ctx context.Context, after string, now time.Time, limit int) ([]string, error)
}

// PinRequestQuery selects requests of an account.
type PinRequestQuery struct {
	AccountID     string
	CIDs          []string // only these; nil is all
	Statuses      []PinRequestStatus
	After, Before time.Time // when they were created, both included; zero is no bound
	Limit         int       // any so many of them; 0 is no limit
	Brief         bool      // only ID, CID and Status are read
}

// PinRequestBounds is what an account may have.
type PinRequestBounds struct {
	Requests int64
	Bytes    int64 // of names, origins and metadata
	Waiting  int64
}
