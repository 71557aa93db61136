package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite"

	"github.com/nodegate/nodegate/internal/disk"
)

// Store keeps everything in one SQL database. Each subject is a type of its own; their
// methods are the store's.
type Store struct {
	*conn
	accountTable
	keyTable
	changeTable
	auditTable
	sessionTable
	linkTable
	departedTable
	metaTable
	leaseTable
	usageRows
	alertTable
	pinTables
	pinRequestTables
}

// The parts of a Store, by the tables that they read and write.
type (
	accountTable struct{ *conn }
	keyTable     struct{ *conn }
	changeTable  struct { // and what Save writes with it
		*conn
		auditKey []byte
	}
	auditTable    struct{ *conn }
	sessionTable  struct{ *conn }
	linkTable     struct{ *conn }
	departedTable struct{ *conn }
	metaTable     struct{ *conn }
	leaseTable    struct{ *conn }
	usageRows     struct {
		*conn
		maxRows int // of one answer
	}
	alertTable       struct{ *conn }
	pinTables        struct{ *conn }
	pinRequestTables struct{ *conn }
)

func newStore(c *conn, auditKey []byte) *Store {
	return &Store{
		conn: c, accountTable: accountTable{c}, keyTable: keyTable{c}, changeTable: changeTable{c, auditKey}, auditTable: auditTable{c},
		sessionTable: sessionTable{c}, linkTable: linkTable{c}, departedTable: departedTable{c}, metaTable: metaTable{c}, leaseTable: leaseTable{c}, usageRows: usageRows{c, maxUsageRows}, alertTable: alertTable{c}, pinTables: pinTables{c},
		pinRequestTables: pinRequestTables{c},
	}
}

// conn is an open database.
type conn struct {
	reader, writer *sql.DB       // the same one on Postgres
	reports        *sql.DB       // for what may read many rows; reader on Postgres
	reportTurns    chan struct{} // holds an element for each report that reads
	reportWait     time.Duration // for a turn
	dialect        *dialect
	log            *slog.Logger
	closed         atomic.Bool
	guard          *disk.Guard // refuses writes while the disk is almost full; nil never does
	observe        Observe     // never nil
}

const (
	postgresConnections = 10
	connectionIdle      = 5 * time.Minute
	walLimit            = 64 << 20 // what stays of the write-ahead log after a checkpoint
)

// OpenSQLite opens the file, makes it where there is none, and brings its tables
// up to date. Other processes may have it open and write to it at the same time.
// auditKey is the HMAC key of the audit log's chain.
//
// Returns BadConfig for a file that can't be used.
func OpenSQLite(ctx context.Context, path string, auditKey []byte, log *slog.Logger) (*Store, error) {
	path, err := makePrivate(path)
	if errors.Is(err, errNoDatabase) {
		return nil, noDatabase(path, err)
	}
	if err != nil {
		return nil, badConfig("can't open the database "+path+": check that its folder exists and that this user may write there", err)
	}
	// One connection writes: SQLite has one writer at a time anyway, and waiting
	// for it in the pool is fair. How it waits for other processes is in begin.
	writer, err := sqlitePool(path, 1, url.Values{"_txlock": {"immediate"}, "_journal_mode": {"WAL"}, "_synchronous": {"FULL"},
		"_busy_timeout": {"0"}, "_pragma": {"journal_size_limit(" + strconv.Itoa(walLimit) + ")"}})
	if err != nil {
		return nil, err
	}
	reader, err := sqlitePool(path, max(4, runtime.NumCPU()), readerSettings())
	if err != nil {
		return nil, errors.Join(err, writer.Close())
	}
	reports, err := sqlitePool(path, sqliteReports, readerSettings())
	if err != nil {
		return nil, errors.Join(err, reader.Close(), writer.Close())
	}
	c := &conn{
		reader: reader, writer: writer, reports: reports, reportTurns: make(chan struct{}, sqliteReports), reportWait: reportWait,
		dialect: sqliteDialect(), log: log, observe: unobserved,
	}
	if err := c.waitForWriter(ctx); err != nil {
		return nil, errors.Join(explainSQLite(path, err), c.Close())
	}
	return migrated(ctx, c, auditKey)
}

