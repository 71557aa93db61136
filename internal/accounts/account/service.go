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
	*auditLog
	*statements
}

// New builds the service.
func New(cfg Config) *Service {
	plans := &planTable{}
	plans.SetPlans(cfg.Plans, cfg.DefaultPlan)
	saver := &saver{store: cfg.Store, changed: cfg.Changed}
	passwords := &passwords{hashing: newHashing()}
	accounts := &accounts{store: cfg.Store, saver: saver, plans: plans, passwords: passwords}
	return &Service{
		planTable:  plans,
		accounts:   accounts,
		apiKeys:    &apiKeys{store: cfg.Store, saver: saver, plans: plans, vault: cfg.Vault},
		cards:      &cards{store: cfg.Store, saver: saver, processor: cfg.Cards, log: cfg.Log},
		signIns:    &signIns{store: cfg.Store, saver: saver, accounts: accounts, passwords: passwords, vault: cfg.Vault, tried: cfg.SignIns, log: cfg.Log},
		auditLog:   &auditLog{store: cfg.Store, saver: saver, vault: cfg.Vault},
		statements: &statements{store: cfg.Store, plans: plans, stored: cfg.Stored},
	}
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
	return s.save(ctx, actor, func() (*nodegate.Change, error) {
		a, err := s.store.Account(ctx, id)
		if err != nil {
			return nil, err
		}
		entry, err := change(a)
		if err != nil {
			return nil, err
		}
		entry.AccountID, entry.Subject = a.ID, a.ID
		return &nodegate.Change{Account: a, Audit: entry}, nil
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
