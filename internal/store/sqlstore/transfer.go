package sqlstore

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/nodegate/nodegate"
)

// Moved is how many rows of a table a transfer has.
type Moved struct {
	Table string
	Rows  int64
}

// transferred are the tables that a transfer copies, those that others refer to first.
// What is left out belongs to the database itself: its migrations, its sequences (which
// are set), and the leases of running servers. A test holds the two lists to all tables.
var transferred = []string{
	"accounts", "keys", "key_values", "key_secrets", "sessions", "links", "changes", "audit",
	"usage_minute", "usage_minute_all", "usage_minute_keys", "usage_hour", "usage_hour_all", "usage_hour_keys", "usage_day", "usage_day_all", "usage_day_keys",
	"usage_writers", "moved_bytes", "stored_bytes", "alerts", "pin_requests", "pin_request_usage", "departed",
}

// pinTransfer are the tables of pins, for an engine that keeps them in the store.
var pinTransfer = []string{"pins", "pin_claims", "pin_loose", "pin_content", "pin_usage"}

// Transfer copies a store in SQLite to an empty one in Postgres.
type Transfer struct {
	From, To *Store
	// Pins tells that the tables of pins are copied too.
	Pins bool
	// Begun is the name in the destination's meta table that says where rows come from.
	// It ends with the transfer, and Done takes its place.
	Begun, Done string
}

func (t *Transfer) tables() []string {
	if t.Pins {
		return append(append([]string{}, transferred...), pinTransfer...)
	}
	return transferred
}

// Origin names a store that was used: the digest of its first audit entry, which no two
// stores have in common.
//
// Returns NotFound for a store that was never used.
func (s *Store) Origin(ctx context.Context) (string, error) {
	var d nodegate.Digest
	err := s.one(ctx, "origin", "audit entry", "SELECT digest FROM audit WHERE number = 1", nil, digest{&d})
	return hex.EncodeToString(d[:]), err
}

// Occupied tells whether there is anything of an account in the store.
func (s *Store) Occupied(ctx context.Context) (bool, error) {
	found, err := s.conn.occupied(ctx)
	return found, s.fail("occupied", "row", err)
}

// Count says how much there is to copy.
func (t *Transfer) Count(ctx context.Context) (list []Moved, err error) {
	for _, table := range t.tables() {
		m := Moved{Table: table}
		if err := t.From.one(ctx, "count", "row", "SELECT COUNT(*) FROM "+table, nil, &m.Rows); err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, nil
}

// Cards counts the accounts that have a card.
func (s *Store) Cards(ctx context.Context) (n int64, err error) {
	err = s.one(ctx, "cards", "card", "SELECT COUNT(*) FROM accounts WHERE card_last_four IS NOT NULL", nil, &n)
	return n, err
}

// Run copies everything in one transaction of each database: the destination has all of it
// or nothing, and the source is read as it was at one moment.
//
// Returns Conflict where the destination is not empty.
func (t *Transfer) Run(ctx context.Context) (list []Moved, err error) {
	source, err := t.From.reader.BeginTx(ctx, nil)
	if err != nil {
		return nil, t.From.fail("transfer", "row", err)
	}
	defer func() { _ = source.Rollback() }() // it has only read
	c, err := t.To.writer.Conn(ctx)
	if err != nil {
		return nil, t.To.fail("transfer", "row", err)
	}
	defer c.Close()
	err = c.Raw(func(driver any) error {
		list, err = t.within(ctx, source, driver.(*stdlib.Conn).Conn())
		return err
	})
	return list, t.To.fail("transfer", "row", err)
}

// within runs the transaction of the destination.
func (t *Transfer) within(ctx context.Context, source *sql.Tx, conn *pgx.Conn) (list []Moved, err error) {
	to, err := conn.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = to.Rollback(context.WithoutCancel(ctx)) }() // does nothing after the commit
	if err := t.lock(ctx, to); err != nil {
		return nil, err
	}
	for _, table := range t.tables() {
		rows, err := copyTable(ctx, source, to, table)
		if err != nil {
			return nil, fmt.Errorf("table %s: %w", table, err)
		}
		list = append(list, Moved{table, rows})
	}
	var change, audit int64
	if err := source.QueryRowContext(ctx, "SELECT change, audit FROM sequences").Scan(&change, &audit); err != nil {
		return nil, err
	}
	if _, err := to.Exec(ctx, "UPDATE sequences SET change = $1, audit = $2", change, audit); err != nil {
		return nil, err
	}
	if _, err := to.Exec(ctx, "UPDATE meta SET name = $2 WHERE name = $1", t.Begun, t.Done); err != nil {
		return nil, err
	}
	return list, to.Commit(ctx)
}

// lock keeps everybody else from changing accounts and tables, and makes sure that there
// are none. A large table takes longer than a statement may.
func (t *Transfer) lock(ctx context.Context, to pgx.Tx) error {
	for _, statement := range append(t.To.dialect.lock, "SET LOCAL idle_in_transaction_session_timeout = 0") {
		if _, err := to.Exec(ctx, statement); err != nil {
			return err
		}
	}
	var change, audit, accounts int64
	err := to.QueryRow(ctx, "SELECT change, audit, (SELECT COUNT(*) FROM accounts) FROM sequences FOR UPDATE").Scan(&change, &audit, &accounts)
	if err == nil && change+audit+accounts > 0 {
		err = &nodegate.Error{Op: "sqlstore.transfer", Code: nodegate.Conflict, Msg: "the destination already has accounts"}
	}
	return err
}

// copyTable copies all rows of a table, column by column as the destination has them.
func copyTable(ctx context.Context, from *sql.Tx, to pgx.Tx, table string) (int64, error) {
	columns, kinds, err := columnsOf(ctx, to, table)
	if err != nil {
		return 0, err
	}
	rows, err := from.QueryContext(ctx, "SELECT "+strings.Join(columns, ", ")+" FROM "+table)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	return to.CopyFrom(ctx, pgx.Identifier{table}, columns, &rowSource{rows: rows, kinds: kinds})
}

func columnsOf(ctx context.Context, to pgx.Tx, table string) (names, kinds []string, err error) {
	rows, err := to.Query(ctx, "SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = $1 ORDER BY ordinal_position", table)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name, kind string
		if err := rows.Scan(&name, &kind); err != nil {
			return nil, nil, err
		}
		names, kinds = append(names, name), append(kinds, kind)
	}
	if err == nil && len(names) == 0 {
		err = errors.New("it is missing")
	}
	return names, kinds, errors.Join(err, rows.Err())
}

// rowSource hands rows of SQLite to Postgres, which wants the exact type of a column.
type rowSource struct {
	rows  *sql.Rows
	kinds []string
}

func (s *rowSource) Next() bool { return s.rows.Next() }

func (s *rowSource) Err() error { return s.rows.Err() }

func (s *rowSource) Values() ([]any, error) {
	values, into := make([]any, len(s.kinds)), make([]any, len(s.kinds))
	for i := range values {
		into[i] = &values[i]
	}
	if err := s.rows.Scan(into...); err != nil {
		return nil, err
	}
	for i, kind := range s.kinds {
		values[i] = converted(values[i], kind)
	}
	return values, nil
}

// converted gives a value the type of its column. SQLite has no booleans, and takes a text
// for a BLOB and the other way round.
func converted(value any, kind string) any {
	switch v := value.(type) {
	case int64:
		if kind == "boolean" {
			return v != 0
		}
	case []byte:
		if kind == "text" {
			return string(v)
		}
	case string:
		if kind == "bytea" {
			return []byte(v)
		}
	}
	return value
}