func readerSettings() url.Values {
	return url.Values{"_query_only": {"1"}, "_busy_timeout": {strconv.FormatInt(stepTimeout.Milliseconds(), 10)}}
}

// makePrivate makes the file for its owner only. SQLite gives the files beside it
// the same mode. A short file of somebody else is refused here: SQLite would take
// it for an empty database and write over it.
func makePrivate(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path, err
	}
	f, err := os.OpenFile(abs, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return abs, err
	}
	const magic = "SQLite format 3\x00"
	begin := make([]byte, len(magic))
	if n, _ := io.ReadFull(f, begin); n > 0 && string(begin) != magic {
		err = errNoDatabase
	}
	return abs, errors.Join(err, f.Close())
}

// sqlitePool opens connections with settings that each of them has.
func sqlitePool(path string, size int, settings url.Values) (*sql.DB, error) {
	settings.Set("_foreign_keys", "1")
	name := url.URL{Scheme: "file", Path: path, RawQuery: settings.Encode()}
	connector, err := sqlite.NewConnector(name.String())
	if err != nil {
		return nil, badConfig("can't open the database "+path, err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	return db, nil
}

// waitForWriter opens the writing connection. The switch to the write-ahead log
// does not wait by itself for another process that does the same.
func (c *conn) waitForWriter(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	for {
		err := c.writer.PingContext(ctx)
		if err == nil || !c.dialect.locked(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// OpenPostgres connects to a server and brings the tables up to date. Several
// servers may do so at the same time. auditKey is the HMAC key of the audit log's
// chain.
//
// Returns BadConfig for a server that can't be reached or used; no message holds
// the password.
func OpenPostgres(ctx context.Context, dsn string, auditKey []byte, log *slog.Logger) (*Store, error) {
	c, err := connectPostgres(ctx, dsn, log)
	if err != nil {
		return nil, err
	}
	return migrated(ctx, c, auditKey)
}

func connectPostgres(ctx context.Context, dsn string, log *slog.Logger) (*conn, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		// The cause may quote the text, and with it the password.
		return nil, badConfig("can't read the Postgres address: write it as postgres://user:password@host:5432/database", nil)
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = stepTimeout
	}
	// The server's own limits are for a client that is gone or hangs: without them
	// it could hold the lock of the change sequence forever.
	for name, value := range map[string]string{
		"application_name":                    "nodegate",
		"statement_timeout":                   strconv.FormatInt((2 * stepTimeout).Milliseconds(), 10),
		"idle_in_transaction_session_timeout": strconv.FormatInt((2 * stepTimeout).Milliseconds(), 10),
	} {
		if config.RuntimeParams[name] == "" {
			config.RuntimeParams[name] = value
		}
	}
	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(postgresConnections)
	db.SetMaxIdleConns(postgresConnections)
	db.SetConnMaxIdleTime(connectionIdle)
	c := &conn{
		reader: db, writer: db, reports: db, reportTurns: make(chan struct{}, postgresReports), reportWait: reportWait,
		dialect: postgresDialect(), log: log, observe: unobserved,
	}
	pinged, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	if err := db.PingContext(pinged); err != nil {
		msg := fmt.Sprintf("can't use Postgres at %s, port %d, database %q as user %q: check that it runs and that the address, the user and the password are right",
			config.Host, config.Port, config.Database, config.User)
		// Only its text: the error itself carries the whole configuration.
		return nil, errors.Join(badConfig(msg, errors.New(err.Error())), c.Close())
	}
	return c, nil
}

// PostgresTarget names a server and its database as arguments of Postgres's own tools,
// without the password.
func PostgresTarget(dsn string) string {
	c, err := pgx.ParseConfig(dsn)
	if err != nil {
		return "DATABASE"
	}
	return fmt.Sprintf("--host=%s --port=%d --username=%s %s", c.Host, c.Port, c.User, c.Database)
}

// migrated is the last step of opening.
func migrated(ctx context.Context, c *conn, auditKey []byte) (*Store, error) {
	if err := c.migrate(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return newStore(c, auditKey), nil
}

// Close ends all connections. Calls after it are Busy.
func (c *conn) Close() error {
	c.closed.Store(true)
	// The writer last: it folds the write-ahead log into the file.
	return errors.Join(c.reports.Close(), c.reader.Close(), c.writer.Close())
}
