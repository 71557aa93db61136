package sqlstore

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// ReachPostgres tells whether a Postgres takes connections. It is an error only while it
// doesn't, and may later: it starts, it is not there yet, it has no free connection. One
// that refuses the user or has no such database counts as reached: opening it says why it
// can't be used. The error holds no secret.
func ReachPostgres(ctx context.Context, dsn string) error {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, config)
	if err == nil {
		return conn.Close(ctx)
	}
	var answer *pgconn.PgError
	if errors.As(err, &answer) && !strings.HasPrefix(answer.Code, "57P") && !strings.HasPrefix(answer.Code, "53") {
		return nil
	}
	return errors.New(err.Error()) // the error itself carries the whole configuration
}
