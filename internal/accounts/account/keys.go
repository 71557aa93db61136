package account

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/credential"
	"github.com/nodegate/nodegate/internal/method"
)

// IssuedKey is a key whose texts are shown to its owner. The secret is shown this
// once; nobody can read it again.
type IssuedKey struct {
	Key    *nodegate.Key
	Value  string // the API key; "" when only the secret is new
	Secret string // "" when only the key is new
}

// apiKeys are the use cases around API keys.
type apiKeys struct {
	store interface {
		nodegate.AccountStore
		nodegate.KeyStore
	}
	saver  *saver
	plans  *planTable
	vault  *credential.Vault
	verify bool // only accounts whose address was verified create keys
}

// CreateKey makes a key with its secret.
//
// Returns NotFound for the account, Forbidden for one whose e-mail address has to be verified
// first, InvalidInput for a name or settings that can't be used, QuotaReached when the account has all keys that its plan allows and AccountBusy
// when it has created too many within a day.
func (s *apiKeys) CreateKey(ctx context.Context, actor nodegate.Actor, accountID, name string, settings nodegate.KeySettings) (*IssuedKey, error) {
	a, err := s.store.Account(ctx, accountID)
	if err != nil {
		return nil, err
	}
	if s.verify && a.Unverified {
		return nil, errUnverified
	}
	if err := s.checkSettings(a, name, &settings, nodegate.KeySettings{}); err != nil {
		return nil, err
	}
	k := &nodegate.Key{ID: credential.NewID("k"), AccountID: a.ID, Name: name, Settings: settings, Created: now()}
	issued := &IssuedKey{Key: k, Value: credential.NewKey(), Secret: credential.NewSecret()}
	k.Values = []nodegate.KeyValue{s.keyValue(k.ID, issued.Value)}
	k.Secrets = []nodegate.KeySecret{{Digest: s.vault.SecretDigest(k.ID, issued.Secret)}}
	err = s.saver.save(ctx, actor, func() (*nodegate.Change, error) {
		return &nodegate.Change{Key: k, Keys: s.keyLimits(a), Audit: nodegate.AuditEntry{Action: "key.create", AccountID: a.ID, Subject: k.ID, Detail: name}}, nil
	})
	if err != nil {
		return nil, err
	}
	return issued, nil
}

var errUnverified = &nodegate.Error{Op: "account.key", Code: nodegate.Forbidden, Msg: "verify the account's e-mail address first: Settings on the dashboard, or nodegate account verify"}

// Keys that were created and revoked stay in the store, so their number is bounded by
// the day. Plans with few keys still leave enough to replace them now and then. Of those that
// were revoked longer ago, the oldest are deleted.
const (
	createdSpan    = 24 * time.Hour
	minKeysPerDay  = 100
	revokedKeys    = 1_000
	maxRevokedKeys = 10_000 // of plans without a limit
)

// keyLimits are the bounds for one more key of an account.
func (s *apiKeys) keyLimits(a *nodegate.Account) nodegate.KeyLimits {
	most := s.plans.PlanOf(a).Keys
	since := now().Add(-createdSpan)
	if most <= 0 {
		return nodegate.KeyLimits{Revoked: maxRevokedKeys, Since: since}
	}
	return nodegate.KeyLimits{Live: most, Created: max(most, minKeysPerDay), Revoked: max(most, revokedKeys), Since: since}
}

func (s *apiKeys) keyValue(id, value string) nodegate.KeyValue {
	return nodegate.KeyValue{Digest: s.vault.KeyDigest(value), Sealed: s.vault.Seal(id, value), Prefix: value[:4]}
}

