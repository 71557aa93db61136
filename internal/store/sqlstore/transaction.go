package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"time"
)

const (
	stepTimeout = 5 * time.Second // one statement, or a wait for the database
	callTimeout = time.Minute     // a whole call, however many statements it has
)

var errNoAnswer = errors.New("no answer from the database within 5 s")

// patience ends a call when the database stops answering: each step that is done
// gives the next one its full time. So a large batch may take long, and a hung
// server is noticed as soon as by a small one.
type patience struct{ timer *time.Timer }

func withPatience(ctx context.Context) (context.Context, *patience, func()) {
	ctx, stop := context.WithTimeout(ctx, callTimeout)
	ctx, cancel := context.WithCancelCause(ctx)
	p := &patience{time.AfterFunc(stepTimeout, func() { cancel(errNoAnswer) })}
	return ctx, p, func() {
		p.timer.Stop()
		cancel(nil)
		stop()
	}
}

func (p *patience) renew() { p.timer.Reset(stepTimeout) }

// tx is a transaction whose steps renew its patience.
type tx struct {
	*sql.Tx
	ctx context.Context
	*patience
}

// write does something in one transaction. op and noun are for its error.
func (c *conn) write(ctx context.Context, op, noun string, do func(*tx) error) (err error) {
	if err := c.guard.Check(); err != nil && !mayAlways(op) {
		return err
	}
	defer c.done(true, time.Now(), &err)
	ctx, p, end := withPatience(ctx)
	defer end()
	begun, err := c.begin(ctx, stepTimeout)
	if err != nil {
		return c.fail(op, noun, err)
	}
	p.renew()
	if err := do(&tx{begun, ctx, p}); err != nil {
		_ = begun.Rollback() // it may have ended with the connection
		return c.fail(op, noun, err)
	}
	return c.fail(op, noun, begun.Commit())
}

// begin starts a transaction that writes, or gives up after a while. SQLite's own wait for another process
// looks ever more rarely and starves beside a busy one; this looks often, at
// random times.
func (c *conn) begin(ctx context.Context, wait time.Duration) (*sql.Tx, error) {
	for deadline := time.Now().Add(wait); ; {
		t, err := c.writer.BeginTx(ctx, nil)
		if err == nil || !c.dialect.locked(err) || time.Now().After(deadline) {
			return t, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(time.Millisecond + rand.N(2*time.Millisecond)):
		}
	}
}

// exec returns how many rows it changed.
func (t *tx) exec(query string, args ...any) (int64, error) {
	defer t.renew()
	result, err := t.ExecContext(t.ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (t *tx) queryRow(query string, args []any, into ...any) error {
	defer t.renew()
	return t.QueryRowContext(t.ctx, query, args...).Scan(into...)
}

// writeOne runs a single statement and returns how many rows it changed.
func (c *conn) writeOne(ctx context.Context, op, noun, query string, args ...any) (n int64, err error) {
	err = c.write(ctx, op, noun, func(t *tx) (err error) {
		n, err = t.exec(query, args...)
		return err
	})
	return n, err
}

// scan reads a row's columns.
type scan func(into ...any) error

// renewEvery is how many rows are one step.
const renewEvery = 1000

// each calls row for every row that a query finds. What may read many rows is for report.
func (c *conn) each(ctx context.Context, op, noun, query string, args []any, row func(scan) error) error {
	return c.eachOf(ctx, c.reader, op, noun, query, args, row)
}

func (c *conn) eachOf(ctx context.Context, db *sql.DB, op, noun, query string, args []any, row func(scan) error) (err error) {
	defer c.done(false, time.Now(), &err)
	ctx, p, end := withPatience(ctx)
	defer end()
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return c.fail(op, noun, err)
	}
	defer rows.Close()
	for n := 1; rows.Next(); n++ {
		if err := row(rows.Scan); err != nil {
			return c.fail(op, noun, err)
		}
		if n%renewEvery == 0 {
			p.renew()
		}
	}
	return c.fail(op, noun, rows.Err())
}

// one reads a single row, and is NotFound without any.
func (c *conn) one(ctx context.Context, op, noun, query string, args []any, into ...any) (err error) {
	defer c.done(false, time.Now(), &err)
	ctx, _, end := withPatience(ctx)
	defer end()
	return c.fail(op, noun, c.reader.QueryRowContext(ctx, query, args...).Scan(into...))
}
