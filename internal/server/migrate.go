package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/credential"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/store/sqlstore"
)

// The names under which a Postgres notes from which store its accounts are being moved,
// and from which they were.
const (
	movingMeta = "migration.from"
	movedMeta  = "migrated.from"
)

// MigrateReport says what was moved, or would be.
type MigrateReport struct {
	From   string      `json:"from"`
	To     string      `json:"to"`
	DryRun bool        `json:"dry_run"`
	Before bool        `json:"moved_before"` // an earlier run did it all
	Moved  []MovedKind `json:"moved"`
	Notes  []string    `json:"notes"`
}

// MovedKind is how much there is of something.
type MovedKind struct {
	Kind  string `json:"kind"`
	Count int64  `json:"count"`
}

// Migrate moves the accounts of a data folder, and all that belongs to them, to the
// Postgres of another configuration, and stored content to its Kubo nodes. The source
// stays as it is. What was interrupted goes on where it was: content first, pin by pin,
// then all rows in one transaction.
func Migrate(ctx context.Context, from, to *config.Config, log *slog.Logger, dryRun bool) (r *MigrateReport, err error) {
	if err := checkStores(from, to); err != nil {
		return nil, err
	}
	lock, err := lockFolder(from.Data)
	if err != nil {
		return nil, &nodegate.Error{Op: "server.migrate", Code: nodegate.BadConfig, Msg: "the data folder " + from.Data + " is in use: stop its server first. A change that it accepts during the migration would be lost", Err: err}
	}
	defer func() { err = errors.Join(err, lock.release()) }()
	source, err := OpenControl(ctx, from, log)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	m := &migration{from: from, to: to, log: log, source: source}
	if err := m.prepare(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	if dryRun {
		return m.rehearse(ctx)
	}
	return m.run(ctx)
}

// migration is one run of Migrate.
type migration struct {
	from, to *config.Config
	log      *slog.Logger
	source   *Control
	origin   string
	content  content
}

func checkStores(from, to *config.Config) error {
	switch {
	case from.Store.Postgres != "":
		return cantMigrate("the accounts of the source are in Postgres already: the source is a data folder with SQLite, named by --data or by --config")
	case to.Store.Postgres == "":
		return cantMigrate("the configuration to move to keeps accounts in SQLite: set store.postgres in it. To move a data folder, use nodegate backup and nodegate restore")
	case !has(from.Data, storeFile):
		return cantMigrate("there are no accounts in the data folder " + from.Data + ": name the server's data folder with --data or --config")
	}
	return nil
}

func cantMigrate(msg string) error {
	return &nodegate.Error{Op: "server.migrate", Code: nodegate.BadConfig, Msg: msg}
}

// prepare checks all that can be checked before anything is written.
func (m *migration) prepare(ctx context.Context) (err error) {
	if m.origin, err = m.source.Store.Origin(ctx); errors.Is(err, nodegate.NotFound) {
		return cantMigrate("there are no accounts in the data folder " + m.from.Data + ": nothing to move")
	}
	if err != nil {
		return err
	}
	if err := m.checkPepper(); err != nil {
		return err
	}
	return m.content.open(ctx, m)
}

func (m *migration) close() error { return m.content.close() }

// checkPepper compares the destination's pepper with the source's. Digests of keys can't
// be made again with another one.
func (m *migration) checkPepper() error {
	if !hasPepper(m.to) {
		return cantMigrate("the configuration to move to has no pepper, and API keys work only with the one of the source: " + m.carry())
	}
	text, err := credential.Pepper(m.to.Data, string(m.to.Pepper))
	if err != nil {
		return err
	}
	v, err := credential.Unlock(text, m.source.vault.Check())
	if err == nil && v.Check() != m.source.vault.Check() {
		err = cantMigrate("the configuration to move to has another pepper, and API keys work only with the one of the source: " + m.carry())
	}
	return err
}

// carry says how the pepper gets to the destination.
func (m *migration) carry() string {
	target := filepath.Join(m.to.Data, "pepper")
	if m.from.Pepper != "" {
		return "set NODEGATE_PEPPER as for the source"
	}
	return fmt.Sprintf("copy %s to %s (mode 0600), or set NODEGATE_PEPPER to the 64 hex digits in it", filepath.Join(m.from.Data, "pepper"), target)
}

// rehearse says what run would do. It only reads.
func (m *migration) rehearse(ctx context.Context) (*MigrateReport, error) {
	i, err := sqlstore.InspectPostgres(ctx, string(m.to.Store.Postgres))
	if err != nil {
		return nil, err
	}
	if i.Tables > i.Newest {
		return nil, cantMigrate(fmt.Sprintf("the destination's tables are of a newer nodegate: they have number %d and this one knows %d", i.Tables, i.Newest))
	}
	r := m.report(true)
	if r.Before, err = m.checkDestination(i.Meta(pepperMeta), i.Meta(movingMeta), i.Meta(movedMeta), i.Occupied()); err != nil || r.Before {
		return r, err
	}
	rows, err := m.transfer(nil).Count(ctx)
	if err != nil {
		return nil, err
	}
	if err := m.content.count(ctx); err != nil {
		return nil, err
	}
	return r, m.fill(ctx, r, rows)
}

// run moves.
func (m *migration) run(ctx context.Context) (r *MigrateReport, err error) {
	store, err := sqlstore.OpenPostgres(ctx, string(m.to.Store.Postgres), m.source.vault.AuditKey(), m.log)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	r = m.report(false)
	if r.Before, err = m.claim(ctx, store); err != nil || r.Before {
		return r, err
	}
	if err := m.content.move(ctx, store); err != nil {
		return nil, err
	}
	rows, err := m.transfer(store).Run(ctx)
	if err != nil {
		return nil, err
	}
	if err := m.fill(ctx, r, rows); err != nil {
		return nil, err
	}
	return r, m.verify(ctx)
}

// claim makes sure that the destination is empty or ours, and notes in it that it is.
func (m *migration) claim(ctx context.Context, store *sqlstore.Store) (before bool, err error) {
	var known [3]string
	for i, name := range []string{pepperMeta, movingMeta, movedMeta} {
		if known[i], err = store.Meta(ctx, name); err != nil && !errors.Is(err, nodegate.NotFound) {
			return false, err
		}
	}
	occupied, err := store.Occupied(ctx)
	if err != nil {
		return false, err
	}
	if before, err = m.checkDestination(known[0], known[1], known[2], occupied); err != nil || before {
		return before, err
	}
	for name, value := range map[string]string{pepperMeta: m.source.vault.Check(), movingMeta: m.origin} {
		have, err := store.SetMeta(ctx, name, value)
		if err != nil {
			return false, err
		}
		if have != value {
			return false, errForeign()
		}
	}
	return false, nil
}

// checkDestination refuses a store that holds something else. It tells whether an earlier
// run has moved everything.
func (m *migration) checkDestination(pepper, moving, moved string, occupied bool) (before bool, err error) {
	switch {
	case moved == m.origin:
		return true, nil
	case pepper != "" && pepper != m.source.vault.Check():
		return false, cantMigrate("the Postgres to move to was made with another pepper: use an empty database")
	case occupied, moved != "", moving != "" && moving != m.origin:
		return false, errForeign()
	}
	return false, nil
}

func errForeign() error {
	return cantMigrate("the Postgres to move to holds accounts, usage or an audit log that are not from this data folder: use an empty database. nodegate migrate doesn't merge two stores")
}

func (m *migration) transfer(to *sqlstore.Store) *sqlstore.Transfer {
	return &sqlstore.Transfer{From: m.source.Store, To: to, Pins: m.content.inStore, Begun: movingMeta, Done: movedMeta}
}

// verify opens the destination as a server would, and checks the audit log there.
func (m *migration) verify(ctx context.Context) (err error) {
	c, err := OpenControl(ctx, m.to, m.log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	v, err := c.Accounts.VerifyAudit(ctx)
	if err == nil && v.Broken != 0 {
		err = &nodegate.Error{Op: "server.migrate", Code: nodegate.Damaged, Msg: "everything was moved, but the audit log doesn't verify: " + v.Why + ". See whether nodegate audit verify finds the same in the source"}
	}
	return err
}

// checkMoved refuses a store into which a migration has moved a part.
func checkMoved(ctx context.Context, store nodegate.MetaStore) error {
	_, err := store.Meta(ctx, movingMeta)
	if errors.Is(err, nodegate.NotFound) {
		return nil
	}
	if err == nil {
		err = &nodegate.Error{Op: "server.control", Code: nodegate.BadConfig, Msg: "nodegate migrate is moving accounts into this Postgres, or was interrupted: run it again to complete the migration"}
	}
	return err
}
