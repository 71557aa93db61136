package sqlstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nodegate/nodegate"
)

// expiring is a kind of rows that have their time.
type expiring struct {
	table, key, column, bytes string
	content                   string // the column that names content, or ''
	before                    time.Time
	count                     *int
}

// expirePart is how many rows one transaction forgets, so that nobody waits long.
const expirePart = 500

// ExpirePins forgets what is past its time. Each part is a transaction of its own:
// what is done stays done when the context ends.
func (s *pinTables) ExpirePins(ctx context.Context, before nodegate.PinCutoffs, dryRun bool) (out nodegate.ExpiredPins, err error) {
	for _, e := range []expiring{
		{"pins", "cid", "unpinned", "size", "content", before.Unpinned, &out.Pins},
		{"pin_claims", "id, content", "at", "bytes", "content", before.Claimed, &out.Claims},
		{"pin_loose", "id", "at", "bytes", "''", before.Loose, &out.Loose},
	} {
		if dryRun {
			err = s.countExpired(ctx, e, &out)
		} else {
			err = s.expire(ctx, e, before.Now, &out)
		}
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

func (s *pinTables) countExpired(ctx context.Context, e expiring, out *nodegate.ExpiredPins) error {
	var bytes int64
	err := s.one(ctx, "expirePins", "pin", fmt.Sprintf("SELECT COUNT(*), CAST(COALESCE(SUM(%s), 0) AS BIGINT) FROM %s WHERE %s <= $1", e.bytes, e.table, e.column),
		[]any{e.before.UnixMicro()}, e.count, &bytes)
	out.Bytes += bytes
	return err
}

// expire goes from account to account, as who holds an account's row may count it.
func (s *pinTables) expire(ctx context.Context, e expiring, now time.Time, out *nodegate.ExpiredPins) error {
	for {
		var account string
		found := false
		err := s.each(ctx, "expirePins", "pin", fmt.Sprintf("SELECT account FROM %s WHERE %s <= $1 LIMIT 1", e.table, e.column),
			[]any{e.before.UnixMicro()}, func(row scan) error { found = true; return row(&account) })
		if err != nil || !found {
			return err
		}
		if err := s.expireOf(ctx, e, account, now, out); err != nil {
			return err
		}
	}
}

func (s *pinTables) expireOf(ctx context.Context, e expiring, account string, now time.Time, out *nodegate.ExpiredPins) error {
	var gone expired
	err := s.write(ctx, "expirePins", "pin", func(t *tx) error {
		used, err := t.lockPins(account)
		if err != nil {
			return err
		}
		if gone, err = t.dropExpired(e, account); err != nil {
			return err
		}
		for _, content := range slices.Sorted(maps.Keys(gone.content)) {
			if err := t.free(content, now); err != nil {
				return err
			}
		}
		return t.setPinned(account, used-gone.bytes)
	})
	if err != nil {
		return err
	}
	*e.count += gone.rows
	out.Bytes += gone.bytes
	return nil
}

// expired is what one transaction forgot.
type expired struct {
	rows    int
	bytes   int64
	content map[string]bool
}

func (t *tx) dropExpired(e expiring, account string) (gone expired, err error) {
	defer t.renew()
	rows, err := t.QueryContext(t.ctx, fmt.Sprintf("DELETE FROM %[1]s WHERE account = $1 AND (%[2]s) IN (SELECT %[2]s FROM %[1]s WHERE account = $1 AND %[3]s <= $2 LIMIT %[4]d) RETURNING %[5]s, %[6]s",
		e.table, e.key, e.column, expirePart, e.content, e.bytes), account, e.before.UnixMicro())
	if err != nil {
		return gone, err
	}
	defer rows.Close()
	gone.content = map[string]bool{}
	for rows.Next() {
		var content string
		var bytes int64
		if err := rows.Scan(&content, &bytes); err != nil {
			return gone, err
		}
		gone.rows++
		gone.bytes += bytes
		if content != "" {
			gone.content[content] = true
		}
	}
	return gone, rows.Err()
}

// HeldContent lists content that pins need, in order, after one.
func (s *pinTables) HeldContent(ctx context.Context, after string, limit int) ([]string, error) {
	return s.contents(ctx, "heldContent", "EXISTS (SELECT 1 FROM pins WHERE pins.content = pin_content.content)", after, limit)
}

// FreedContent lists content that somebody let go of, in order, after one.
func (s *pinTables) FreedContent(ctx context.Context, after string, limit int) ([]string, error) {
	return s.contents(ctx, "freedContent", "freed IS NOT NULL", after, limit)
}

func (s *pinTables) contents(ctx context.Context, op, where, after string, limit int) (list []string, err error) {
	err = s.each(ctx, op, "content", "SELECT content FROM pin_content WHERE "+where+" AND content > $1 ORDER BY content LIMIT $2",
		[]any{cleaned(after), limit}, func(row scan) error {
			var content string
			err := row(&content)
			list = append(list, content)
			return err
		})
	return list, err
}

// BeginRemoval holds freed content for its removal. Its first statement waits for a
// claim of the same content that is in progress; the second one then sees it.
func (s *pinTables) BeginRemoval(ctx context.Context, content string, now time.Time) (mine bool, err error) {
	err = s.write(ctx, "beginRemoval", "content", func(t *tx) error {
		n, err := t.exec("UPDATE pin_content SET removing = $2 WHERE content = $1 AND freed IS NOT NULL AND (removing IS NULL OR removing <= $3)",
			content, now.UnixMicro(), now.Add(-nodegate.RemovalTime).UnixMicro())
		if err != nil || n == 0 {
			return err
		}
		needed := 0
		if err := t.queryRow(`SELECT CASE WHEN EXISTS (SELECT 1 FROM pins WHERE content = $1) OR EXISTS (SELECT 1 FROM pin_claims WHERE content = $1)
			THEN 1 ELSE 0 END`, []any{content}, &needed); err != nil {
			return err
		}
		if needed == 1 {
			_, err = t.exec("UPDATE pin_content SET freed = NULL, removing = NULL WHERE content = $1", content)
			return err
		}
		mine = true
		return nil
	})
	return mine && err == nil, err
}

// EndRemoval ends what BeginRemoval began at that time.
func (s *pinTables) EndRemoval(ctx context.Context, content string, began time.Time, removed bool) error {
	query := "UPDATE pin_content SET removing = NULL WHERE content = $1 AND removing = $2"
	if removed {
		query = "DELETE FROM pin_content WHERE content = $1 AND removing = $2"
	}
	_, err := s.writeOne(ctx, "endRemoval", "content", query, content, began.UnixMicro())
	return err
}
