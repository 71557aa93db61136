package sqlstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/nodegate/nodegate"
)

// dialect is what differs between the two databases.
type dialect struct {
	name   string            // also the middle part of a migration's file name
	words  *strings.Replacer // what the migrations' words are here
	lock   []string          // keeps two servers from migrating at once
	rows   []int             // how many rows of usage one statement takes, falling to 1
	inside bool              // it runs in this process, and a query on one core
	size   string            // the query of the database's bytes

	// locked tells whether another process writes at the moment.
	locked func(error) bool

	// fault tells what an error of the driver means, and for a Conflict what was
	// taken: table_column and maybe more.
	fault func(error) (code nodegate.Code, taken string)
}

func sqliteDialect() *dialect {
	return &dialect{
		name:   "sqlite",
		words:  strings.NewReplacer(),
		rows:   []int{1},
		inside: true,
		size:   "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()",
		locked: sqliteLocked,
		fault:  sqliteFault,
	}
}

func postgresDialect() *dialect {
	return &dialect{
		name: "postgres",
		// Text is ordered by bytes, as in SQLite and in Go.
		words: strings.NewReplacer("BLOB", "BYTEA", "TEXT", `TEXT COLLATE "C"`, " WITHOUT ROWID", ""),
		lock:  []string{"SET LOCAL statement_timeout = 0", "SELECT pg_advisory_xact_lock(7166182503)"},
		// A round trip costs more than a row; few sizes, because each is a
		// statement that the server keeps.
		rows:   []int{100, 10, 1},
		size:   "SELECT pg_database_size(current_database())",
		locked: func(error) bool { return false }, // it waits in the statements
		fault:  postgresFault,
	}
}

func sqliteLocked(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == lib.SQLITE_BUSY
}

func sqliteFault(err error) (nodegate.Code, string) {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return commonFault(err), ""
	}
	switch e.Code() {
	case lib.SQLITE_CONSTRAINT_UNIQUE, lib.SQLITE_CONSTRAINT_PRIMARYKEY:
		_, column, _ := strings.Cut(e.Error(), "UNIQUE constraint failed: ")
		return nodegate.Conflict, strings.ReplaceAll(column, ".", "_")
	case lib.SQLITE_CONSTRAINT_FOREIGNKEY:
		return nodegate.NotFound, ""
	}
	switch e.Code() & 0xff { // the kind, without its detail
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_INTERRUPT, lib.SQLITE_FULL, lib.SQLITE_IOERR, lib.SQLITE_CANTOPEN:
		return nodegate.Busy, ""
	}
	return nodegate.Internal, ""
}

func postgresFault(err error) (nodegate.Code, string) {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		var connect *pgconn.ConnectError
		if errors.As(err, &connect) || pgconn.Timeout(err) || pgconn.SafeToRetry(err) {
			return nodegate.Busy, ""
		}
		return commonFault(err), ""
	}
	switch e.Code {
	case "23505": // unique_violation
		return nodegate.Conflict, e.ConstraintName
	case "23503": // foreign_key_violation
		return nodegate.NotFound, ""
	case "25P03", "25P04", "55P03": // idle in a transaction for too long, lock not available
		return nodegate.Busy, ""
	}
	switch e.Code[:min(2, len(e.Code))] {
	// Connection, serialization and deadlock, resources, operator, system.
	case "08", "40", "53", "57", "58":
		return nodegate.Busy, ""
	}
	return nodegate.Internal, ""
}

// commonFault is for what the drivers pass on from below.
func commonFault(err error) nodegate.Code {
	var network net.Error
	for _, lost := range []error{context.DeadlineExceeded, context.Canceled, io.EOF, io.ErrUnexpectedEOF, driver.ErrBadConn, net.ErrClosed} {
		if errors.Is(err, lost) {
			return nodegate.Busy
		}
	}
	if errors.As(err, &network) {
		return nodegate.Busy
	}
	return nodegate.Internal
}
