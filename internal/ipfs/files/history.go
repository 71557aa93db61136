package files

import (
	"time"

	"github.com/nodegate/nodegate"
)

// HistoryDays is how many days a page looks back, today included.
const HistoryDays = 30

// history adds up what the pins of an account held at the end of each day. It knows the
// pins that are there and those that can be undone: content that was removed since is in
// no figure.
type history struct {
	first   time.Time // the start of the first day
	changes [HistoryDays]int64
}

func newHistory(now time.Time) *history {
	return &history{first: nodegate.ByDay.Start(now).AddDate(0, 0, 1-HistoryDays)}
}

// counting counts each pin before it is handed on.
func (h *history) counting(each func(nodegate.Pin) bool) func(nodegate.Pin) bool {
	return func(p nodegate.Pin) bool {
		h.change(p.Created, p.Size)
		if !p.Unpinned.IsZero() {
			h.change(p.Unpinned, -p.Size)
		}
		return each(p)
	}
}

// change adds bytes from a time on.
func (h *history) change(at time.Time, bytes int64) {
	day := max(0, at.Sub(h.first)/nodegate.ByDay.Length())
	if day < HistoryDays { // another server's clock may be ahead
		h.changes[day] += bytes
	}
}

// days is what was held at the end of each day.
func (h *history) days() (held [HistoryDays]int64) {
	sum := int64(0)
	for i, n := range h.changes {
		sum += n
		held[i] = sum
	}
	return held
}
