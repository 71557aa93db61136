package account

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/credential"
)

// Store is what the use cases read and write.
type Store interface {
	nodegate.AccountStore
	nodegate.KeyStore
	nodegate.Saver
	nodegate.AuditStore
	nodegate.SessionStore
	nodegate.LinkStore
	nodegate.MetaStore
	nodegate.UsageReader
}

// Config is what the service works with.
type Config struct {
	Store       Store
	Vault       *credential.Vault
	Plans       map[string]nodegate.Plan
	DefaultPlan string
	Cards       nodegate.CardProcessor
	Stored      func(accountID string) int64 // bytes in the storage gateway; nil without one
	Changed     func()                       // called after each change and before its use case returns, so that it holds then; may be nil
	SignIns     func(err error)              // called after each try to sign in; may be nil
	VerifyEmail bool                         // accounts create keys only after their address was verified
	Log         *slog.Logger
}

// Service holds the use cases. Those of one subject are a type of their own; their
// methods are the service's.
type Service struct {
	*planTable
	*accounts
	*apiKeys
	*cards
	*signIns
	*links
	*auditLog
	*statements
	*departures
	*exports
}

// New builds the service.
func New(cfg Config) *Service {
	plans := &planTable{}
	plans.SetPlans(cfg.Plans, cfg.DefaultPlan)
	saver := &saver{store: cfg.Store, changed: cfg.Changed}
	passwords := &passwords{hashing: newHashing()}
	accounts := &accounts{store: cfg.Store, saver: saver, plans: plans, passwords: passwords}
	signIns := &signIns{store: cfg.Store, saver: saver, accounts: accounts, passwords: passwords, vault: cfg.Vault, tried: cfg.SignIns, log: cfg.Log}
	cards := &cards{store: cfg.Store, saver: saver, processor: cfg.Cards, log: cfg.Log}
	return &Service{
		planTable:  plans,
		accounts:   accounts,
		apiKeys:    &apiKeys{store: cfg.Store, saver: saver, plans: plans, vault: cfg.Vault, verify: cfg.VerifyEmail},
		cards:      cards,
		signIns:    signIns,
		links:      &links{store: cfg.Store, saver: saver, accounts: accounts, signIns: signIns, vault: cfg.Vault, log: cfg.Log},
		auditLog:   &auditLog{store: cfg.Store, saver: saver, vault: cfg.Vault},
		statements: &statements{store: cfg.Store, plans: plans, stored: cfg.Stored},
		departures: &departures{saver: saver, signIns: signIns, cards: cards, store: cfg.Store, log: cfg.Log},
		exports:    &exports{store: cfg.Store},
	}
}

// Close waits for what is still being written to the audit log, and ends the mails.
func (s *Service) Close() {
	s.links.outbox.close()
	s.signIns.failures.writing.Wait()
}

// saver writes changes of accounts and keys.
type saver struct {
	store interface {
		nodegate.AccountStore
		nodegate.Saver
	}
	changed func() // called after each change; may be nil
}

// retries is how often a change is tried again when somebody else changed the
// same row meanwhile. Whoever collides does so with a change that got through, so
// this many can work on one row at once.
const retries = 32

// save reads, changes and writes until nobody else interferes. make reads afresh
// each time.
func (s *saver) save(ctx context.Context, actor nodegate.Actor, make func() (*nodegate.Change, error)) error {
	for i := 0; ; i++ {
		c, err := make()
		if err != nil || c == nil {
			return err
		}
		c.Audit.Actor, c.Audit.From, c.Audit.At = actor.Name, actor.From, now()
		err = s.store.Save(ctx, c)
		if err == nil && s.changed != nil {
			s.changed()
		}
		if i == retries || !errors.Is(err, nodegate.Conflict) || isNew(c) {
			return err
		}
	}
}

// changeAccount reads an account, lets change work on it, and saves it.
func (s *saver) changeAccount(ctx context.Context, actor nodegate.Actor, id string, change func(*nodegate.Account) (nodegate.AuditEntry, error)) error {
	return s.alter(ctx, actor, id, func(c *nodegate.Change) (err error) {
		c.Audit, err = change(c.Account)
		return err
	})
}

// alter is changeAccount for what ends or deletes something with it.
func (s *saver) alter(ctx context.Context, actor nodegate.Actor, id string, change func(*nodegate.Change) error) error {
	return s.save(ctx, actor, func() (*nodegate.Change, error) {
		a, err := s.store.Account(ctx, id)
		if err != nil {
			return nil, err
		}
		c := &nodegate.Change{Account: a}
		if err := change(c); err != nil {
			return nil, err
		}
		c.Audit.AccountID, c.Audit.Subject = a.ID, a.ID
		return c, nil
	})
}

// isNew tells whether a conflict means "taken", which trying again doesn't mend.
func isNew(c *nodegate.Change) bool {
	return c.Account != nil && c.Account.Version == 0 || c.Key != nil && c.Key.Version == 0
}

// now has the precision that stores keep.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

func invalid(msg string) error {
	return &nodegate.Error{Op: "account", Code: nodegate.InvalidInput, Msg: msg}
}
