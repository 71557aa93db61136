package sqlstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/nodegate/nodegate"
)

// addFigures adds to the storage gateway's figures, in an order that is the same
// for all servers.
func (t *tx) addFigures(list []nodegate.Figures) error {
	list = slices.SortedFunc(slices.Values(list), func(a, b nodegate.Figures) int {
		return cmp.Or(cmp.Compare(a.AccountID, b.AccountID), a.Month.Compare(b.Month))
	})
	for _, f := range list {
		account := cleaned(f.AccountID)
		if _, err := t.exec(`INSERT INTO moved_bytes (account, month, bytes) VALUES ($1, $2, $3)
			ON CONFLICT (account, month) DO UPDATE SET bytes = moved_bytes.bytes + excluded.bytes`, account, monthOf(f.Month).UnixMicro(), f.Moved); err != nil {
			return err
		}
		if _, err := t.exec(`INSERT INTO stored_bytes (account, bytes) VALUES ($1, $2)
			ON CONFLICT (account) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes`, account, f.Stored); err != nil {
			return err
		}
	}
	return nil
}

func monthOf(t time.Time) time.Time {
	t = t.UTC()
	return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
}

// Figures returns an account's storage figures; a month without any is zero.
func (s *usageRows) Figures(ctx context.Context, accountID string, month time.Time) (nodegate.Figures, error) {
	f := nodegate.Figures{AccountID: accountID, Month: monthOf(month)}
	err := s.one(ctx, "figures", "account", `SELECT
		COALESCE((SELECT bytes FROM moved_bytes WHERE account = $1 AND month = $2), 0),
		COALESCE((SELECT bytes FROM stored_bytes WHERE account = $1), 0)`,
		[]any{cleaned(accountID), f.Month.UnixMicro()}, &f.Moved, &f.Stored)
	return f, err
}
