package server

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/account"
	"github.com/nodegate/nodegate/internal/accounts/credential"
	"github.com/nodegate/nodegate/internal/accounts/payment"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/disk"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/store/sqlstore"
)

// storeFile is the SQLite database in the data folder.
const storeFile = "nodegate.db"

// openTime bounds the opening of the account store.
const openTime = 30 * time.Second

// Control is the account side of the service: what the command line works on, and
// the part of a server that decides who is let in. Several may be open on the same
// store at once.
type Control struct {
	Accounts *account.Service
	Store    *sqlstore.Store
	Plans    map[string]nodegate.Plan

	vault   *credential.Vault
	changed func()             // set by the server: somebody changed an account here
	stored  func(string) int64 // set by the server: bytes of an account in its storage
	signIns func(error)        // set by the server: somebody tried to sign in
}

// OpenControl opens the account store of a configuration, and makes it where there
// is none.
//
// Returns BadConfig for a store or a pepper that can't be used.
func OpenControl(ctx context.Context, cfg *config.Config, log *slog.Logger) (*Control, error) {
	opening, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	if err := checkFolder(cfg); err != nil {
		return nil, err
	}
	if err := makeFolder(cfg); err != nil {
		return nil, err
	}
	if hasPepper(cfg) { // before a database is made beside one that can't be used
		if _, err := credential.Pepper(cfg.Data, string(cfg.Pepper)); err != nil {
			return nil, err
		}
	}
	store, err := openStore(opening, cfg, log)
	if err != nil {
		return nil, err
	}
	c := &Control{Plans: plansOf(cfg), Store: store}
	checking, end := context.WithTimeout(ctx, openTime) // the store may have taken long to open
	defer end()
	if err := c.unlock(checking, cfg); err != nil {
		_ = c.Store.Close()
		return nil, err
	}
	c.Accounts = account.New(account.Config{
		Store: c.Store, Vault: c.vault, Plans: c.Plans, DefaultPlan: cfg.DefaultPlan, Cards: processorOf(cfg), Log: log, VerifyEmail: cfg.Dashboard.VerifyEmail,
		Stored: func(accountID string) int64 {
			if c.stored == nil {
				return 0
			}
			return c.stored(accountID)
		},
		SignIns: func(err error) {
			if c.signIns != nil {
				c.signIns(err)
			}
		},
		Changed: func() {
			if c.changed != nil {
				c.changed()
			}
		},
	})
	return c, nil
}

// makeFolder makes the data folder for the database in it. Beside Postgres only a
// pepper may be there, and whoever writes that makes the folder.
func makeFolder(cfg *config.Config) error {
	if cfg.Store.Postgres != "" {
		return nil
	}
	if err := os.MkdirAll(cfg.Data, 0o700); err != nil {
		return &nodegate.Error{Op: "server.control", Code: nodegate.BadConfig, Msg: "can't create the data folder " + cfg.Data, Err: err}
	}
	return nil
}

// openStore opens the database, without the key of the audit log.
func openStore(ctx context.Context, cfg *config.Config, log *slog.Logger) (*sqlstore.Store, error) {
	if cfg.Store.Postgres != "" {
		return sqlstore.OpenPostgres(ctx, string(cfg.Store.Postgres), nil, log)
	}
	s, err := sqlstore.OpenSQLite(ctx, filepath.Join(cfg.Data, storeFile), nil, log)
	if err != nil {
		return nil, err
	}
	return s.Guarded(guardOf(cfg)), nil
}

// leastReserve is kept free for the databases of chains and accounts even if uploads may
// take everything: a chain whose database meets a full disk stops until a restart.
const leastReserve = 8 << 20

// guardOf keeps the reserve free on the disk of the data folder.
func guardOf(cfg *config.Config) *disk.Guard {
	return disk.NewGuard(cfg.Data, reserveOf(cfg))
}

func reserveOf(cfg *config.Config) int64 { return max(int64(cfg.Storage.Reserve), leastReserve) }

// unlock makes the store usable with its pepper. One into which accounts are being moved
// is not: it holds a part of them.
func (c *Control) unlock(ctx context.Context, cfg *config.Config) (err error) {
	if err := checkMoved(ctx, c.Store); err != nil {
		return err
	}
	if c.vault, err = openVault(ctx, cfg, c.Store); err != nil {
		return err
	}
	c.Store.SetAuditKey(c.vault.AuditKey())
	return nil
}

// Close closes the store.
func (c *Control) Close() error {
	if c == nil {
		return nil
	}
	c.Accounts.Close()
	return c.Store.Close()
}

func processorOf(cfg *config.Config) nodegate.CardProcessor {
	if cfg.Payment.Processor == "stripe" {
		return payment.NewStripe(payment.StripeConfig{SecretKey: string(cfg.Payment.StripeKey), PublicKey: cfg.Payment.StripePublicKey, URL: cfg.Payment.StripeURL})
	}
	return payment.NewTest()
}

func plansOf(cfg *config.Config) map[string]nodegate.Plan {
	plans := map[string]nodegate.Plan{}
	for name, p := range cfg.Plans {
		plans[name] = nodegate.Plan{
			Name: name, SelfService: p.SelfService, NeedsCard: p.NeedsCard, CreditsPerSecond: p.CreditsPerSecond, Burst: p.Burst, CreditsPerDay: p.CreditsPerDay,
			StoredBytes: int64(p.StoredBytes), MovedBytes: int64(p.MovedBytes), StorageWrites: p.StorageWrites, StorageReads: p.StorageReads,
			Keys: p.Keys, Sockets: p.Sockets, Subscriptions: p.Subscriptions, LogBlocks: p.LogBlocks, LogResults: p.LogResults,
		}
	}
	return plans
}

// costsOf takes the three names that are no methods out of the table.
func costsOf(cfg *config.Config) nodegate.Costs {
	c := nodegate.Costs{Methods: map[string]int64{}, Other: cfg.Costs[method.PriceOther], Unknown: cfg.Costs[method.PriceUnknown], Refused: cfg.Costs[method.PriceRefused]}
	for name, credits := range cfg.Costs {
		if strings.Contains(name, "_") {
			c.Methods[name] = credits
		}
	}
	return c
}

// priceOf is what a call of a method is charged.
func (ns *networks) priceOf(name string) int64 {
	return ns.costs.Load().Of(name, method.Of(name).Counted)
}
