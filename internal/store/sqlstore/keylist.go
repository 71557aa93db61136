package sqlstore

import (
	"context"
	"strconv"
	"strings"

	"github.com/nodegate/nodegate"
)

// The order of ListKeys. The index keys_account_page has the same expressions, so that a
// page reads its own rows and not all of the account's.
const (
	keyState = "CASE WHEN revoked IS NULL THEN 0 ELSE 1 END"
	keyOrder = keyState + ", COALESCE(created, 0) DESC, id DESC"
)

// ListKeys lists some of an account's keys: live ones before revoked ones, both newest
// first.
func (s *keyTable) ListKeys(ctx context.Context, q nodegate.KeyQuery) ([]*nodegate.Key, error) {
	if q.IDs != nil && len(q.IDs) == 0 {
		return nil, nil
	}
	lastState := 1
	if q.Live {
		lastState = 0
	}
	args := []any{cleaned(q.AccountID), lastState, max(q.Limit, 0), max(q.Skip, 0)}
	which, args := amongIDs(q.IDs, args)
	return s.keys(ctx, "listKeys", `WHERE k.id IN (SELECT id FROM keys WHERE account = $1 AND `+keyState+` <= $2`+which+`
		ORDER BY `+keyOrder+` LIMIT $3 OFFSET $4)
		ORDER BY CASE WHEN k.revoked IS NULL THEN 0 ELSE 1 END, COALESCE(k.created, 0) DESC, k.id DESC, v.position, s.position`, args...)
}

// amongIDs is a condition with a parameter for each id.
func amongIDs(ids []string, args []any) (string, []any) {
	if ids == nil {
		return "", args
	}
	var names []string
	for _, id := range ids {
		args = append(args, cleaned(id))
		names = append(names, "$"+strconv.Itoa(len(args)))
	}
	return " AND id IN (" + strings.Join(names, ", ") + ")", args
}

// CountKeys counts an account's keys; both counts read an index only.
func (s *keyTable) CountKeys(ctx context.Context, accountID string) (n nodegate.KeyCount, err error) {
	var all int64
	err = s.one(ctx, "countKeys", "API key", `SELECT (SELECT COUNT(*) FROM keys WHERE account = $1),
		(SELECT COUNT(*) FROM keys WHERE account = $1 AND revoked IS NULL)`, []any{cleaned(accountID)}, &all, &n.Live)
	n.Revoked = all - n.Live
	return n, err
}
