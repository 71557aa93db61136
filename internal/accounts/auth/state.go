package auth

import (
	"context"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/index"
)

// accountState is what the authenticator needs of an account.
type accountState struct {
	id      string
	version int64
	named   string // the plan that the account names
	plan    nodegate.Plan
	card    *nodegate.Card
	dev     bool             // the account has the scope development
	barred  bool             // it is suspended or gone: no key of it is let in
	policy  *nodegate.Policy // of the keys without settings of their own, most of them
	keys    []*keyState
}

// keyState is one key with its live versions. It stays when the key is revoked:
// an older reading of the store that arrives late must not bring it back.
type keyState struct {
	id       string
	version  int64
	account  *accountState
	settings *nodegate.KeySettings // nil without any
	policy   atomic.Pointer[nodegate.Policy]
	secrets  atomic.Pointer[[]nodegate.KeySecret]
	values   []nodegate.Digest
}

const page = 1000

// load reads every account and live key. The change sequence is noted first, so
// that what happens meanwhile is followed afterwards.
func (d *Authenticator) load(ctx context.Context) error {
	last, err := d.cfg.Store.LastChange(ctx)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last = last
	for after := ""; ; {
		accounts, err := d.cfg.Store.Accounts(ctx, after, page)
		if err != nil {
			return err
		}
		for _, a := range accounts {
			d.putAccount(a)
			after = a.ID
		}
		if len(accounts) < page {
			break
		}
	}
	return d.loadKeys(ctx)
}

func (d *Authenticator) loadKeys(ctx context.Context) error {
	for after := ""; ; {
		keys, err := d.cfg.Store.LiveKeys(ctx, after, page)
		if err != nil {
			return err
		}
		for _, k := range keys {
			if a := d.accounts[k.AccountID]; a != nil {
				d.putKey(a, k)
			}
			after = k.ID
		}
		if len(keys) < page {
			d.contact.hear()
			return nil
		}
	}
}

// putAccount takes over an account; its keys' policies follow.
func (d *Authenticator) putAccount(a *nodegate.Account) *accountState {
	s := d.accounts[a.ID]
	if s == nil {
		s = &accountState{id: a.ID}
		d.accounts[a.ID] = s
	}
	if a.Version < s.version {
		return s
	}
	s.version, s.named, s.card, s.dev = a.Version, a.Plan, a.Card, a.Development
	s.usePlan(&d.cfg)
	bar(d, s, !a.Suspended.IsZero())
	return s
}

// usePlan gives an account and its keys what its plan allows.
func (s *accountState) usePlan(cfg *Config) {
	plan, ok := cfg.Plans[s.named]
	if !ok {
		plan = cfg.Plans[cfg.DefaultPlan]
		cfg.Log.Warn("an account's plan is not configured; it gets the default plan", "account", s.id, "plan", s.named, "default", cfg.DefaultPlan)
	}
	s.plan = plan
	s.policy = &nodegate.Policy{Plan: plan, Card: s.card, Development: s.dev}
	for _, k := range s.keys {
		k.setPolicy()
	}
}

// SetPlans replaces the plans. It returns when they hold for every key: grants that are
// out follow too. The map must not be changed afterwards.
func (d *Authenticator) SetPlans(plans map[string]nodegate.Plan, standard string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cfg.Plans, d.cfg.DefaultPlan = plans, standard
	for _, s := range d.accounts {
		s.usePlan(&d.cfg)
	}
}

func (k *keyState) setPolicy() {
	if k.settings == nil {
		k.policy.Store(k.account.policy)
		return
	}
	k.policy.Store(&nodegate.Policy{Plan: k.account.plan, Settings: *k.settings, Card: k.account.card, Development: k.account.dev})
}

// settingsOf is nil for a key whose owner has set nothing.
func settingsOf(k *nodegate.Key) *nodegate.KeySettings {
	if reflect.ValueOf(k.Settings).IsZero() {
		return nil
	}
	settings := k.Settings
	return &settings
}

// putKey takes over a key: new versions appear, others end.
func (d *Authenticator) putKey(a *accountState, k *nodegate.Key) {
	s := d.keys[k.ID]
	if s == nil {
		s = &keyState{id: k.ID, account: a}
		d.keys[k.ID], a.keys = s, append(a.keys, s)
	}
	if k.Version < s.version {
		return
	}
	s.version, s.settings = k.Version, settingsOf(k)
	d.Ends.note(k)
	secrets := k.Secrets // a pointer into k would keep all of it in memory
	s.secrets.Store(&secrets)
	s.setPolicy()
	if a.barred {
		d.putVersions(s, nil)
		return
	}
	d.putVersions(s, liveValues(k))
}

func liveValues(k *nodegate.Key) map[nodegate.Digest]time.Time {
	live := map[nodegate.Digest]time.Time{}
	for _, v := range k.Values {
		until := earlier(v.Expires, k.Settings.Expires)
		if k.Live() && (until.IsZero() || time.Now().Before(until)) {
			live[v.Digest] = until
		}
	}
	return live
}

// earlier is the earlier of two times; zero is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// putVersions ends the versions that are gone and makes those that are new.
func (d *Authenticator) putVersions(s *keyState, live map[nodegate.Digest]time.Time) {
	for _, digest := range s.values {
		if _, stays := live[digest]; !stays {
			d.remove(digest)
		}
	}
	s.values = s.values[:0]
	for digest, expires := range live {
		s.values = append(s.values, digest)
		d.putVersion(s, digest, expires)
	}
}

func (d *Authenticator) putVersion(k *keyState, digest nodegate.Digest, expires time.Time) {
	e := d.values.Add(hashOf(&digest), digest, func(e *index.Entry[nodegate.Digest, version]) {
		e.Value.key = k
		e.Value.grant.Begin(k.account.id, k.id, &k.policy)
		d.live.Add(1)
	})
	v := &e.Value
	delete(d.expiring, digest)
	if expires.IsZero() {
		v.expires.Store(0)
		return
	}
	v.expires.Store(expires.UnixMicro())
	d.expiring[digest] = v
}

// remove ends a version; open connections that came in with it see it. A value
// never comes back, so its entry only waits to be swept.
func (d *Authenticator) remove(digest nodegate.Digest) {
	if v := d.find(digest); v != nil {
		v.gone.Store(true)
		v.grant.End()
		d.live.Add(-1)
		delete(d.expiring, digest)
		d.unswept = true
	}
}

// sweep takes ended versions out of the index, all at once: it is rebuilt for it.
func (d *Authenticator) sweep() {
	if d.unswept {
		d.values.Drop(func(e *index.Entry[nodegate.Digest, version]) bool { return !e.Value.gone.Load() })
		d.unswept = false
	}
}