// checkSettings holds a name and settings against the rules, and limits that are
// new against the plan: they can only be lower. Limits that were good once stay
// when the plan shrinks, as the plan's own hold beside them.
func (s *apiKeys) checkSettings(a *nodegate.Account, name string, settings *nodegate.KeySettings, before nodegate.KeySettings) error {
	if err := nodegate.CheckKeyName(name); err != nil {
		return err
	}
	if err := settings.Normalize(); err != nil {
		return err
	}
	if err := settings.CheckSize(&before); err != nil {
		return err
	}
	if err := checkMethodNames(settings.Methods, before.Methods); err != nil {
		return err
	}
	if err := checkExpiry(settings.Expires, before.Expires); err != nil {
		return err
	}
	plan := s.plans.PlanOf(a)
	if settings.CreditsPerSecond != before.CreditsPerSecond && plan.CreditsPerSecond > 0 && settings.CreditsPerSecond > plan.CreditsPerSecond {
		return invalid("a key's limit can't exceed the plan's " + strconv.FormatInt(plan.CreditsPerSecond, 10) + " credits a second")
	}
	if settings.CreditsPerDay != before.CreditsPerDay && plan.CreditsPerDay > 0 && settings.CreditsPerDay > plan.CreditsPerDay {
		return invalid("a key's limit can't exceed the plan's " + strconv.FormatInt(plan.CreditsPerDay, 10) + " credits a day")
	}
	return nil
}

// maxExpiry is how far ahead a key can expire, in years.
const maxExpiry = 10

func checkExpiry(at, before time.Time) error {
	switch {
	case at.Equal(before) || at.IsZero():
		return nil
	case !at.After(now()):
		return invalid("a key can only expire in the future; to end it now, revoke it")
	case at.After(now().AddDate(maxExpiry, 0, 0)):
		return invalid("a key must expire within 10 years, or never")
	}
	return nil
}

// checkMethodNames refuses misspelt methods: the list would refuse what its owner wants to
// allow. Entries that were there before stay.
func checkMethodNames(methods, before []string) error {
	for _, m := range methods {
		nearest, misspelt := method.Misspelt(m)
		if misspelt && !slices.Contains(before, m) {
			return invalid("unknown method " + m + ": did you mean " + nearest + "?")
		}
	}
	return nil
}

// Keys lists an account's keys, revoked ones too, oldest first.
func (s *apiKeys) Keys(ctx context.Context, accountID string) ([]*nodegate.Key, error) {
	return s.store.KeysOf(ctx, accountID)
}

// ListKeys lists some of an account's keys: live ones before revoked ones, both newest
// first.
func (s *apiKeys) ListKeys(ctx context.Context, q nodegate.KeyQuery) ([]*nodegate.Key, error) {
	return s.store.ListKeys(ctx, q)
}

// CountKeys counts an account's keys.
func (s *apiKeys) CountKeys(ctx context.Context, accountID string) (nodegate.KeyCount, error) {
	return s.store.CountKeys(ctx, accountID)
}

// Key returns one key of an account.
//
// Returns NotFound.
func (s *apiKeys) Key(ctx context.Context, accountID, id string) (*nodegate.Key, error) {
	return s.store.Key(ctx, accountID, id)
}

// Reveal is the API key's text, for its owner. The secret can't be revealed.
//
// Returns NotFound, also for a revoked key.
func (s *apiKeys) Reveal(ctx context.Context, accountID, id string) (string, error) {
	k, err := s.store.Key(ctx, accountID, id)
	if err != nil {
		return "", err
	}
	if !k.Live() || k.Overdue(now()) || len(k.Values) == 0 {
		return "", notFound()
	}
	return s.vault.Unseal(k.ID, k.Values[0].Sealed)
}

func notFound() error {
	return &nodegate.Error{Op: "account", Code: nodegate.NotFound, Msg: "no such API key"}
}

// UpdateKey lets change work on a key's name and settings.
//
// Returns NotFound, also for a revoked key, and InvalidInput.
func (s *apiKeys) UpdateKey(ctx context.Context, actor nodegate.Actor, accountID, id string, change func(name *string, settings *nodegate.KeySettings)) error {
	return s.changeKey(ctx, actor, accountID, id, func(k *nodegate.Key) (nodegate.AuditEntry, error) {
		a, err := s.store.Account(ctx, accountID)
		if err != nil {
			return nodegate.AuditEntry{}, err
		}
		before := k.Settings
		change(&k.Name, &k.Settings)
		return nodegate.AuditEntry{Action: "key.set", Detail: k.Name}, s.checkSettings(a, k.Name, &k.Settings, before)
	})
}

