package usage

import (
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/index"
)

// A cell becomes a row of its minute, its hour and its day, and refused calls make cells
// for free. So each account has a budget of distinct cells in each of these spans. A cell
// beyond it loses its method, and beyond a second budget its key, so that what is left are
// networks and outcomes, which no client chooses. No request is lost.

// other is the method of what is not counted by its own, as in nodegate.UsageKey.
const other = "other"

// The kinds of cells, each with a budget of its own.
const (
	named   = iota // with a method
	unnamed        // with the method other: there are enough for each of 1,000 keys
	kinds
)

// budgetSpans are the lengths of the spans in minutes, and how many cells of each kind an
// account can have there. Cells that go on count once in each span.
var budgetSpans = [...]struct {
	minutes int64
	most    [kinds]int32
}{
	{1, [kinds]int32{named: 500, unnamed: 1000}},
	{hour, [kinds]int32{named: 1500, unnamed: 1500}},
	{day, [kinds]int32{named: 3000, unnamed: 3000}},
}

// budgets hold the accounts to their cells.
type budgets struct {
	seed     maphash.Seed
	accounts index.Index[string, budget]
	kept     atomic.Int64 // how many accounts
	day      int64        // the last one that was cleaned up for; the flusher's
}

// budget is what one account has used.
type budget struct {
	mu    sync.Mutex
	gone  bool             // no longer in the index
	seen  map[uint64]int64 // the cells of this day by their hash, with the minute that each was last counted in
	spans [len(budgetSpans)]budgetSpan
}

type budgetSpan struct {
	number int64 // of the span, since 1970
	used   [kinds]int32
}

// admit tells whether a cell may have events in a minute. Cells without a key always may.
func (b *budgets) admit(k *nodegate.UsageKey, hash uint64, minute int64) bool {
	if k.KeyID == "" {
		return true
	}
	of := b.lock(k.AccountID)
	defer of.mu.Unlock()
	kind := named
	if k.Method == other {
		kind = unnamed
	}
	return of.admit(hash, kind, minute)
}

// lock finds or makes an account's budget and locks it.
func (b *budgets) lock(account string) *budget {
	hash := maphash.String(b.seed, account)
	for {
		at := b.accounts.Find(hash, account)
		if at == nil {
			at = b.accounts.Add(hash, account, func(*index.Entry[string, budget]) { b.kept.Add(1) })
		}
		at.Value.mu.Lock()
		if !at.Value.gone {
			return &at.Value
		}
		at.Value.mu.Unlock()
	}
}

func (b *budget) admit(hash uint64, kind int, minute int64) bool {
	b.begin(minute)
	last, known := b.seen[hash]
	var counts [len(budgetSpans)]bool // where the cell is a new one
	for i := range budgetSpans {
		span := &budgetSpans[i]
		counts[i] = !known || last/span.minutes != minute/span.minutes
		if counts[i] && b.spans[i].used[kind] >= span.most[kind] {
			return false
		}
	}
	for i, is := range counts {
		if is {
			b.spans[i].used[kind]++
		}
	}
	b.seen[hash] = minute
	return true
}

// begin starts new spans where a minute is not in the current ones.
func (b *budget) begin(minute int64) {
	for i := range b.spans {
		number := minute / budgetSpans[i].minutes
		if b.seen != nil && b.spans[i].number == number {
			continue
		}
		b.spans[i] = budgetSpan{number: number}
		if budgetSpans[i].minutes == day {
			b.seen = map[uint64]int64{}
		}
	}
}

// collect drops the budgets of earlier days, once a day.
func (b *budgets) collect(minute int64) {
	today := minute / day
	if b.day == today {
		return
	}
	b.day = today
	dropped := b.accounts.Drop(func(at *index.Entry[string, budget]) bool {
		of := &at.Value
		of.mu.Lock()
		defer of.mu.Unlock()
		of.gone = len(of.seen) == 0 || of.spans[len(of.spans)-1].number != today
		return !of.gone
	})
	b.kept.Add(-int64(dropped))
}

// count is how many accounts have a budget.
func (b *budgets) count() int64 { return b.kept.Load() }
