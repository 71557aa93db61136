package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/nodegate/nodegate"
)

// Save writes a change in one transaction. It begins with the lock of the change
// sequence, which it holds to the end.
func (s *changeTable) Save(ctx context.Context, c *nodegate.Change) error {
	if err := checkTexts(c); err != nil {
		return err
	}
	entry := tidied(c.Audit)
	err := s.write(ctx, "save", "account", func(t *tx) error {
		changed := changesOf(c)
		last, err := t.nextNumbers(len(changed), &entry.Number)
		if err != nil {
			return err
		}
		if err := t.useLink(c.Link, entry.At); err != nil {
			return err
		}
		if err := t.changeAccount(c, entry.At); err != nil {
			return err
		}
		if c.Key != nil {
			if err := t.checkKeyLimits(c); err != nil {
				return err
			}
			if err := deleteRevoked(t, c); err != nil {
				return err
			}
			if err := t.saveKey(c.Key); err != nil {
				return err
			}
		}
		if err := t.addChanges(changed, last); err != nil {
			return err
		}
		return t.addAudit(&entry, s.auditKey)
	})
	if err != nil {
		return err
	}
	c.Audit = entry
	if c.Account != nil {
		c.Account.Version++
	}
	if c.Key != nil {
		c.Key.Version++
	}
	return nil
}

// changeAccount writes what a change does to its account.
func (t *tx) changeAccount(c *nodegate.Change, at time.Time) error {
	if c.Account == nil {
		return nil
	}
	if err := t.endAll(c); err != nil {
		return err
	}
	change := func() error { return t.saveAccount(c.Account) }
	if c.Delete {
		change = func() error { return t.deleteAccount(c.Account, at) }
	}
	if err := change(); err != nil || !c.KeepOperator {
		return err
	}
	return hasOperator(t)
}

// hasOperator refuses a change after which no operator can sign in. Changes wait for each
// other at the sequence, so nobody else's is in progress.
func hasOperator(t *tx) error {
	var one int
	err := t.queryRow("SELECT 1 FROM accounts WHERE operator AND suspended IS NULL AND password <> '' LIMIT 1", nil, &one)
	if errors.Is(err, sql.ErrNoRows) {
		return nodegate.ErrLastOperator
	}
	return err
}

// nextNumbers counts the sequences up: by n changes, whose last number it
// returns, and by one audit entry.
func (t *tx) nextNumbers(n int, audit *int64) (last int64, err error) {
	err = t.queryRow("UPDATE sequences SET change = change + $1, audit = audit + 1 WHERE one = 1 RETURNING change, audit",
		[]any{n}, &last, audit)
	return last, err
}

// checkTexts refuses what not every database can hold.
func checkTexts(c *nodegate.Change) error {
	var texts []string
	if a := c.Account; a != nil {
		texts = append(texts, a.ID, a.Email, a.Password, a.Plan)
	}
	if k := c.Key; k != nil {
		texts = append(texts, k.ID, k.AccountID, k.Name)
	}
	if !storable(texts...) {
		return &nodegate.Error{Op: "sqlstore.save", Code: nodegate.InvalidInput, Msg: "the text has characters that can't be stored: use UTF-8 without zero bytes"}
	}
	return nil
}

// tidied is an audit entry as it will be read back, because the chain is over what
// is read. Its texts are cleaned, never refused: a change must not depend on how
// its client calls itself.
func tidied(e nodegate.AuditEntry) nodegate.AuditEntry {
	for _, text := range []*string{&e.Actor, &e.From, &e.Action, &e.AccountID, &e.Subject, &e.Detail} {
		*text = cleaned(*text)
	}
	e.At = e.At.UTC().Truncate(time.Microsecond)
	return e
}
