package account

import (
	"context"
	"log/slog"
	"time"

	"github.com/nodegate/nodegate"
)

// departures are the use cases that end accounts, for a while or for good.
type departures struct {
	saver   *saver
	signIns *signIns
	cards   *cards
	store   interface {
		nodegate.AccountStore
		nodegate.MetaStore
	}
	log  *slog.Logger
	keep bool // the last operator
}

// KeepOperator are the same use cases, but for the last operator who can sign in: they return
// nodegate.ErrLastOperator then. Who works at the command line needs no operator, and uses
// them without it.
func (s *departures) KeepOperator() *departures {
	keeping := *s
	keeping.keep = true
	return &keeping
}

// alter makes a change, within what KeepOperator asks for.
func (s *departures) alter(ctx context.Context, actor nodegate.Actor, accountID string, change func(*nodegate.Change)) error {
	return s.saver.alter(ctx, actor, accountID, func(c *nodegate.Change) error {
		c.KeepOperator = s.keep && c.Account.Operator && c.Account.Password != "" && c.Account.Suspended.IsZero()
		change(c)
		return nil
	})
}

// SetSuspended keeps an account from signing in and its keys from working, or ends that. Its
// sessions and links end at once, its data stays.
//
// Returns NotFound.
func (s *departures) SetSuspended(ctx context.Context, actor nodegate.Actor, accountID string, on bool) error {
	return s.alter(ctx, actor, accountID, func(c *nodegate.Change) {
		if !on {
			c.Account.Suspended = time.Time{}
			c.Audit = nodegate.AuditEntry{Action: "account.resume"}
			return
		}
		c.Account.Suspended, c.EndSessions, c.EndLinks = now(), true, true
		c.Audit = nodegate.AuditEntry{Action: "account.suspend"}
	})
}

// SetOperator lets an account see the whole service, or ends that.
//
// Returns NotFound.
func (s *departures) SetOperator(ctx context.Context, actor nodegate.Actor, accountID string, on bool) error {
	return s.alter(ctx, actor, accountID, func(c *nodegate.Change) {
		c.Account.Operator = on
		role := "member"
		if on {
			role = "operator"
		}
		c.Audit = nodegate.AuditEntry{Action: "account.role", Detail: role}
	})
}

// Delete removes an account with its keys, sessions, links and card. Its keys stop working at
// once, on every server. Its pins go a little later, by the server that has them; usage stays
// under the account's id, and so does what the audit log says.
//
// Returns NotFound.
func (s *departures) Delete(ctx context.Context, actor nodegate.Actor, accountID string) error {
	var card *nodegate.Card
	err := s.alter(ctx, actor, accountID, func(c *nodegate.Change) {
		c.Delete, card = true, c.Account.Card
		c.Audit = nodegate.AuditEntry{Action: "account.delete"}
	})
	if err != nil {
		return err
	}
	s.cards.forget(ctx, card)
	if err := s.store.DeleteMeta(context.WithoutCancel(ctx), placesName(accountID)); err != nil {
		// The account is gone: whoever deleted it can't do it again.
		s.log.Warn("can't delete where an account was signed in from", "account", accountID, "err", err)
	}
	return nil
}

// DeleteOwn is Delete for who is signed in and gives the password again.
//
// Returns SignInFailed for a wrong password, NotFound for a session that has ended,
// InvalidInput for the last operator, and RateLimited after too many tries in a minute.
func (s *departures) DeleteOwn(ctx context.Context, actor nodegate.Actor, token, password string) error {
	a, err := s.signIns.checkPassword(ctx, actor, token, password)
	if err != nil {
		return err
	}
	return s.KeepOperator().Delete(ctx, actor, a.ID)
}
