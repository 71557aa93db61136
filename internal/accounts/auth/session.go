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

// grantOf finds a live version of a key; one without an end where there is one.
func (d *Authenticator) grantOf(accountID, keyID string) (g *nodegate.Grant) {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := d.keys[keyID]
	if k == nil || k.account.id != accountID || d.contact.stale() {
		return nil
	}
	for _, digest := range k.values {
		v := d.find(digest)
		if v != nil && !v.expired() && (g == nil || v.expires.Load() == 0) {
			g = &v.grant
		}
	}
	return g
}
