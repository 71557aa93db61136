package report

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"
	"time"
)

// csvHead names the columns.
var csvHead = [...]string{"kind", "begin", "end", "name", "requests", "errors", "credits", "bytes_in", "bytes_out", "p50_ms", "p95_ms", "p99_ms"}

// WriteCSV writes a report's figures as one table (RFC 4180): a line of kind total, one
// of kind step for each step, then one of kind group for each group. The groups that
// are not listed are one line of kind rest.
func WriteCSV(w io.Writer, r *Result) error {
	out := csv.NewWriter(w)
	out.UseCRLF = true
	if err := out.Write(csvHead[:]); err != nil {
		return err
	}
	lines := [][]string{csvLine("total", r.Begin, r.End, "", &r.Total)}
	for i := range r.Series {
		p := &r.Series[i]
		lines = append(lines, csvLine("step", p.At, p.At.Add(r.Step), "", &p.Sums))
	}
	for i := range r.Groups {
		g := &r.Groups[i]
		kind := "group"
		if g.Rest {
			kind = "rest"
		}
		lines = append(lines, csvLine(kind, r.Begin, r.End, g.Name, &g.Sums))
	}
	return out.WriteAll(lines)
}

func csvLine(kind string, begin, end time.Time, name string, s *Sums) []string {
	line := []string{kind, begin.UTC().Format(time.RFC3339), end.UTC().Format(time.RFC3339), defused(name)}
	for _, n := range []int64{s.Requests, s.Errors, s.Credits, s.BytesIn, s.BytesOut} {
		line = append(line, strconv.FormatInt(n, 10))
	}
	for _, d := range []time.Duration{s.P50, s.P95, s.P99} {
		line = append(line, strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 3, 64))
	}
	return line
}

// defused keeps a spreadsheet from taking a name for a formula.
func defused(name string) string {
	if name != "" && strings.ContainsRune("=+-@\t\r\n", rune(name[0])) {
		return "'" + name
	}
	return name
}
