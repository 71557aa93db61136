package sqlstore

import (
	"context"
	"time"

	"github.com/nodegate/nodegate"
)

// A report may read millions of rows. Reports have connections of their own, or in Postgres
// a part of them, so that sign-ins, key checks and the change sequence never wait for one.
const (
	sqliteReports   = 2
	postgresReports = 4 // of postgresConnections
	reportWait      = 10 * time.Second
)

// report is each for what may read many rows: it waits for its turn first.
func (c *conn) report(ctx context.Context, op, noun, query string, args []any, row func(scan) error) error {
	if err := c.takeTurn(ctx, op); err != nil {
		return err
	}
	defer func() { <-c.reportTurns }()
	return c.eachOf(ctx, c.reports, op, noun, query, args, row)
}

// takeTurn waits until few enough reports read.
//
// Returns Busy.
func (c *conn) takeTurn(ctx context.Context, op string) error {
	limited, cancel := context.WithTimeout(ctx, c.reportWait)
	defer cancel()
	select {
	case c.reportTurns <- struct{}{}:
		return nil
	case <-limited.Done():
		return &nodegate.Error{Op: "sqlstore." + op, Code: nodegate.Busy, RetryAfter: retryAfter, Msg: "too many reports are being prepared: try again in a moment", Err: limited.Err()}
	}
}

// isLight tells whether a query reads a few rows: what one account has used on a day. Every
// page of the dashboard shows it, so it doesn't wait for reports.
func isLight(q *nodegate.UsageSums) bool {
	return q.AccountID != "*" && q.By == nodegate.NoDimension && partOf(q) == withoutKeys &&
		q.Resolution == nodegate.ByDay && q.To.Sub(q.From) <= nodegate.ByDay.Length()
}
