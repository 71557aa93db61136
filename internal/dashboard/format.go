package dashboard

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/nodegate/nodegate/internal/accounts/usage/report"
	"github.com/nodegate/nodegate/internal/dashboard/apidoc"
)

// functions are what templates can call: forms of numbers and times, and the names of
// static files.
func functions(f *static) template.FuncMap {
	return template.FuncMap{
		"static":   f.address,
		"number":   number,
		"bytes":    byteSize,
		"when":     when,
		"ago":      ago,
		"millis":   millis,
		"stamp":    stamp,
		"clock":    clock,
		"moment":   moment,
		"percent":  percent,
		"change":   change,
		"answered": answered,
		"limit":    limitText,
		"initials": initials,
		"tint":     tint,
		"tagOf":    tagOf,
		"toneOf":   tone,
		"level":    level,
		"compact":  compact,
		"middle":   middle,
		"shorter":  shorter,
		"len64":    func(list []fileEntry) int64 { return int64(len(list)) },
		"entryIcon": func(folder bool) string {
			if folder {
				return "folder"
			}
			return "file"
		},
		"browser": browser,
		"named":   func(name, text string) named { return named{name, text} },

		"typename":  apidoc.TypeName,
		"highlight": highlight,
	}
}

// named is a text with a name, so that no two copy buttons of a page are called the same.
type named struct{ Name, Text string }

// middle leaves out the middle of a long identifier; a copy button beside it has all.
func middle(s string) string {
	const head, tail = 10, 6
	if len(s) <= head+tail+1 {
		return s
	}
	return s[:head] + "…" + s[len(s)-tail:]
}

// shorter leaves out the middle of a CID that stands in an address.
func shorter(address string) string {
	parts := strings.Split(address, "/")
	for i, part := range parts {
		if len(part) > 40 && !strings.ContainsAny(part, "?.%") {
			parts[i] = middle(part)
		}
	}
	return strings.Join(parts, "/")
}

// number groups digits by three: 3,000,000.
func number(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	var b strings.Builder
	for i, c := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return sign + b.String()
}

// byteSize is a size for people: 1.4 GiB.
func byteSize(n int64) string {
	const step = 1024
	if n < step {
		return strconv.FormatInt(n, 10) + " B"
	}
	size, unit := float64(n), 0
	for units := "KMGTPE"; size >= step && unit < len(units); unit++ {
		size /= step
	}
	return fmt.Sprintf("%.1f %ciB", size, "KMGTPE"[unit-1])
}

// when is a time to the minute, in UTC as everything here.
func when(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format("2006-01-02 15:04 UTC")
}

// stamp is a time for machines.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// moment is a time to the second.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// clock is the time of a day, to the second.
func clock(t time.Time) string { return t.UTC().Format("15:04:05") }

// percent is a share for people, to a tenth. What is not nothing is never 0 %, and what is
// not all is never 100 %.
func percent(part, whole int64) string {
	if part <= 0 || whole <= 0 {
		return "0 %"
	}
	tenths := int64(math.Round(1000 * float64(part) / float64(whole)))
	switch {
	case tenths == 0:
		return "under 0.1 %"
	case part < whole && tenths >= 1000:
		return "over 99.9 %"
	}
	return strconv.FormatFloat(float64(tenths)/10, 'f', -1, 64) + " %"
}

// answered is how many of a number of requests did not fail.
func answered(requests, failed int64) int64 { return requests - failed }

// level says how near a figure is to its limit, for the color of a bar.
func level(used, limit int64) string {
	switch p := 100 * float64(used) / float64(limit); {
	case limit <= 0:
		return ""
	case p >= 100:
		return "full"
	case p >= 80:
		return "high"
	}
	return ""
}

// tagOf is the tone of a share of a limit.
func tagOf(s report.Share) string {
	return map[string]string{"full": "bad", "high": "warn"}[level(s.Used, s.Limit)]
}

// compact is a count in three or four digits: 11.42 M. Smaller ones are written out.
func compact(n int64) string {
	for _, unit := range []struct {
		size int64
		name string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}} {
		if n >= unit.size {
			return strconv.FormatFloat(float64(n)/float64(unit.size), 'f', 2, 64) + " " + unit.name
		}
	}
	return number(n)
}

// ago is how long something is past.
func ago(t time.Time) string {
	switch d := time.Since(t); {
	case t.IsZero():
		return "never"
	case d < time.Minute:
		return strconv.Itoa(max(0, int(d.Seconds()))) + " s ago"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + " min ago"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d.Hours())) + " h ago"
	default:
		return strconv.Itoa(int(d.Hours()/24)) + " days ago"
	}
}

// millis is a latency: 0.42 ms, 12 ms. Zero is none.
func millis(d time.Duration) string {
	if d <= 0 {
		return "–"
	}
	ms := float64(d.Microseconds()) / 1000
	if ms < 10 {
		return strconv.FormatFloat(ms, 'f', 2, 64) + " ms"
	}
	return strconv.FormatFloat(ms, 'f', 0, 64) + " ms"
}
