package nodegate

import (
	"math/bits"
	"time"
)

// UsageKey is what usage is counted by.
type UsageKey struct {
	AccountID string
	KeyID     string
	Network   string
	Method    string // a known method, or "other"
	Outcome   string // "ok", or a Code's name
}

// Usage are the figures of one UsageKey over one span of time that begins at At.
type Usage struct {
	UsageKey
	At       time.Time
	Requests int64
	Credits  int64
	BytesIn  int64
	BytesOut int64
	Latency  Histogram
}

// Histogram counts durations. Each doubling from 64 µs to 33 s has two elements, one for
// its lower half and one for its upper half; the first begins at 0 and the last has no end.
// Two histograms add up.
type Histogram [HistogramSize]int64

// HistogramSize is the number of spans in a Histogram.
const HistogramSize = 2 * doublings

const (
	doublings      = 20
	histogramFirst = 6 // the first doubling ends at 2^6 µs
)

// Bucket is the element that a duration belongs to.
func Bucket(d time.Duration) int {
	micros := uint64(max(d.Microseconds(), 0))
	doubling := max(bits.Len64(micros)-histogramFirst, 0)
	if doubling >= doublings {
		return HistogramSize - 1
	}
	upper := micros >> (max(doubling, 1) + histogramFirst - 2) & 1
	return 2*doubling + int(upper)
}

// Quantile estimates the duration below which the share q of all lies, on a
// straight line within its span. It is 0 without any.
func (h *Histogram) Quantile(q float64) time.Duration {
	total := int64(0)
	for _, n := range h {
		total += n
	}
	rank, before := q*float64(total), int64(0)
	for i, n := range h {
		if n > 0 && float64(before+n) >= rank {
			low, high := spanOf(i)
			return low + time.Duration((rank-float64(before))/float64(n)*float64(high-low))
		}
		before += n
	}
	return 0
}

func spanOf(i int) (low, high time.Duration) {
	high = time.Microsecond << (i/2 + histogramFirst)
	if i > 1 {
		low = high / 2
	}
	if middle := (low + high) / 2; i%2 == 0 {
		high = middle
	} else {
		low = middle
	}
	return low, high
}

// Resolution is how finely usage is kept: minutes for 2 days, hours for 90, days
// forever.
type Resolution uint8

// The resolutions.
const (
	ByMinute Resolution = iota
	ByHour
	ByDay
)

// Kept is how long a resolution is kept; 0 is forever.
func (r Resolution) Kept() time.Duration {
	return [...]time.Duration{2 * 24 * time.Hour, 90 * 24 * time.Hour, 0}[r]
}

// Length is the time from one span to the next.
func (r Resolution) Length() time.Duration {
	return [...]time.Duration{time.Minute, time.Hour, 24 * time.Hour}[r]
}

// Start is the start of the span that t belongs to.
func (r Resolution) Start(t time.Time) time.Time { return t.UTC().Truncate(r.Length()) }

// UsageBatch is what one server adds at once. A store takes each number of a
// server one time only, so that a batch whose fate is unknown can be offered again.
type UsageBatch struct {
	Server  string  // a new one for each start of a server
	Number  int64   // 1, 2, 3, ...
	Rows    []Usage // At is the minute
	Figures []Figures
}

// Figures are an account's storage figures: what a batch adds, or the sum so far.
type Figures struct {
	AccountID string
	Month     time.Time // its first day; of MovedBytes
	Moved     int64     // bytes through the storage gateway in that month
	Stored    int64     // bytes kept there, whatever the month
}

// UsageQuery selects usage of one account.
type UsageQuery struct {
	AccountID string // must be given, except by an operator: "*" is all of them
	KeyID     string // "" is all
	From, To  time.Time
	By        Resolution
}

// Dimension is what usage can be told apart by.
type Dimension string

// The dimensions.
const (
	NoDimension Dimension = "" // all in one group
	ByKey       Dimension = "key"
	ByNetwork   Dimension = "network"
	ByMethod    Dimension = "method"
	ByOutcome   Dimension = "outcome"
)

// UsageSums says what is to be added up: the usage of one account that the filters
// let through, for each step of time and each value of a dimension.
type UsageSums struct {
	AccountID string // as in UsageQuery
	KeyID     string // "" is all, here and below
	Network   string
	Method    string
	Outcome   string

	From, To   time.Time
	Resolution Resolution    // of what is added up
	Step       time.Duration // from From on; 0 is one step
	By         Dimension
}

// UsageSum is the usage of one step and one group.
//
// Every figure that a page, a file or a command shows is one of these, and means the same
// everywhere:
//
//   - Requests are calls of JSON-RPC, each of a batch by itself, events of subscriptions,
//     storage commands, and requests that are refused before their calls are read.
//   - Errors are the requests that Failed, whoever is at fault and whatever they cost.
//   - Credits are what was charged, after refunds.
//   - Latency is the time to the answer, of requests that were executed. Events and refused
//     requests have none.
type UsageSum struct {
	At    time.Time // the start of the step
	Group string    // the value of the dimension; "" without one

	Requests, Errors, Credits, BytesIn, BytesOut int64

	Latency Histogram
}

// Add adds another sum's figures.
func (u *UsageSum) Add(other *UsageSum) {
	u.Requests += other.Requests
	u.Errors += other.Errors
	u.Credits += other.Credits
	u.BytesIn += other.BytesIn
	u.BytesOut += other.BytesOut
	for i, n := range other.Latency {
		u.Latency[i] += n
	}
}

// AddRow adds the figures of a row.
func (u *UsageSum) AddRow(row *Usage) {
	sum := UsageSum{Requests: row.Requests, Credits: row.Credits, BytesIn: row.BytesIn, BytesOut: row.BytesOut, Latency: row.Latency}
	if Failed(row.Outcome) {
		sum.Errors = row.Requests
	}
	u.Add(&sum)
}

// Percentiles are the latencies that are shown, 0 without any.
func (u *UsageSum) Percentiles() (p50, p95, p99 time.Duration) {
	return u.Latency.Quantile(0.50), u.Latency.Quantile(0.95), u.Latency.Quantile(0.99)
}

// OutcomeOK is the outcome of a request that was answered.
const OutcomeOK = "ok"

// Failed tells whether an outcome is a failure: any but "ok".
func Failed(outcome string) bool { return outcome != OutcomeOK }

// DayUsage is what an account used on a day.
type DayUsage struct {
	Day      time.Time
	Requests int64
	Credits  int64
}

// Spent is what accounts and keys have used of a day's credits.
type Spent struct {
	Accounts map[string]int64
	Keys     map[string]int64
}
