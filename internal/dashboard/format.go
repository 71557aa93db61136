package dashboard

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"

	"github.com/nodegate/nodegate/internal/dashboard/apidoc"
)

// functions are what templates can call: forms of numbers and times, and the names of
// static files.
func functions(f *static) template.FuncMap {
	return template.FuncMap{
		"static":  f.address,
		"number":  number,
		"bytes":   byteSize,
		"when":    when,
		"ago":     ago,
		"millis":  millis,
		"stamp":   stamp,
		"clock":   clock,
		"percent": percent,
		"gauge":   gauge,
		"limit":   limitText,

		"typename": apidoc.TypeName,
	}
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
