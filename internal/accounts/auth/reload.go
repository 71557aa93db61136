package auth

import (
	"context"
	"errors"
	"math"

	"github.com/nodegate/nodegate"
)

// reload takes over the present state of an account, or of one of its keys.
func (d *Authenticator) reload(ctx context.Context, accountID, keyID string) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	a, err := d.cfg.Store.Account(ctx, accountID)
	if errors.Is(err, nodegate.NotFound) {
		forgetAccount(d, accountID)
	}
	if err != nil {
		return err
	}
	for all := comesBack(d, a); ; all = true {
		keys, err := keysToReload(ctx, d, a.ID, keyID, all)
		if err != nil {
			return err
		}
		if takeIn(d, a, keys, all) {
			return nil
		}
	}
}

// takeIn takes over an account and keys of it. It does nothing and reports false where the
// account was suspended meanwhile, isn't any more, and not all of its keys are at hand.
func takeIn(d *Authenticator, a *nodegate.Account, keys []*nodegate.Key, all bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !all && isBack(d, a) {
		return false
	}
	state := d.putAccount(a)
	for _, k := range keys {
		d.putKey(state, k)
	}
	return true
}

// comesBack tells whether an account was suspended and isn't any more: then all of its keys
// come back.
func comesBack(d *Authenticator, a *nodegate.Account) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return isBack(d, a)
}

func isBack(d *Authenticator, a *nodegate.Account) bool {
	s := d.accounts[a.ID]
	return s != nil && s.barred && a.Suspended.IsZero()
}

// keysToReload reads one key of an account, or all.
func keysToReload(ctx context.Context, d *Authenticator, accountID, keyID string, all bool) ([]*nodegate.Key, error) {
	if all {
		return d.cfg.Store.KeysOf(ctx, accountID)
	}
	if keyID == "" {
		return nil, nil
	}
	k, err := d.cfg.Store.Key(ctx, accountID, keyID)
	if errors.Is(err, nodegate.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return []*nodegate.Key{k}, nil
}

// forgetAccount ends the keys of an account that was deleted. Its state stays, with a
// version that no older reading of the store can replace.
func forgetAccount(d *Authenticator, id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.accounts[id]
	if s == nil {
		return
	}
	s.version = math.MaxInt64
	bar(d, s, true)
	for _, k := range s.keys {
		k.version = math.MaxInt64
	}
}

// bar ends all keys of an account, or lets them come back with the next reading.
func bar(d *Authenticator, s *accountState, on bool) {
	if s.barred == on {
		return
	}
	s.barred = on
	if !on {
		d.sweep() // a version that comes back must not find its ended self
		return
	}
	for _, k := range s.keys {
		d.putVersions(k, nil)
	}
}