// RevokeKey ends a key forever. Revoking it again changes nothing.
//
// Returns NotFound.
func (s *apiKeys) RevokeKey(ctx context.Context, actor nodegate.Actor, accountID, id string) error {
	return s.endKey(ctx, actor, "key.revoke", accountID, id, (*nodegate.Key).Live)
}

// ExpireKey revokes a key that has expired. One that has not, or not any more, stays.
//
// Returns NotFound.
func (s *apiKeys) ExpireKey(ctx context.Context, actor nodegate.Actor, accountID, id string) error {
	return s.endKey(ctx, actor, "key.expire", accountID, id, func(k *nodegate.Key) bool { return k.Overdue(now()) })
}

// endKey revokes a key if it is to be.
func (s *apiKeys) endKey(ctx context.Context, actor nodegate.Actor, action, accountID, id string, due func(*nodegate.Key) bool) error {
	return s.saver.save(ctx, actor, func() (*nodegate.Change, error) {
		k, err := s.store.Key(ctx, accountID, id)
		if err != nil || !due(k) {
			return nil, err
		}
		k.Revoked = now()
		for i := range k.Values {
			k.Values[i].Sealed = nil // nobody needs to see it any more
		}
		return &nodegate.Change{Key: k, Audit: nodegate.AuditEntry{Action: action, AccountID: accountID, Subject: k.ID, Detail: k.Name}}, nil
	})
}

// Rotation says what is made new, and for how long the old one still works.
type Rotation struct {
	Value, Secret bool
	Overlap       time.Duration
}

// maxOverlap is long enough for any release cycle, and not forever.
const maxOverlap = 90 * 24 * time.Hour

// RotateKey gives a key a new value, a new secret or both. The last ones work
// until the overlap ends; those before them end at once.
//
// Returns NotFound, also for a revoked key, and InvalidInput.
func (s *apiKeys) RotateKey(ctx context.Context, actor nodegate.Actor, accountID, id string, r Rotation) (*IssuedKey, error) {
	if r.Overlap < 0 || r.Overlap > maxOverlap {
		return nil, invalid("the overlap must be between 0 and 2160h (90 days)")
	}
	if !r.Value && !r.Secret {
		return nil, invalid("choose what to rotate: the key, its secret or both")
	}
	issued := &IssuedKey{}
	err := s.changeKey(ctx, actor, accountID, id, func(k *nodegate.Key) (nodegate.AuditEntry, error) {
		*issued = IssuedKey{Key: k}
		s.rotate(k, r, issued)
		return nodegate.AuditEntry{Action: "key.rotate", Detail: "overlap " + r.Overlap.String()}, nil
	})
	if err != nil {
		return nil, err
	}
	return issued, nil
}

func (s *apiKeys) rotate(k *nodegate.Key, r Rotation, issued *IssuedKey) {
	until := now().Add(r.Overlap)
	if r.Value {
		issued.Value = credential.NewKey()
		k.Values[0].Expires = until
		k.Values = slices.Insert(k.Values[:1], 0, s.keyValue(k.ID, issued.Value))
	}
	if r.Secret {
		issued.Secret = credential.NewSecret()
		k.Secrets[0].Expires = until
		k.Secrets = slices.Insert(k.Secrets[:1], 0, nodegate.KeySecret{Digest: s.vault.SecretDigest(k.ID, issued.Secret)})
	}
}

// changeKey reads a live key, lets change work on it, and saves it.
func (s *apiKeys) changeKey(ctx context.Context, actor nodegate.Actor, accountID, id string, change func(*nodegate.Key) (nodegate.AuditEntry, error)) error {
	return s.saver.save(ctx, actor, func() (*nodegate.Change, error) {
		k, err := s.store.Key(ctx, accountID, id)
		if err != nil {
			return nil, err
		}
		if !k.Live() || k.Overdue(now()) {
			return nil, notFound()
		}
		entry, err := change(k)
		if err != nil {
			return nil, err
		}
		entry.AccountID, entry.Subject = accountID, k.ID
		return &nodegate.Change{Key: k, Audit: entry}, nil
	})
}
