package nodegate

import (
	"context"
	"time"
)

// The store of accounts, keys, sessions, usage, pins and the audit log is several
// interfaces, one for each subject: who uses it takes those that it needs. A store reads
// and writes; the rules are above it. Times are kept to the microsecond, in UTC.
//
// Reads return NotFound for what is not there. Every method returns Busy when the
// database can't be reached.

// AccountStore reads accounts.
type AccountStore interface {
	Account(ctx context.Context, id string) (*Account, error)
	AccountByEmail(ctx context.Context, email string) (*Account, error)
	// Accounts lists in the order of ids, beginning after one.
	Accounts(ctx context.Context, after string, limit int) ([]*Account, error)
	// AccountsLike lists accounts whose e-mail address holds a text, in the order of
	// addresses, beginning after one.
	AccountsLike(ctx context.Context, part, after string, limit int) ([]*Account, error)
}

// KeyStore reads API keys.
type KeyStore interface {
	// Key finds a key of an account. The key of another account is NotFound.
	Key(ctx context.Context, accountID, id string) (*Key, error)
	// KeyByDigest finds the key that has a version with this digest, live or not.
	KeyByDigest(ctx context.Context, d Digest) (*Key, error)
	// KeysOf lists an account's keys, revoked ones too, oldest first.
	KeysOf(ctx context.Context, accountID string) ([]*Key, error)
	// KeysAfter lists some of KeysOf, beginning after a key; nil begins with the oldest.
	KeysAfter(ctx context.Context, accountID string, after *Key, limit int) ([]*Key, error)
	// ListKeys lists some of an account's keys: live ones before revoked ones, both
	// newest first.
	ListKeys(ctx context.Context, q KeyQuery) ([]*Key, error)
	// CountKeys counts an account's keys without reading them.
	CountKeys(ctx context.Context, accountID string) (KeyCount, error)
	// LiveKeys lists all keys that are not revoked, in the order of ids.
	LiveKeys(ctx context.Context, after string, limit int) ([]*Key, error)
}

// KeyQuery selects keys of an account.
type KeyQuery struct {
	AccountID   string
	Live        bool     // leaves revoked keys out
	IDs         []string // only these keys; nil is all
	Skip, Limit int
}

// KeyCount is how many keys an account has.
type KeyCount struct{ Live, Revoked int64 }

// Saver writes accounts and keys.
type Saver interface {
	// Save writes a change in one transaction: the rows, an entry in the change
	// sequence for each of them, and the audit entry at the end of its chain.
	// A row with Version 0 is new; any other replaces that very version. The
	// versions in c are counted up. With c.Delete the account's row goes instead, with its
	// keys, sessions, links and alerts; usage and the audit log stay.
	//
	// Returns NotFound when c.Link can't be used any more; Conflict when a row has another
	// version by now, or when the e-mail address or a digest is taken; QuotaReached for a new key beyond c.Keys.Live and
	// AccountBusy for one beyond c.Keys.Created.
	Save(ctx context.Context, c *Change) error
}

// ChangeStore is the sequence of what was saved, for those who follow it.
type ChangeStore interface {
	// Changes lists what was saved after a number of the change sequence, in the
	// order of its commits: a reader that goes on from the last number misses none.
	Changes(ctx context.Context, after int64, limit int) ([]Changed, error)
	// LastChange is the newest number of the change sequence.
	LastChange(ctx context.Context) (int64, error)
}

// AuditStore reads the audit log, which Save writes.
type AuditStore interface {
	// Audit lists entries after a number.
	Audit(ctx context.Context, after int64, limit int) ([]AuditEntry, error)
	// LastAudit is the number of the newest entry that was ever written, which the
	// store counts apart from the entries themselves; 0 before the first.
	LastAudit(ctx context.Context) (int64, error)
	// AuditBefore lists the latest entries before a number, newest first; 0 begins
	// with the last one. An account's id selects the entries about it, "" is all.
	AuditBefore(ctx context.Context, accountID string, before int64, limit int) ([]AuditEntry, error)
}

// SessionStore keeps the sessions of people who are signed in.
type SessionStore interface {
	SaveSession(ctx context.Context, s Session) error
	// SessionByDigest returns NotFound for a session that has ended or expired.
	SessionByDigest(ctx context.Context, d Digest, now time.Time) (*Session, error)
	DeleteSession(ctx context.Context, d Digest) error
	// SessionsOf lists the 100 newest sessions of an account that have not expired, newest
	// first.
	SessionsOf(ctx context.Context, accountID string, now time.Time) ([]Session, error)
	// DeleteSessions ends all sessions of an account, except one where keep is not zero.
	DeleteSessions(ctx context.Context, accountID string, keep Digest) error
}

