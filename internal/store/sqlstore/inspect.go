package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// Inspection is what can be seen of a Postgres without changing anything in it.
type Inspection struct {
	Version string        // of the server
	Number  int           // the same as a number, like 150004
	Ahead   time.Duration // of its clock, compared with ours
	Took    time.Duration // to ask for that
	Tables  int           // the number of the last migration; 0 without tables
	Newest  int           // that this nodegate knows

	ReadOnly bool // a standby, or one that is set so

	meta     map[string]string
	occupied bool
}

// Meta is the value under a name, or "".
func (i *Inspection) Meta(name string) string { return i.meta[name] }

// Occupied tells whether there is anything of an account: rows, audit entries, usage.
func (i *Inspection) Occupied() bool { return i.occupied }

// InspectPostgres looks at a server and its database. Tables are neither created nor
// brought up to date.
//
// Returns BadConfig for a server that can't be reached or used.
func InspectPostgres(ctx context.Context, dsn string) (*Inspection, error) {
	c, err := connectPostgres(ctx, dsn, nil)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, 2*stepTimeout)
	defer cancel()
	i, err := c.inspect(ctx)
	if err != nil {
		return nil, badConfig("can't look at the Postgres database", errors.New(err.Error()))
	}
	return i, nil
}

func (c *conn) inspect(ctx context.Context) (*Inspection, error) {
	texts, err := c.dialect.migrations()
	if err != nil {
		return nil, err
	}
	i := &Inspection{Newest: len(texts), meta: map[string]string{}}
	var micros int64
	began := time.Now()
	err = c.reader.QueryRowContext(ctx, `SELECT current_setting('server_version'), current_setting('server_version_num')::INT, (EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::BIGINT,
		pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on'`).Scan(&i.Version, &i.Number, &micros, &i.ReadOnly)
	if err != nil {
		return nil, err
	}
	i.Took = time.Since(began)
	i.Ahead = time.UnixMicro(micros).Sub(began.Add(i.Took / 2))
	var table sql.NullString
	if err := c.reader.QueryRowContext(ctx, "SELECT to_regclass('migrations')::TEXT").Scan(&table); err != nil || !table.Valid {
		return i, err
	}
	if err := c.reader.QueryRowContext(ctx, "SELECT COALESCE(MAX(number), 0) FROM migrations").Scan(&i.Tables); err != nil || i.Tables == 0 {
		return i, err
	}
	if err := c.readMetas(ctx, i.meta); err != nil {
		return nil, err
	}
	i.occupied, err = c.occupied(ctx)
	return i, err
}

func (c *conn) readMetas(ctx context.Context, into map[string]string) error {
	return c.each(ctx, "inspect", "value", "SELECT name, value FROM meta", nil, func(row scan) error {
		var name, value string
		err := row(&name, &value)
		into[name] = value
		return err
	})
}

// occupied asks for what every store that was ever used has.
func (c *conn) occupied(ctx context.Context) (found bool, err error) {
	err = c.reader.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM accounts) OR EXISTS (SELECT 1 FROM audit) OR EXISTS (SELECT 1 FROM usage_day)
		OR EXISTS (SELECT 1 FROM usage_minute) OR EXISTS (SELECT 1 FROM sequences WHERE change <> 0 OR audit <> 0)`).Scan(&found)
	return found, err
}
