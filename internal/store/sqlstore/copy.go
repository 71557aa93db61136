package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"net/url"
	"path/filepath"
	"strconv"
)

// CopySQLite writes the database in a file, page by page, as one transaction sees it:
// complete, and without what others write meanwhile. They don't wait for it. Pages keep
// their places, so that two copies differ only where the database does. Nothing is
// migrated.
func CopySQLite(ctx context.Context, path string, w io.Writer) (err error) {
	if path, err = filepath.Abs(path); err != nil {
		return err
	}
	db, err := sqlitePool(path, 1, url.Values{"mode": {"rw"}, "_query_only": {"1"}, "_busy_timeout": {strconv.FormatInt(stepTimeout.Milliseconds(), 10)}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	rows, err := db.QueryContext(ctx, "SELECT data FROM sqlite_dbpage ORDER BY pgno")
	if err != nil {
		return explainSQLite(path, err)
	}
	defer rows.Close()
	var page sql.RawBytes
	for rows.Next() {
		if err := rows.Scan(&page); err != nil {
			return err
		}
		if _, err := w.Write(page); err != nil {
			return err
		}
	}
	return rows.Err()
}
