package account

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/credential"
)

// Config is what the service works with.
type Config struct {
	Store       nodegate.Store
	Vault       *credential.Vault
	Plans       map[string]nodegate.Plan
	DefaultPlan string
	Cards       nodegate.CardProcessor
	Stored      func(accountID string) int64 // bytes in the storage gateway; nil without one
	Changed     func()                       // called after each change and before its use case returns, so that it holds then; may be nil
	SignIns     func(err error)              // called after each try to sign in; may be nil
	Log         *slog.Logger
}

// Service holds the use cases.
type Service struct {
	cfg      Config
	hashing  hashing
	attempts attempts
	failures failures
}

// New builds the service.
func New(cfg Config) *Service {
	return &Service{cfg: cfg, hashing: newHashing()}
}

// retries is how often a change is tried again when somebody else changed the
// same row meanwhile. Whoever collides does so with a change that got through, so
// this many can work on one row at once.
const retries = 32

// save reads, changes and writes until nobody else interferes. make reads afresh
// each time.
func (s *Service) save(ctx context.Context, actor nodegate.Actor, make func() (*nodegate.Change, error)) error {
	for i := 0; ; i++ {
		c, err := make()
		if err != nil || c == nil {
			return err
		}
		c.Audit.Actor, c.Audit.From, c.Audit.At = actor.Name, actor.From, now()
		err = s.cfg.Store.Save(ctx, c)
		if err == nil && s.cfg.Changed != nil {
			s.cfg.Changed()
		}
		if i == retries || !errors.Is(err, nodegate.Conflict) || isNew(c) {
			return err
		}
	}
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
