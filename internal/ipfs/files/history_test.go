package files

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
)

// A day's figure is what the pins held at its end.
func TestHistory(t *testing.T) {
	now := time.Date(2026, 3, 30, 15, 0, 0, 0, time.UTC)
	h := newHistory(now)
	each := h.counting(func(nodegate.Pin) bool { return true })
	ago := func(days int) time.Time { return now.AddDate(0, 0, -days) }
	for _, p := range []nodegate.Pin{
		{Size: 1, Created: ago(400)},
		{Size: 10, Created: ago(29)},
		{Size: 100, Created: ago(5), Unpinned: ago(2)},
		{Size: 1000, Created: ago(0)},
		{Size: 5000, Created: ago(-3)}, // by a clock that is ahead
	} {
		each(p)
	}
	got := h.days()
	for day, want := range map[int]int64{29: 11, 28: 11, 6: 11, 5: 111, 3: 111, 2: 11, 1: 11, 0: 1011} {
		if got[HistoryDays-1-day] != want {
			t.Errorf("%d days ago: %d, want %d", day, got[HistoryDays-1-day], want)
		}
	}
}

// A name that can't be shown is refused before anything is asked.
func TestBadNames(t *testing.T) {
	f := New(list{}, nil)
	for name, ok := range map[string]bool{
		"a name": true, "": true, "  spaces  ": true, "тест 1": true, strings.Repeat("x", MaxName): true,
		strings.Repeat("x", MaxName+1): false, "two\nlines": false, "nul\x00": false, "\xff": false,
	} {
		if err := f.Rename(context.Background(), "a", "cid", name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}
