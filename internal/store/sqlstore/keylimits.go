package sqlstore

import (
	"fmt"
	"strings"
	"time"

	"github.com/nodegate/nodegate"
)

// createdRetry is when creating keys is worth another try for an account that has
// created too many: the oldest of them leave the count one by one.
const createdRetry = time.Hour

// checkKeyLimits counts the account's keys before a new one. The transaction holds the
// lock of the change sequence, so nobody adds a key between the count and the insert.
func (t *tx) checkKeyLimits(c *nodegate.Change) error {
	if c.Key.Version != 0 {
		return nil
	}
	if most := c.Keys.Live; most > 0 {
		live, err := t.countKeys("revoked IS NULL", c.Key.AccountID)
		if err == nil && live >= most {
			err = &nodegate.Error{
				Op: "sqlstore.save", Code: nodegate.QuotaReached,
				Msg: fmt.Sprintf("the account has %d API keys and its plan allows %d: revoke one that is not needed, or ask the operator for another plan", live, most),
			}
		}
		if err != nil {
			return err
		}
	}
	if most := c.Keys.Created; most > 0 {
		created, err := t.countKeys("created > $2", c.Key.AccountID, stamp{c.Keys.Since})
		if err == nil && created >= most {
			err = &nodegate.Error{
				Op: "sqlstore.save", Code: nodegate.AccountBusy, RetryAfter: createdRetry,
				Msg: fmt.Sprintf("the account has created %d API keys within a day, revoked ones included, and %d are allowed: try again later, or rotate a key instead", created, most),
			}
		}
		return err
	}
	return nil
}

// maxDeleted is how many revoked keys go with a new one, so that none takes long.
const maxDeleted = 100

// deleteRevoked makes room for a new key: of the keys that were revoked before the limit's
// time the newest stay. By then all servers have refused them for long.
func deleteRevoked(t *tx, c *nodegate.Change) error {
	if c.Key.Version != 0 || c.Keys.Revoked <= 0 {
		return nil
	}
	old, err := oldRevoked(t, c)
	if err != nil || len(old) == 0 {
		return err
	}
	which, args := amongIDs(old, nil)
	ids := strings.TrimPrefix(which, " AND id")
	for _, from := range []string{"key_values WHERE key_id", "key_secrets WHERE key_id", "keys WHERE id"} {
		if _, err := t.exec("DELETE FROM "+from+ids, args...); err != nil {
			return err
		}
	}
	return nil
}

func oldRevoked(t *tx, c *nodegate.Change) (ids []string, err error) {
	defer t.renew()
	rows, err := t.QueryContext(t.ctx, "SELECT id FROM keys WHERE account = $1 AND "+keyState+" = 1 AND revoked < $2 ORDER BY "+keyOrder+" LIMIT $3 OFFSET $4",
		c.Key.AccountID, stamp{c.Keys.Since}, maxDeleted, c.Keys.Revoked)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

func (t *tx) countKeys(which string, args ...any) (n int64, err error) {
	err = t.queryRow("SELECT COUNT(*) FROM keys WHERE account = $1 AND "+which, args, &n)
	return n, err
}
