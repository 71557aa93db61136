package account

import (
	"context"
	"log/slog"
	"sync"
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
	log       *slog.Logger
	operators sync.Mutex // held while one of them goes
}

// KeepOperator makes a change that ends, demotes or suspends an account, unless nobody could
// sign in as an operator then. Who works at the command line needs no operator, and makes the
// change without it.
//
// Changes of one server wait for each other. Two servers may still take one operator each in
// the same moment: the check isn't part of the store's transaction. The command line helps.
//
// Returns InvalidInput for the last operator, NotFound, and what change returns.
func (s *departures) KeepOperator(ctx context.Context, accountID string, change func() error) error {
	a, err := s.store.Account(ctx, accountID)
	if err != nil {
		return err
	}
	if !a.Operator || a.Password == "" || !a.Suspended.IsZero() {
		return change()
	}
	s.operators.Lock()
	defer s.operators.Unlock()
	other, err := s.store.OtherOperator(ctx, accountID)
	if err != nil {
		return err
	}
	if !other {
		return errLastOperator
	}
	return change()
}

var errLastOperator = &nodegate.Error{Op: "account.operator", Code: nodegate.InvalidInput, Msg: "this account is the only operator: make another account an operator first, or use the command line"}

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
	return s.KeepOperator(ctx, a.ID, func() error { return s.Delete(ctx, actor, a.ID) })
}
