package main

import (
	"context"
	"path/filepath"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/server"
)

const (
	rowsOfHour = 14 // of one key
	rowsOfKey  = 30 * 24 * rowsOfHour
	usageBatch = 20_000
)

// measureUsage measures the pages of an account with a month of usage. The more rows there are
// the more keys it has.
func measureUsage(ctx context.Context, o *options, size int) (list []figure, err error) {
	err = inFolder(o, func(dir string) error {
		s := serving{data: filepath.Join(dir, "data"), flush: usualFlush}
		f, err := fillStore(ctx, s, func(c *server.Control, f *filled) error { return f.addUsage(ctx, c, size) })
		if err != nil {
			return err
		}
		list, err = inOrder(ctx, []func() ([]figure, error){s.startFigures, func() ([]figure, error) { return usagePages(s) }})
		list = append(list, figure{"database", inBytes, float64(f.database)})
		return err
	})
	return list, err
}

// addUsage gives the operator as many keys as a month of so many rows takes, and adds the rows
// as a server does. What is kept no longer is removed, as a server does too.
func (f *filled) addUsage(ctx context.Context, c *server.Control, rows int) error {
	for range (rows + rowsOfKey - 1) / rowsOfKey {
		if err := f.addKey(ctx, c, f.operator); err != nil {
			return err
		}
	}
	now := time.Now().UTC()
	batch := &nodegate.UsageBatch{Server: "bench"}
	for n := range rows {
		batch.Rows = append(batch.Rows, usageRow(f.operator, f.ids, n, rows, now))
		if len(batch.Rows) < usageBatch && n < rows-1 {
			continue
		}
		batch.Number++
		if err := c.Store.AddUsage(ctx, batch); err != nil {
			return err
		}
		if _, err := c.Store.PurgeUsage(ctx, now); err != nil {
			return err
		}
		batch.Rows = batch.Rows[:0]
	}
	return nil
}

// usageRow is one of so many rows by the hour, of which the last is of this hour.
func usageRow(account string, ids []string, n, rows int, now time.Time) nodegate.Usage {
	ofHour := rowsOfHour * len(ids)
	hours, kind := (rows-1)/ofHour-n/ofHour, n%rowsOfHour
	methods := usageMethods()
	u := nodegate.Usage{
		UsageKey: nodegate.UsageKey{
			AccountID: account, KeyID: ids[n%ofHour/rowsOfHour], Network: "devnet", Method: methods[kind/2], Outcome: nodegate.OutcomeOK,
		},
		At: now.Truncate(time.Hour).Add(-time.Duration(hours) * time.Hour), Requests: 60, Credits: 4800, BytesIn: 12_000, BytesOut: 60_000,
	}
	if kind%2 == 1 {
		u.Outcome, u.Requests, u.Credits = nodegate.Reverted.String(), 2, 160
	}
	u.Latency[2+kind%3] = u.Requests
	return u
}

func usageMethods() []string {
	return []string{
		method.EthCall, method.EthGetBlockReceipts, method.EthBlockNumber, method.EthGetProof, method.EthEstimateGas, method.EthGetLogs, method.EthChainID,
	}
}

// usagePages measures the pages that show usage.
func usagePages(s serving) (list []figure, err error) {
	err = s.with(func(p *started) error {
		v, err := signIn(p)
		if err != nil {
			return err
		}
		list, err = pageFigures(v, []page{
			{"Overview", "/"},
			{"Usage page, 24 hours by method", "/usage?range=24h&by=method"},
			{"Usage page, 30 days by key", "/usage?range=30d&by=key"},
			{"usage.csv, 30 days by key", "/usage.csv?range=30d&by=key"},
		})
		return err
	})
	return list, err
}