// DepartedStore remembers accounts that were deleted until nothing is left of them. Save
// adds to it.
type DepartedStore interface {
	// Departed lists accounts that were deleted and may still have pins, the earliest first,
	// after one. The zero Departed is before all.
	Departed(ctx context.Context, after Departed, limit int) ([]Departed, error)
	// ForgetDeparted notes that nothing is left of an account.
	ForgetDeparted(ctx context.Context, accountID string) error
}

// Departed is an account that was deleted.
type Departed struct {
	AccountID string
	At        time.Time
}

// MetaStore keeps single values under names.
type MetaStore interface {
	// Meta reads the value under a name.
	//
	// Returns NotFound where there is none.
	Meta(ctx context.Context, name string) (string, error)
	// SetMeta writes a value under a name only when there is none yet, and returns
	// what is there afterwards.
	SetMeta(ctx context.Context, name, value string) (string, error)
	// ReplaceMeta writes a value under a name, whatever was there.
	ReplaceMeta(ctx context.Context, name, value string) error
	// DeleteMeta removes what is under a name. Nothing there is no error.
	DeleteMeta(ctx context.Context, name string) error
}

// LeaseStore lets one of several servers do what only one should do at a time.
type LeaseStore interface {
	// Lease gives the lease of a name to a holder until a time, or moves the end of one
	// that the holder has; an end that is not after now gives it back. It reports false
	// while another holder has it.
	Lease(ctx context.Context, name, holder string, now, until time.Time) (bool, error)
}

// UsageWriter keeps usage, by the minute, the hour and the day at once.
type UsageWriter interface {
	// AddUsage adds a batch to all resolutions in one transaction, once.
	AddUsage(ctx context.Context, b *UsageBatch) error
	// PurgeUsage deletes what is kept no longer, in small transactions, and returns
	// how many rows went. Expired sessions and old alerts go too.
	PurgeUsage(ctx context.Context, now time.Time) (int64, error)
}

// UsageReader reads what a UsageWriter keeps.
type UsageReader interface {
	// Usage lists rows in the order of time, one for each UsageKey and span that
	// begins at or after From and before To.
	//
	// Returns InvalidInput when there are more rows than can be listed at once.
	Usage(ctx context.Context, q UsageQuery) ([]Usage, error)
	// SumUsage adds usage up, in the order of time and then of groups. Steps and
	// groups without any are left out. It reads sums that are kept where there are
	// any, so that it takes milliseconds for a month of a hundred keys.
	//
	// Returns InvalidInput for an unknown dimension, and for more sums than can be
	// listed at once.
	SumUsage(ctx context.Context, q UsageSums) ([]UsageSum, error)
	// Spent sums the credits of a day, for all accounts and keys that used any.
	Spent(ctx context.Context, day time.Time) (*Spent, error)
	// Figures returns an account's storage figures; a month without any is zero.
	Figures(ctx context.Context, accountID string, month time.Time) (Figures, error)
	// LastUsed is when keys of an account were used last, those that were since a time: to
	// the minute in the last hour, to the hour in the last two days, to the day before.
	LastUsed(ctx context.Context, accountID string, keyIDs []string, since, now time.Time) (map[string]time.Time, error)
	// UsageByDay sums an account's usage over all its keys, one element for each day
	// with any that begins at or after from and before to.
	UsageByDay(ctx context.Context, accountID string, from, to time.Time) ([]DayUsage, error)
}

// Change is what Save writes. The store fills in the audit entry's number and digest.
type Change struct {
	Account *Account
	Key     *Key
	Keys    KeyLimits // hold for a Key that is new
	Audit   AuditEntry

	Link        Digest // of a link that this change uses up; zero is none
	EndLinks    bool   // ends all links of Account
	EndSessions bool   // ends all sessions of Account
	Delete      bool   // deletes Account

	// KeepOperator refuses the change with ErrLastOperator if no operator could sign in after
	// it. The store looks in the same transaction, so that of two servers that take the last
	// two operators one is refused.
	KeepOperator bool
}

// ErrLastOperator refuses a change that would leave nobody to run the service.
var ErrLastOperator = &Error{Op: "store.save", Code: InvalidInput, Msg: "this account is the only operator: make another account an operator first, or use the command line"}

// KeyLimits bound the keys of an account. The store counts in the transaction that
// adds a key, so that servers and requests beside each other can't pass them. A zero
// limit is no limit.
type KeyLimits struct {
	Live    int64 // keys that are not revoked
	Created int64 // keys created since Since, revoked ones too
	Revoked int64 // keys that were revoked before Since: a new key deletes the oldest beyond it
	Since   time.Time
}

// Changed is one element of the change sequence.
type Changed struct {
	Number    int64
	AccountID string
	KeyID     string // "" when the account itself changed
}
