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

// Histogram counts durations: element i those below 64 µs · 2^i, the last one the
// rest. So it reaches from 64 µs to 33 s, and two of them add up.
type Histogram [HistogramSize]int64

// HistogramSize is the number of spans in a Histogram.
const HistogramSize = 20

const histogramFirst = 6 // the first span ends at 2^6 µs

// Bucket is the element that a duration belongs to.
func Bucket(d time.Duration) int {
	return min(max(bits.Len64(uint64(max(d.Microseconds(), 0)))-histogramFirst, 0), HistogramSize-1)
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
	high = time.Microsecond << (i + histogramFirst)
	if i > 0 {
		low = high / 2
	}
	return low, high
}

// Resolution is how finely usage is kept: minutes for 2 days, hours for 90, days
// for ever.
type Resolution uint8

// The resolutions.
const (
	ByMinute Resolution = iota
	ByHour
	ByDay
)

// Kept is how long a resolution is kept; 0 is for ever.
func (r Resolution) Kept() time.Duration {
	return [...]time.Duration{2 * 24 * time.Hour, 90 * 24 * time.Hour, 0}[r]
}

// Start is the begin of the span that t belongs to.
func (r Resolution) Start(t time.Time) time.Time {
	return t.UTC().Truncate([...]time.Duration{time.Minute, time.Hour, 24 * time.Hour}[r])
}

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
