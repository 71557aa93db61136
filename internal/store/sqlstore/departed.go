package sqlstore

import (
	"context"
	"math"
	"time"

	"github.com/nodegate/nodegate"
)

// deleteAccount removes the version of an account that the caller has, with its keys. Its pins
// are not in this database alone, so it is noted that they have to go.
func (t *tx) deleteAccount(a *nodegate.Account, at time.Time) error {
	for _, query := range []string{
		"DELETE FROM key_values WHERE key_id IN (SELECT id FROM keys WHERE account = $1)",
		"DELETE FROM key_secrets WHERE key_id IN (SELECT id FROM keys WHERE account = $1)",
		"DELETE FROM keys WHERE account = $1",
		"DELETE FROM alerts WHERE account = $1",
		"DELETE FROM pin_requests WHERE account = $1",
		"DELETE FROM pin_request_usage WHERE account = $1",
	} {
		if _, err := t.exec(query, a.ID); err != nil {
			return err
		}
	}
	if _, err := t.exec("INSERT INTO departed (account, at) VALUES ($1, $2)", a.ID, at.UnixMicro()); err != nil {
		return err
	}
	n, err := t.exec("DELETE FROM accounts WHERE id = $1 AND version = $2", a.ID, a.Version)
	if err == nil && n == 0 {
		return errStale("account")
	}
	return err
}

// Departed lists accounts that were deleted and may still have pins, the earliest first, after
// one.
func (s *departedTable) Departed(ctx context.Context, after nodegate.Departed, limit int) ([]nodegate.Departed, error) {
	var list []nodegate.Departed
	from := int64(math.MinInt64)
	if !after.At.IsZero() {
		from = after.At.UnixMicro()
	}
	const query = "SELECT account, at FROM departed WHERE at > $1 OR at = $1 AND account > $2 ORDER BY at, account LIMIT $3"
	err := s.each(ctx, "departed", "account", query, []any{from, cleaned(after.AccountID), max(limit, 0)}, func(row scan) error {
		var (
			d  nodegate.Departed
			at stamp
		)
		err := row(&d.AccountID, &at)
		d.At = at.Time
		list = append(list, d)
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// ForgetDeparted notes that nothing is left of an account.
func (s *departedTable) ForgetDeparted(ctx context.Context, accountID string) error {
	_, err := s.writeOne(ctx, "forgetDeparted", "account", "DELETE FROM departed WHERE account = $1", cleaned(accountID))
	return err
}
