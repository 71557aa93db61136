package account

import (
	"context"
	"time"

	"github.com/nodegate/nodegate"
)

// departures are the use cases that end accounts, for a while or for good.
type departures struct {
	saver   *saver
	signIns *signIns
	cards   *cards
	meta    nodegate.MetaStore
}

// SetSuspended keeps an account from signing in and its keys from working, or ends that. Its
// sessions and links end at once, its data stays.
//
// Returns NotFound.
func (s *departures) SetSuspended(ctx context.Context, actor nodegate.Actor, accountID string, on bool) error {
	return s.saver.alter(ctx, actor, accountID, func(c *nodegate.Change) error {
		if !on {
			c.Account.Suspended = time.Time{}
			c.Audit = nodegate.AuditEntry{Action: "account.resume"}
			return nil
		}
		c.Account.Suspended, c.EndSessions, c.EndLinks = now(), true, true
		c.Audit = nodegate.AuditEntry{Action: "account.suspend"}
		return nil
	})
}

// SetOperator lets an account see the whole service, or ends that.
//
// Returns NotFound.
func (s *departures) SetOperator(ctx context.Context, actor nodegate.Actor, accountID string, on bool) error {
	return s.saver.changeAccount(ctx, actor, accountID, func(a *nodegate.Account) (nodegate.AuditEntry, error) {
		a.Operator = on
		role := "member"
		if on {
			role = "operator"
		}
		return nodegate.AuditEntry{Action: "account.role", Detail: role}, nil
	})
}

// Delete removes an account with its keys, sessions, links and card. Its keys stop working at
// once, on every server. Its pins go a little later, by the server that has them; usage stays
// under the account's id, and so does what the audit log says.
//
// Returns NotFound.
func (s *departures) Delete(ctx context.Context, actor nodegate.Actor, accountID string) error {
	var card *nodegate.Card
	err := s.saver.alter(ctx, actor, accountID, func(c *nodegate.Change) error {
		c.Delete, card = true, c.Account.Card
		c.Audit = nodegate.AuditEntry{Action: "account.delete"}
		return nil
	})
	if err != nil {
		return err
	}
	s.cards.forget(ctx, card)
	return s.meta.DeleteMeta(context.WithoutCancel(ctx), placesName(accountID))
}

// DeleteOwn is Delete for who is signed in and gives the password again.
//
// Returns SignInFailed for a wrong password, NotFound for a session that has ended, and
// RateLimited after too many tries in a minute.
func (s *departures) DeleteOwn(ctx context.Context, actor nodegate.Actor, token, password string) error {
	a, err := s.signIns.checkPassword(ctx, actor, token, password)
	if err != nil {
		return err
	}
	return s.Delete(ctx, actor, a.ID)
}
