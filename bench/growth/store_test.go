package main

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/server"
)

// TestFillStore: a filled store opens, and has what was asked for.
func TestFillStore(t *testing.T) {
	ctx, s := t.Context(), serving{data: filepath.Join(t.TempDir(), "data"), flush: usualFlush}
	const rows = 3 * rowsOfHour
	f, err := fillStore(ctx, s, func(c *server.Control, f *filled) error {
		if err := f.addMembers(ctx, c, 5, 2); err != nil {
			return err
		}
		return f.addUsage(ctx, c, rows)
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := server.OpenControl(ctx, s.config(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	accounts, err := c.Store.Accounts(ctx, "", 100)
	if err != nil || len(accounts) != 4 {
		t.Errorf("%d accounts, %v", len(accounts), err)
	}
	keys, err := c.Store.LiveKeys(ctx, "", 100)
	if err != nil || len(keys) != 6 || len(f.keys) != 6 || f.secret == "" || f.database == 0 {
		t.Errorf("%d keys, %v, %+v", len(keys), err, f)
	}
	now := time.Now()
	sums, err := c.Store.SumUsage(ctx, nodegate.UsageSums{AccountID: f.operator, From: now.AddDate(0, 0, -1), To: now, Resolution: nodegate.ByHour, By: nodegate.ByMethod})
	if err != nil || len(sums) == 0 {
		t.Errorf("%d sums of usage, %v", len(sums), err)
	}
}

// TestUsageRow: each row has a place of its own, and the last is of this hour.
func TestUsageRow(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 30, 0, 0, time.UTC)
	ids := []string{"a", "b"}
	const rows = 3*2*rowsOfHour - 5
	type place struct {
		nodegate.UsageKey
		at time.Time
	}
	seen := map[place]bool{}
	for n := range rows {
		u := usageRow("account", ids, n, rows, now)
		seen[place{u.UsageKey, u.At}] = true
		if n == 0 && !u.At.Equal(now.Truncate(time.Hour).Add(-2*time.Hour)) || n == rows-1 && !u.At.Equal(now.Truncate(time.Hour)) {
			t.Errorf("row %d is of %s", n, u.At)
		}
	}
	if len(seen) != rows {
		t.Errorf("%d of %d rows have a place of their own", len(seen), rows)
	}
}
