package sqlstore

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nodegate/nodegate/internal/disk"
)

// Rehearsal is what a start of this version would do to the tables.
type Rehearsal struct {
	Have   int // the number of the tables; 0 without any
	Newest int // that a start brings them to
	// Tried tells that the steps were taken on a copy, of so many bytes, in this time.
	Tried bool
	Bytes int64
	Took  time.Duration
}

// RehearseSQLite brings a copy of a database up to date, and removes it. The database stays
// as it is, and may be in use.
//
// Returns BadConfig where a start would fail.
func RehearseSQLite(ctx context.Context, path string, log *slog.Logger) (r Rehearsal, err error) {
	texts, err := sqliteDialect().migrations()
	if err != nil {
		return r, err
	}
	r.Newest = len(texts)
	dir, err := os.MkdirTemp("", "nodegate-rehearsal-")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	to := filepath.Join(dir, "copy.db")
	if r.Bytes, err = copyTo(ctx, path, to); err != nil {
		return r, err
	}
	if r.Have, err = sqliteTables(ctx, to); err != nil {
		return r, explainSQLite(path, err)
	}
	if r.Have == r.Newest {
		return r, nil
	}
	began := time.Now()
	s, err := OpenSQLite(ctx, to, nil, log)
	if err != nil {
		return r, err
	}
	r.Tried, r.Took = true, time.Since(began)
	return r, s.Close()
}

// copyTo copies a database into a new file, if the disk has room for it and for what
// the steps write.
func copyTo(ctx context.Context, path, to string) (size int64, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	if free, err := disk.Free(filepath.Dir(to)); err == nil && free < 3*info.Size() {
		return 0, badConfig("there is not enough space for a copy of the database in "+os.TempDir()+": name another folder with TMPDIR", nil)
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, err
	}
	err = CopySQLite(ctx, path, f)
	size, end := f.Seek(0, io.SeekCurrent)
	return size, errors.Join(err, end, f.Close())
}

// sqliteTables reads the number of the tables.
func sqliteTables(ctx context.Context, path string) (have int, err error) {
	db, err := sqlitePool(path, 1, url.Values{"_busy_timeout": {strconv.FormatInt(stepTimeout.Milliseconds(), 10)}})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var tables int
	if err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM sqlite_master WHERE name = 'migrations'").Scan(&tables); err != nil || tables == 0 {
		return 0, err
	}
	err = db.QueryRowContext(ctx, "SELECT COALESCE(MAX(number), 0) FROM migrations").Scan(&have)
	return have, err
}
