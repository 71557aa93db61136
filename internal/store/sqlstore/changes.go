package sqlstore

import (
	"context"

	"github.com/nodegate/nodegate"
)

// changesOf lists what a change touches.
func changesOf(c *nodegate.Change) []nodegate.Changed {
	var list []nodegate.Changed
	if c.Account != nil {
		list = append(list, nodegate.Changed{AccountID: c.Account.ID})
	}
	if c.Key != nil {
		list = append(list, nodegate.Changed{AccountID: c.Key.AccountID, KeyID: c.Key.ID})
	}
	return list
}

// addChanges appends to the sequence; the last of the list gets the number last.
func (t *tx) addChanges(list []nodegate.Changed, last int64) error {
	for i, c := range list {
		number := last - int64(len(list)-1-i)
		if _, err := t.exec("INSERT INTO changes (number, account, key_id) VALUES ($1, $2, $3)", number, c.AccountID, c.KeyID); err != nil {
			return err
		}
	}
	return nil
}

// Changes lists what was saved after a number, in the order of commits.
func (s *changeTable) Changes(ctx context.Context, after int64, limit int) ([]nodegate.Changed, error) {
	var list []nodegate.Changed
	err := s.each(ctx, "changes", "change", "SELECT number, account, key_id FROM changes WHERE number > $1 ORDER BY number LIMIT $2",
		[]any{after, max(limit, 0)}, func(row scan) error {
			var c nodegate.Changed
			err := row(&c.Number, &c.AccountID, &c.KeyID)
			list = append(list, c)
			return err
		})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// LastChange is the newest number of the change sequence, 0 before the first.
func (s *changeTable) LastChange(ctx context.Context) (int64, error) {
	var last int64
	err := s.one(ctx, "lastChange", "change", "SELECT change FROM sequences", nil, &last)
	return last, err
}
