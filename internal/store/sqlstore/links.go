package sqlstore

import (
	"context"
	"time"

	"github.com/nodegate/nodegate"
)

// SaveLink keeps a new link in place of older ones for the same.
func (s *linkTable) SaveLink(ctx context.Context, l nodegate.Link) error {
	if !storable(l.Email, l.AccountID) {
		return &nodegate.Error{Op: "sqlstore.saveLink", Code: nodegate.InvalidInput, Msg: "the e-mail address has characters that can't be stored"}
	}
	return s.write(ctx, "saveLink", "account", func(t *tx) error {
		if l.AccountID != "" {
			var found int
			if err := t.queryRow("SELECT 1 FROM accounts WHERE id = $1", []any{l.AccountID}, &found); err != nil {
				return err
			}
		}
		if _, err := t.exec("DELETE FROM links WHERE account = $1 AND (account <> '' OR email = $2) AND purpose = $3", l.AccountID, l.Email, string(l.Purpose)); err != nil {
			return err
		}
		_, err := t.exec("INSERT INTO links (digest, purpose, account, email, mailed, created, expires) VALUES ($1, $2, $3, $4, $5, $6, $7)",
			l.Digest[:], string(l.Purpose), l.AccountID, l.Email, l.Mailed, stamp{l.Created}, stamp{l.Expires})
		return err
	})
}

// LinkByDigest returns NotFound for a link that was used, replaced or has expired.
func (s *linkTable) LinkByDigest(ctx context.Context, d nodegate.Digest, now time.Time) (*nodegate.Link, error) {
	var (
		created, expires stamp
		l                = nodegate.Link{Digest: d}
	)
	err := s.one(ctx, "link", "link", "SELECT purpose, account, email, mailed, created, expires FROM links WHERE digest = $1 AND expires > $2",
		[]any{d[:], now.UnixMicro()}, (*string)(&l.Purpose), &l.AccountID, &l.Email, &l.Mailed, &created, &expires)
	if err != nil {
		return nil, err
	}
	l.Created, l.Expires = created.Time, expires.Time
	return &l, nil
}

// useLink takes a link away. Of several who use it at once, one finds it.
func (t *tx) useLink(d nodegate.Digest, now time.Time) error {
	if d == (nodegate.Digest{}) {
		return nil
	}
	n, err := t.exec("DELETE FROM links WHERE digest = $1 AND expires > $2", d[:], now.UnixMicro())
	if err == nil && n == 0 {
		return notFound("save", "link")
	}
	return err
}

// endAll ends what a change ends of its account.
func (t *tx) endAll(c *nodegate.Change) error {
	if c.EndLinks || c.Delete {
		if _, err := t.exec("DELETE FROM links WHERE account = $1", c.Account.ID); err != nil {
			return err
		}
	}
	if c.EndSessions || c.Delete {
		if _, err := t.exec("DELETE FROM sessions WHERE account = $1", c.Account.ID); err != nil {
			return err
		}
	}
	return nil
}
