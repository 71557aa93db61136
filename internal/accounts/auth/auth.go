package auth

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/credential"
	"github.com/nodegate/nodegate/internal/index"
)

// Store is what is read of accounts and keys, and the sequence of their changes.
type Store interface {
	nodegate.AccountStore
	nodegate.KeyStore
	nodegate.ChangeStore
}

// Config is what the authenticator works with.
type Config struct {
	Store       Store
	Vault       *credential.Vault
	Plans       map[string]nodegate.Plan // at the start; see SetPlans
	DefaultPlan string                   // for accounts whose plan is no longer configured
	Follow      time.Duration            // how often the change sequence is read
	Guesses     int                      // unknown keys that one address may have looked up a second
	Log         *slog.Logger
}

// Authenticator holds the live keys.
type Authenticator struct {
	Ends Ends // of the keys that expire

	cfg     Config
	values  index.Index[nodegate.Digest, version]
	live    atomic.Int64 // how many of them are let in
	unknown unknownKeys
	lookUps lookUps
	asked   atomic.Int64
	guesses guesses

	mu       sync.Mutex // of what follows; never taken by a request for a known key
	accounts map[string]*accountState
	keys     map[string]*keyState
	expiring map[nodegate.Digest]*version
	last     int64 // of the change sequence
	unswept  bool  // some version has ended since the last sweep

	waiting struct { // for the next reading of the change sequence
		sync.Mutex
		list []chan error
	}

	contact contact
	away    atomic.Bool // the last reading of the store failed
	poke    chan struct{}
	stop    context.CancelFunc
	ended   chan struct{}
}

// staleLimit is how long keys are let in without the store.
const staleLimit = 5 * time.Minute

// contact is when the store last answered.
type contact struct {
	begin time.Time
	heard atomic.Int64 // in nanoseconds since begin
}

// hear notes that the store has answered.
func (c *contact) hear() { c.heard.Store(int64(time.Since(c.begin))) }

func (c *contact) stale() bool {
	return time.Since(c.begin)-time.Duration(c.heard.Load()) > staleLimit
}

// version is one value of a key. All that a request needs of it lies together:
// most of the time of a look-up is waiting for memory.
type version struct {
	grant   nodegate.Grant
	key     *keyState
	expires atomic.Int64 // in Unix microseconds; 0: never
	gone    atomic.Bool  // ended, and soon out of the index
}

func (v *version) expired() bool {
	expires := v.expires.Load()
	return expires != 0 && time.Now().UnixMicro() >= expires
}

// Open loads all live keys and begins to follow the store.
func Open(ctx context.Context, cfg Config) (*Authenticator, error) {
	d := &Authenticator{
		cfg: cfg, accounts: map[string]*accountState{}, keys: map[string]*keyState{}, expiring: map[nodegate.Digest]*version{},
		lookUps: newLookUps(), contact: contact{begin: time.Now()}, poke: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	d.guesses.limit = cfg.Guesses
	if err := d.load(ctx); err != nil {
		return nil, err
	}
	ctx, d.stop = context.WithCancel(context.Background())
	go d.follow(ctx)
	return d, nil
}

// Close stops following.
func (d *Authenticator) Close() {
	d.stop()
	<-d.ended
}

// Poke has the change sequence read now.
func (d *Authenticator) Poke() {
	select {
	case d.poke <- struct{}{}:
	default:
	}
}

// Sync has the change sequence read now, and returns when everything that was saved
// before the call holds here: a revoked key is refused from then on.
//
// Returns Timeout when ctx ends first, or what the store returns.
func (d *Authenticator) Sync(ctx context.Context) error {
	done := make(chan error, 1)
	d.waiting.Lock()
	d.waiting.list = append(d.waiting.list, done)
	d.waiting.Unlock()
	d.Poke()
	select {
	case err := <-done:
		return err
	case <-d.ended:
		return nil // nobody is let in any more
	case <-ctx.Done():
		return nodegate.ErrTimeout("auth.sync", ctx.Err())
	}
}

// Ready is an error once the store has been unreachable for so long that no key is
// let in any more.
func (d *Authenticator) Ready() error {
	if d.contact.stale() {
		return errors.New("not ready: the account store can't be reached")
	}
	return nil
}

// Reaches tells whether an authenticator's last reading of the store worked. Without one, known keys are let
// in for a while.
func Reaches(d *Authenticator) bool { return !d.away.Load() }

// LookUps is how often the store was asked for a key that was not in memory.
func (d *Authenticator) LookUps() int64 { return d.asked.Load() }

// Keys is how many versions of keys are let in at this moment.
func (d *Authenticator) Keys() int { return int(d.live.Load()) }

// Authenticate checks credentials; see nodegate.Authenticator.
func (d *Authenticator) Authenticate(ctx context.Context, c nodegate.Credentials) (*nodegate.Grant, error) {
	if c.Key == "" {
		return nil, errKeyRequired
	}
	digest := d.cfg.Vault.KeyDigest(c.Key)
	v := d.find(digest)
	if v == nil {
		var err error
		if v, err = d.lookUp(ctx, c.Key, digest, c.From); err != nil {
			return nil, err
		}
	}
	if d.contact.stale() {
		return nil, errStale
	}
	if v.expired() {
		return nil, errKeyInvalid
	}
	// A secret that is given must be right even where none is required: a client that
	// sends an old one is misconfigured, and has to learn it before the day it is.
	if (c.Secret != "" || c.SecretRequired || v.grant.Policy().Settings.SecretRequired) && !d.secretMatches(v.key, c.Secret) {
		return nil, errSecretInvalid
	}
	return &v.grant, nil
}

// Refusals are shared: attacks are the last place to allocate in.
var (
	errKeyRequired   = &nodegate.Error{Op: "auth", Code: nodegate.KeyRequired, Msg: "API key required"}
	errKeyInvalid    = &nodegate.Error{Op: "auth", Code: nodegate.KeyInvalid, Msg: "invalid API key"}
	errSecretInvalid = &nodegate.Error{Op: "auth", Code: nodegate.SecretInvalid, Msg: "invalid API key or API key secret"}
	errStale         = &nodegate.Error{Op: "auth", Code: nodegate.Busy, Msg: "server busy: the account store can't be reached", RetryAfter: 5 * time.Second}
)

func (d *Authenticator) find(digest nodegate.Digest) *version {
	if e := d.values.Find(hashOf(&digest), digest); e != nil && !e.Value.gone.Load() {
		return &e.Value
	}
	return nil
}

// hashOf is a part of the digest, which is a keyed hash already.
func hashOf(d *nodegate.Digest) uint64 { return binary.LittleEndian.Uint64(d[:]) }

// secretMatches compares with every live secret, in constant time.
func (d *Authenticator) secretMatches(k *keyState, secret string) bool {
	if secret == "" {
		return false
	}
	digest := d.cfg.Vault.SecretDigest(k.id, secret)
	match := false
	for _, s := range *k.secrets.Load() {
		live := s.Expires.IsZero() || time.Now().Before(s.Expires)
		match = credential.Equal(s.Digest, digest) && live || match
	}
	return match
}
