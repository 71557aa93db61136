package auth

import (
	"context"

	"github.com/nodegate/nodegate"
)

// Grant is the grant of a key for its owner, who proved to be that by a session: they
// need neither the key's text nor its secret. It is the same one that requests with the
// key get, so limits, allowlists and usage are too.
//
// Returns NotFound for a key of another account and one that doesn't work any more, and
// Busy when nobody can say.
func (d *Authenticator) Grant(ctx context.Context, accountID, keyID string) (*nodegate.Grant, error) {
	if g := d.grantOf(accountID, keyID); g != nil {
		return g, nil
	}
	if d.contact.stale() {
		return nil, errStale
	}
	if err := d.reload(ctx, accountID, keyID); err != nil {
		return nil, cantSay(err)
	}
	if g := d.grantOf(accountID, keyID); g != nil {
		return g, nil
	}
	return nil, &nodegate.Error{Op: "auth.grant", Code: nodegate.NotFound, Msg: "no such key"}
}

// grantOf finds a live version of a key; the one that lives longest, where there are several.
func (d *Authenticator) grantOf(accountID, keyID string) *nodegate.Grant {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := d.keys[keyID]
	if k == nil || k.account.id != accountID || d.contact.stale() {
		return nil
	}
	var best *version
	for _, digest := range k.values {
		v := d.find(digest)
		if v != nil && !v.expired() && (best == nil || v.outlives(best)) {
			best = v
		}
	}
	if best == nil {
		return nil
	}
	return &best.grant
}

func (v *version) outlives(o *version) bool {
	mine, its := v.expires.Load(), o.expires.Load()
	return its != 0 && (mine == 0 || mine > its)
}
