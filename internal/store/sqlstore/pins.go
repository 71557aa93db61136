package sqlstore

import (
	"context"
	"time"

	"github.com/nodegate/nodegate"
)

// pinColumns are what scanPin reads.
const pinColumns = "cid, name, deep, size, created, unpinned, content"

// pinRow is a pin and what it needs on the nodes.
type pinRow struct {
	nodegate.Pin
	content string
}

func scanPin(account string, row scan) (p pinRow, err error) {
	var created, unpinned stamp
	err = row(&p.CID, &p.Name, &p.Recursive, &p.Size, &created, &unpinned, &p.content)
	p.AccountID, p.Created, p.Unpinned = account, created.Time, unpinned.Time
	return p, err
}

// PinOf finds an account's pin of a CID. One that was taken off is NotFound.
func (s *pinTables) PinOf(ctx context.Context, accountID, cid string) (nodegate.Pin, error) {
	p, err := scanPin(accountID, func(into ...any) error {
		return s.one(ctx, "pinOf", "pin", "SELECT "+pinColumns+" FROM pins WHERE account = $1 AND cid = $2 AND unpinned IS NULL",
			[]any{cleaned(accountID), cleaned(cid)}, into...)
	})
	return p.Pin, err
}

// PinsOf lists an account's pins in the order of CIDs.
func (s *pinTables) PinsOf(ctx context.Context, q nodegate.PinQuery) (list []nodegate.Pin, err error) {
	where, args := "unpinned IS NULL", []any{cleaned(q.AccountID), cleaned(q.After), q.Limit}
	if !q.Unpinned.IsZero() {
		where, args = "unpinned > $4", append(args, q.Unpinned.UnixMicro())
	}
	err = s.each(ctx, "pinsOf", "pin", "SELECT "+pinColumns+" FROM pins WHERE account = $1 AND cid > $2 AND "+where+" ORDER BY cid LIMIT $3", args, func(row scan) error {
		p, err := scanPin(q.AccountID, row)
		list = append(list, p.Pin)
		return err
	})
	return list, err
}

// PinnedBytes is what an account pays for.
func (s *pinTables) PinnedBytes(ctx context.Context, accountID string) (n int64, err error) {
	err = s.one(ctx, "pinnedBytes", "account", "SELECT COALESCE((SELECT bytes FROM pin_usage WHERE account = $1), 0)", []any{cleaned(accountID)}, &n)
	return n, err
}

// lockPins makes all other changes of an account's pins wait, and returns what the
// account pays for.
func (t *tx) lockPins(account string) (used int64, err error) {
	err = t.queryRow(`INSERT INTO pin_usage (account, bytes) VALUES ($1, 0)
		ON CONFLICT (account) DO UPDATE SET bytes = pin_usage.bytes RETURNING bytes`, []any{account}, &used)
	return used, err
}

func (t *tx) setPinned(account string, bytes int64) error {
	_, err := t.exec("UPDATE pin_usage SET bytes = $2 WHERE account = $1", account, bytes)
	return err
}

// pin reads a pin, whether it holds or was taken off; nil when there is none. The
// caller holds the account.
func (t *tx) pin(account, cid string) (*pinRow, error) {
	defer t.renew()
	rows, err := t.QueryContext(t.ctx, "SELECT "+pinColumns+" FROM pins WHERE account = $1 AND cid = $2", account, cid)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	if !rows.Next() {
		return nil, rows.Err()
	}
	p, err := scanPin(account, rows.Scan)
	return &p, err
}

func (t *tx) savePin(p *pinRow) error {
	_, err := t.exec(`INSERT INTO pins (account, cid, name, deep, size, created, unpinned, content) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (account, cid) DO UPDATE SET name = excluded.name, deep = excluded.deep, size = excluded.size,
		created = excluded.created, unpinned = excluded.unpinned, content = excluded.content`,
		p.AccountID, p.CID, p.Name, p.Recursive, p.Size, stamp{p.Created}, stamp{p.Unpinned}, p.content)
	return err
}

// free notes that somebody let go of content. Whether others need it is looked up
// when it is to be removed.
func (t *tx) free(content string, at time.Time) error {
	_, err := t.exec("UPDATE pin_content SET freed = $2 WHERE content = $1", content, at.UnixMicro())
	return err
}
