package door

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/vault"
)

// Config is what the door works with.
type Config struct {
	Store       nodegate.Store
	Vault       *vault.Vault
	Plans       map[string]nodegate.Plan
	DefaultPlan string        // for accounts whose plan is no longer configured
	Follow      time.Duration // how often the change sequence is read
	Guesses     int           // unknown keys that one address may have looked up a second
	Log         *slog.Logger
}

// Door holds the live keys.
type Door struct {
	cfg     Config
	shards  [shardCount]shard
	unknown unknownKeys
	lookUps lookUps
	asked   atomic.Int64
	guesses guesses

	mu       sync.Mutex // of what follows; never taken by a request for a known key
	accounts map[string]*accountState
	keys     map[string]*keyState
	expiring map[nodegate.Digest]*version
	last     int64 // of the change sequence

	heard atomic.Int64 // when the store last answered, in nanoseconds since begin
	begin time.Time
	poke  chan struct{}
	stop  context.CancelFunc
	ended chan struct{}
}

const (
	shardCount = 64
	// staleLimit is how long keys are let in without the store.
	staleLimit = 5 * time.Minute
)

type shard struct {
	mu       sync.RWMutex
	versions map[nodegate.Digest]*version
}

// version is one live value of a key.
type version struct {
	grant   *nodegate.Grant
	key     *keyState
	expires int64 // in Unix microseconds; 0: never
}

func (v *version) expired() bool { return v.expires != 0 && time.Now().UnixMicro() >= v.expires }

// Open loads all live keys and begins to follow the store.
func Open(ctx context.Context, cfg Config) (*Door, error) {
	d := &Door{
		cfg: cfg, accounts: map[string]*accountState{}, keys: map[string]*keyState{}, expiring: map[nodegate.Digest]*version{},
		lookUps: newLookUps(), begin: time.Now(), poke: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	d.guesses.limit = cfg.Guesses
	for i := range d.shards {
		d.shards[i].versions = map[nodegate.Digest]*version{}
	}
	if err := d.load(ctx); err != nil {
		return nil, err
	}
	ctx, d.stop = context.WithCancel(context.Background())
	go d.follow(ctx)
	return d, nil
}

// Close stops following.
func (d *Door) Close() {
	d.stop()
	<-d.ended
}

// Poke has the change sequence read now.
func (d *Door) Poke() {
	select {
	case d.poke <- struct{}{}:
	default:
	}
}

// LookUps is how often the store was asked for a key that was not in memory.
func (d *Door) LookUps() int64 { return d.asked.Load() }

// Keys is how many versions of keys are let in at this moment.
func (d *Door) Keys() (count int) {
	for i := range d.shards {
		d.shards[i].mu.RLock()
		count += len(d.shards[i].versions)
		d.shards[i].mu.RUnlock()
	}
	return count
}

// Authenticate checks credentials; see nodegate.Authenticator.
func (d *Door) Authenticate(ctx context.Context, c nodegate.Credentials) (*nodegate.Grant, error) {
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
	if d.stale() {
		return nil, errStale
	}
	if v.expired() {
		return nil, errKeyInvalid
	}
	if v.grant.Policy().Settings.SecretRequired && !d.secretMatches(v.key, c.Secret) {
		return nil, errSecretInvalid
	}
	return v.grant, nil
}

// Refusals are shared: attacks are the last place to allocate in.
var (
	errKeyRequired   = &nodegate.Error{Op: "door", Code: nodegate.KeyRequired, Msg: "API key required"}
	errKeyInvalid    = &nodegate.Error{Op: "door", Code: nodegate.KeyInvalid, Msg: "invalid API key"}
	errSecretInvalid = &nodegate.Error{Op: "door", Code: nodegate.SecretInvalid, Msg: "invalid API key or API key secret"}
	errStale         = &nodegate.Error{Op: "door", Code: nodegate.Busy, Msg: "server busy: the account store can't be reached", RetryAfter: 5 * time.Second}
)

func (d *Door) shard(digest *nodegate.Digest) *shard { return &d.shards[digest[0]%shardCount] }

func (d *Door) find(digest nodegate.Digest) *version {
	s := d.shard(&digest)
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.versions[digest]
}

func (d *Door) stale() bool {
	return time.Since(d.begin)-time.Duration(d.heard.Load()) > staleLimit
}

// secretMatches compares with every live secret, in constant time.
func (d *Door) secretMatches(k *keyState, secret string) bool {
	if secret == "" {
		return false
	}
	digest := d.cfg.Vault.SecretDigest(k.id, secret)
	match := false
	for _, s := range *k.secrets.Load() {
		live := s.Expires.IsZero() || time.Now().Before(s.Expires)
		match = vault.Equal(s.Digest, digest) && live || match
	}
	return match
}
