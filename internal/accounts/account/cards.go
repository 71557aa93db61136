package account

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/nodegate/nodegate"
)

// cards are the use cases around billing cards.
type cards struct {
	store     nodegate.AccountStore
	saver     *saver
	processor nodegate.CardProcessor
	log       *slog.Logger
}

// BeginCard prepares to take a card of an account.
//
// Returns NotFound, or Busy when the processor can't be reached.
func (s *cards) BeginCard(ctx context.Context, accountID string) (nodegate.CardSetup, error) {
	a, err := s.store.Account(ctx, accountID)
	if err != nil {
		return nodegate.CardSetup{}, err
	}
	return s.processor.Begin(ctx, a.ID, a.Email)
}

// PutCard verifies a card and puts it on the account, in place of the one before.
//
// Returns NotFound, and what the processor returns for a card it doesn't take; the
// card before stays then.
func (s *cards) PutCard(ctx context.Context, actor nodegate.Actor, entry nodegate.CardEntry) (*nodegate.Card, error) {
	if _, err := s.store.Account(ctx, entry.AccountID); err != nil {
		return nil, err
	}
	card, err := s.processor.Complete(ctx, entry)
	if err != nil {
		return nil, err
	}
	var before *nodegate.Card
	err = s.saver.changeAccount(ctx, actor, entry.AccountID, func(a *nodegate.Account) (nodegate.AuditEntry, error) {
		before, a.Card = a.Card, card
		return nodegate.AuditEntry{Action: "card.put", Detail: card.Brand + " " + card.LastFour}, nil
	})
	switch {
	case errors.Is(err, nodegate.Busy): // perhaps it is on the account now: it stays
		return nil, err
	case err != nil:
		s.forget(ctx, card)
		return nil, err
	}
	if before != nil && before.Reference != card.Reference { // a form that was sent twice brings the same card
		s.forget(ctx, before)
	}
	return card, nil
}

// RemoveCard takes the card off. It is off here at once, whatever the processor says.
//
// Returns NotFound for the account; one without a card is no error.
func (s *cards) RemoveCard(ctx context.Context, actor nodegate.Actor, accountID string) error {
	a, err := s.store.Account(ctx, accountID)
	if err != nil || a.Card == nil {
		return err
	}
	var before *nodegate.Card
	err = s.saver.changeAccount(ctx, actor, accountID, func(a *nodegate.Account) (nodegate.AuditEntry, error) {
		before, a.Card = a.Card, nil
		return nodegate.AuditEntry{Action: "card.remove"}, nil
	})
	if err == nil {
		s.forget(ctx, before)
	}
	return err
}

const forgetTime = 30 * time.Second

// forget has the processor drop a card that nobody uses any more. The account
// doesn't depend on it, so a failure is logged and left for the operator; a browser
// that has gone away doesn't stop it.
func (s *cards) forget(ctx context.Context, c *nodegate.Card) {
	if c == nil || c.Processor != s.processor.Name() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), forgetTime)
	defer cancel()
	if err := s.processor.Remove(ctx, c); err != nil {
		s.log.Warn("can't remove an unused card at the payment processor", "processor", c.Processor, "reference", c.Reference, "err", err)
	}
}
