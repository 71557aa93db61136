package usage

import (
	"cmp"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/nodegate/nodegate"
)

// The spans that minutes are merged into when too many rows wait.
const (
	hour = 60
	day  = 24 * hour
)

// rows wait for the store.
type rows struct {
	log *slog.Logger
	max int

	mu      sync.Mutex
	minutes map[int64]map[nodegate.UsageKey]*nodegate.Usage
	count   int
	room    int  // merge when there are more; it is max, unless merging did not help
	merged  bool // and logged, until the store has all
	figures map[figuresKey]*nodegate.Figures
}

type figuresKey struct {
	account string
	month   time.Time
}

func newRows(limit int, log *slog.Logger) *rows {
	return &rows{
		log: log, max: limit, room: limit,
		minutes: map[int64]map[nodegate.UsageKey]*nodegate.Usage{}, figures: map[figuresKey]*nodegate.Figures{},
	}
}

// add takes the sums of one cell.
func (r *rows) add(u *nodegate.Usage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.put(minuteOf(u.At), u)
	if r.count > r.room {
		r.merge()
	}
}

func (r *rows) put(minute int64, u *nodegate.Usage) {
	of := r.minutes[minute]
	if of == nil {
		of = map[nodegate.UsageKey]*nodegate.Usage{}
		r.minutes[minute] = of
	}
	sum := of[u.UsageKey]
	if sum == nil {
		copied := *u
		copied.At = time.Unix(minute*60, 0).UTC()
		of[u.UsageKey] = &copied
		r.count++
		return
	}
	sum.Requests += u.Requests
	sum.Credits += u.Credits
	sum.BytesIn += u.BytesIn
	sum.BytesOut += u.BytesOut
	for i, n := range u.Latency {
		sum.Latency[i] += n
	}
}

// merge makes room: the oldest minutes become their hour's first one, and when that
// is not enough the oldest hours their day's.
func (r *rows) merge() {
	if !r.merged {
		r.merged = true
		r.log.Warn("much usage is waiting for the store: merging its oldest minutes into hours; totals are unchanged", "rows", r.count)
	}
	enough := r.max - r.max/4
	for _, span := range []int64{hour, day} {
		for _, minute := range r.sorted() {
			if r.count <= enough {
				break
			}
			if first := minute - minute%span; first != minute {
				r.move(minute, first)
			}
		}
	}
	r.room = max(r.max, r.count+r.count/4)
}

func (r *rows) move(from, to int64) {
	of := r.minutes[from]
	delete(r.minutes, from)
	r.count -= len(of)
	for _, u := range of {
		r.put(to, u)
	}
}

// sorted lists the minutes, oldest first.
func (r *rows) sorted() []int64 {
	list := make([]int64, 0, len(r.minutes))
	for minute := range r.minutes {
		list = append(list, minute)
	}
	slices.Sort(list)
	return list
}

func (r *rows) waiting() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count
}

// saved notes that the store has taken a batch.
func (r *rows) saved() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count == 0 {
		r.room, r.merged = r.max, false
	}
}

func (r *rows) addFigures(f nodegate.Figures) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := figuresKey{f.AccountID, f.Month}
	sum := r.figures[k]
	if sum == nil {
		r.figures[k] = &f
		return
	}
	sum.Moved += f.Moved
	sum.Stored += f.Stored
}

// take removes and returns the oldest rows and some figures, at most limit of each.
// They are in order, so that two servers never wait for each other's row locks.
func (r *rows) take(limit int) ([]nodegate.Usage, []nodegate.Figures) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]nodegate.Usage, 0, min(limit, r.count))
	for _, minute := range r.sorted() {
		if len(list) == limit {
			break
		}
		list = r.takeMinute(list, minute, limit)
	}
	slices.SortFunc(list, func(a, b nodegate.Usage) int {
		return cmp.Or(cmp.Compare(a.AccountID, b.AccountID), cmp.Compare(a.KeyID, b.KeyID), cmp.Compare(a.Network, b.Network),
			cmp.Compare(a.Method, b.Method), cmp.Compare(a.Outcome, b.Outcome), a.At.Compare(b.At))
	})
	return list, r.takeFigures(limit)
}

func (r *rows) takeMinute(list []nodegate.Usage, minute int64, limit int) []nodegate.Usage {
	of := r.minutes[minute]
	for k, u := range of {
		if len(list) == limit {
			return list
		}
		list = append(list, *u)
		delete(of, k)
		r.count--
	}
	delete(r.minutes, minute)
	return list
}

func (r *rows) takeFigures(limit int) []nodegate.Figures {
	var list []nodegate.Figures
	for k, f := range r.figures {
		if len(list) == limit {
			break
		}
		list = append(list, *f)
		delete(r.figures, k)
	}
	slices.SortFunc(list, func(a, b nodegate.Figures) int {
		return cmp.Or(cmp.Compare(a.AccountID, b.AccountID), a.Month.Compare(b.Month))
	})
	return list
}
