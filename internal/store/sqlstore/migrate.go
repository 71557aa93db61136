package sqlstore

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/nodegate/nodegate"
)

// migrationFiles are named number_topic.sql, or number_topic.dialect.sql where the
// databases need different words. They are never edited once released: a change of
// the tables is a new file.
//
//go:embed migrations/*.sql
var migrationFiles embed.FS

const (
	migrateTimeout = time.Hour
	// migrationWait is how long a server waits for another one that takes a step.
	migrationWait = 4 * stepTimeout
)

// migrations lists the texts for a database; element i has the number i+1.
func (d *dialect) migrations() ([]string, error) {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql") // in order
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, name := range names {
		parts := strings.Split(name, ".")
		if len(parts) == 3 && parts[1] != d.name {
			continue
		}
		text, err := migrationFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		texts = append(texts, d.words.Replace(string(text)))
	}
	return texts, nil
}

// migrate brings the tables up to date, forward only, each number in a transaction
// of its own. Servers that start at the same time wait for each other. It may take far
// longer than whoever opens a store waits for a database: a large one has to be read.
func (c *conn) migrate(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), migrateTimeout)
	defer cancel()
	texts, err := c.dialect.migrations()
	first, have := -1, -1
	for err == nil && have < len(texts) {
		have, err = c.migrateOnce(ctx, texts)
		if first < 0 {
			first = have
		}
		if err == nil && first > 0 && have < len(texts) {
			c.log.Info("migrating the database", "database", c.dialect.name, "version", have+1)
		}
	}
	if first == 0 && err == nil { // all of its steps are no news
		c.log.Info("created the database", "database", c.dialect.name, "version", len(texts))
	}
	var known *nodegate.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	return badConfig("can't bring the database's tables up to date: check that it is nodegate's own and that its user may create tables", errors.New(err.Error()))
}

// migrateOnce takes the next step, if there is one, and returns the number before it.
func (c *conn) migrateOnce(ctx context.Context, texts []string) (have int, err error) {
	t, err := c.begin(ctx, migrationWait)
	if err != nil {
		return have, err
	}
	defer func() { _ = t.Rollback() }() // does nothing after the commit
	for _, statement := range append(c.dialect.lock, "CREATE TABLE IF NOT EXISTS migrations (number BIGINT PRIMARY KEY, at BIGINT NOT NULL)") {
		if _, err := t.ExecContext(ctx, statement); err != nil {
			return have, err
		}
	}
	if err := t.QueryRowContext(ctx, "SELECT COALESCE(MAX(number), 0) FROM migrations").Scan(&have); err != nil {
		return have, err
	}
	if have > len(texts) {
		return have, badConfig(fmt.Sprintf("the database is of a newer nodegate: its tables have number %d and this one knows %d. Install the newer nodegate again, or restore the backup from before it", have, len(texts)), nil)
	}
	if have == len(texts) {
		return have, nil
	}
	if _, err := t.ExecContext(ctx, texts[have]); err != nil {
		return have, fmt.Errorf("migration %d: %w", have+1, err)
	}
	if _, err := t.ExecContext(ctx, "INSERT INTO migrations (number, at) VALUES ($1, $2)", have+1, time.Now().UnixMicro()); err != nil {
		return have, err
	}
	return have, t.Commit()
}
