package sqlstore

import (
	"strings"
	"testing"
)

// TestPageOfKeysReadsTheIndex holds the query of a page to its index: without it each page
// would read and sort all keys that the account ever had.
func TestPageOfKeysReadsTheIndex(t *testing.T) {
	s := databases()["sqlite"](t)
	var plan []string
	err := s.keyTable.each(t.Context(), "plan", "plan", "EXPLAIN QUERY PLAN SELECT id FROM keys WHERE account = $1 AND "+keyState+" <= $2 ORDER BY "+keyOrder+" LIMIT $3",
		[]any{"a", 0, 50}, func(row scan) error {
			var id, parent, unused int
			var detail string
			err := row(&id, &parent, &unused, &detail)
			plan = append(plan, detail)
			return err
		})
	if all := strings.Join(plan, "; "); err != nil || !strings.Contains(all, "keys_account_page") || strings.Contains(all, "TEMP B-TREE") {
		t.Errorf("the plan is %q, %v", all, err)
	}
}
