package storetest

import (
	"reflect"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
)

// lastUsed: the minute of the last hour, the hour of the last two days, the day before, and
// nothing of what is older, of other keys and of other accounts.
func lastUsed(t *testing.T, s Store) {
	now := time.Date(2026, 11, 15, 13, 37, 20, 0, time.UTC)
	var rows []nodegate.Usage
	for _, u := range []struct {
		account, key string
		ago          time.Duration
	}{
		{"a", "now", 10 * time.Minute}, {"a", "now", 5 * time.Hour}, {"a", "hours", 5 * time.Hour}, {"a", "hours", 90 * time.Hour}, {"a", "days", 90 * time.Hour},
		{"a", "old", 40 * 24 * time.Hour}, {"a", "unasked", time.Minute}, {"b", "days", time.Minute},
	} {
		rows = append(rows, usageRow(u.account, u.key, now.Add(-u.ago), 1))
	}
	if err := s.AddUsage(t.Context(), &nodegate.UsageBatch{Server: "test", Number: 1, Rows: rows}); err != nil {
		t.Fatal(err)
	}
	got, err := s.LastUsed(t.Context(), "a", []string{"now", "hours", "days", "old", "never"}, now.AddDate(0, 0, -30), now)
	want := map[string]time.Time{
		"now": time.Date(2026, 11, 15, 13, 27, 0, 0, time.UTC), "hours": time.Date(2026, 11, 15, 8, 0, 0, 0, time.UTC), "days": time.Date(2026, 11, 11, 0, 0, 0, 0, time.UTC),
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if got, err := s.LastUsed(t.Context(), "a", nil, now, now); err != nil || len(got) != 0 {
		t.Errorf("of no keys: %v, %v", got, err)
	}
}
