package dashboard

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"

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
		"percent":  percent,
		"gauge":    gauge,
		"limit":    limitText,
		"initials": initials,
		"level":    level,
		"compact":  compact,
		"middle":   middle,
		"named":    func(name, text string) named { return named{name, text} },

		"typename": apidoc.TypeName,
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

// clock is the time of a day, to the second.
func clock(t time.Time) string { return t.UTC().Format("15:04:05") }

// percent is a share for people.
func percent(p float64) string {
	if p > 0 && p < 1 {
		return "under 1 %"
	}
	return strconv.FormatFloat(p, 'f', 0, 64) + " %"
}

// level says how near a share is to its limit, for the color of a bar.
func level(p float64) string {
	switch {
	case p >= 100:
		return "full"
	case p >= 80:
		return "high"
	}
	return ""
}

// successRate is the share of requests without an error. It never rounds a failure away.
func successRate(requests, failed int64) string {
	p := math.Floor(float64(requests-failed)/float64(requests)*10000) / 100
	return strconv.FormatFloat(p, 'f', -1, 64) + " %"
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

// millis is a duration as request times are read: 0.42 ms, 12 ms.
func millis(d time.Duration) string {
	ms := float64(d.Microseconds()) / 1000
	if ms < 10 {
		return strconv.FormatFloat(ms, 'f', 2, 64) + " ms"
	}
	return strconv.FormatFloat(ms, 'f', 0, 64) + " ms"
}
