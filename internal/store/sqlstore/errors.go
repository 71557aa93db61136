package sqlstore

import (
	"database/sql"
	"errors"
	"strings"
	"time"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/nodegate/nodegate"
)

const retryAfter = time.Second

// fail turns a driver's error into ours. noun is what was looked for.
func (c *conn) fail(op, noun string, err error) error {
	var known *nodegate.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	e := &nodegate.Error{Op: "sqlstore." + op, Msg: "internal error", Err: err}
	if errors.Is(err, sql.ErrNoRows) {
		e.Code, e.Msg, e.Err = nodegate.NotFound, "there is no such "+noun, nil
		return e
	}
	var taken string
	if e.Code, taken = c.dialect.fault(err); c.closed.Load() {
		e.Code = nodegate.Busy
	}
	switch e.Code {
	case nodegate.Busy:
		e.Msg, e.RetryAfter = "the database can't be reached: try again in a moment", retryAfter
	case nodegate.Conflict:
		e.Msg = describeTaken(taken)
	case nodegate.NotFound: // a row that points to one that is not there
		e.Msg = "there is no such account"
	}
	return e
}

// describeTaken says in a user's words which value exists already.
func describeTaken(column string) string {
	switch {
	case strings.HasPrefix(column, "accounts_email"):
		return "the e-mail address is taken: sign in, or use another one"
	case strings.HasPrefix(column, "key_values_digest"):
		return "this API key already exists: create another one"
	default:
		return "this already exists"
	}
}

// errStale is for a row that has another version than the one that was read.
func errStale(noun string) error {
	return &nodegate.Error{Op: "sqlstore.save", Code: nodegate.Conflict, Msg: "the " + noun + " was modified concurrently: reload it and try again"}
}

func notFound(op, noun string) error {
	return &nodegate.Error{Op: "sqlstore." + op, Code: nodegate.NotFound, Msg: "there is no such " + noun}
}

func badConfig(msg string, err error) error {
	return &nodegate.Error{Op: "sqlstore.open", Code: nodegate.BadConfig, Msg: msg, Err: err}
}

var errNoDatabase = errors.New("it doesn't start like a SQLite database")

func noDatabase(path string, err error) error {
	return badConfig(path+" is not a SQLite database: move it away, or choose another file", err)
}

// explainSQLite says what to do about a file that can't be opened.
func explainSQLite(path string, err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return badConfig("can't open the database "+path, err)
	}
	switch e.Code() & 0xff {
	case lib.SQLITE_NOTADB:
		return noDatabase(path, err)
	case lib.SQLITE_CORRUPT:
		return badConfig("the database "+path+" is damaged: restore it from a backup", err)
	case lib.SQLITE_BUSY:
		return badConfig("the database "+path+" is locked: stop the program that uses it", err)
	default:
		return badConfig("can't open the database "+path+": check that this user may read and write it and that the disk is not full", err)
	}
}
