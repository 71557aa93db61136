package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
)

// report is everything that was measured.
type report struct {
	Bytes   int                `json:"receipt_bytes"`
	Peak    map[string]figures `json:"as_fast_as_can_be"`
	Half    map[string]figures `json:"at_half_load"`
	Idle    float64            `json:"idle_mb"`
	Sockets *socketFigures     `json:"sockets,omitempty"`
}

// The goals.
const (
	goalCachedRate    = 1.2 // of nginx's requests a second
	goalForwardedRate = 0.55
	goalCachedCPU     = 30.0 // microseconds a request
	goalForwardedCPU  = 70.0
	goalP99           = 2.0 // of nginx's at half load
	goalIdle          = 80.0
	goalSockets       = 200.0
)

var order = []string{"direct", "nginx", "cached", earlierCached, "forwarded", earlierForwarded}

func (r *report) print(w io.Writer, o *options) {
	fmt.Fprintf(w, "\na receipt of %d bytes, %d connections, medians of %d rounds of %s; times in µs, CPU is the contestant's own for one request\n\n", r.Bytes, o.conns, o.rounds, o.duration)
	printFigures(w, r.Peak)
	fmt.Fprint(w, "\neach at half of what it can do\n\n")
	printFigures(w, r.Half)
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, g := range r.goals() {
		fmt.Fprintln(t, g)
	}
	_ = t.Flush()
}

func printFigures(w io.Writer, all map[string]figures) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "way\trps\tp50\tp99\tCPU\trps of nginx's\tCPU of nginx's\terrors\t")
	for _, name := range order {
		if f, ok := all[name]; ok {
			fmt.Fprintf(t, "%s\t%.0f\t%.0f\t%.0f\t%.1f\t%s\t%s\t%d\t\n", name, f.Rate, f.P50, f.P99, f.CPU, of(f.Rate, all["nginx"].Rate), of(f.CPU, all["nginx"].CPU), f.Errors)
		}
	}
	_ = t.Flush()
}

func of(part, whole float64) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2fx", part/whole)
}

// goals compares what was measured with what was wanted.
func (r *report) goals() []string {
	var lines []string
	add := func(name string, got float64, least bool, want float64, unit string) {
		mark := "met"
		if least && got < want || !least && got > want {
			mark = "MISSED"
		}
		bound := "at most"
		if least {
			bound = "at least"
		}
		lines = append(lines, fmt.Sprintf("%s\t%.2f%s\t%s %g%s\t%s", name, got, unit, bound, want, unit, mark))
	}
	if nginx := r.Peak["nginx"].Rate; nginx > 0 {
		add("from the cache, requests a second of nginx's", r.Peak["cached"].Rate/nginx, true, goalCachedRate, "x")
		add("forwarded, requests a second of nginx's", r.Peak["forwarded"].Rate/nginx, true, goalForwardedRate, "x")
	}
	add("from the cache, CPU a request", r.Peak["cached"].CPU, false, goalCachedCPU, " µs")
	add("forwarded, CPU a request", r.Peak["forwarded"].CPU, false, goalForwardedCPU, " µs")
	if nginx := r.Half["nginx"].P99; nginx > 0 {
		add("from the cache, p99 at half load of nginx's", r.Half["cached"].P99/nginx, false, goalP99, "x")
		add("forwarded, p99 at half load of nginx's", r.Half["forwarded"].P99/nginx, false, goalP99, "x")
	}
	add("memory with no embedded network", r.Idle, false, goalIdle, " MB")
	if r.Sockets != nil {
		add(fmt.Sprintf("memory with %d idle WebSockets", r.Sockets.Open), r.Sockets.Memory, false, goalSockets, " MB")
	}
	return lines
}

// save writes the report as JSON; no path, no file.
func (r *report) save(path string) error {
	if path == "" {
		return nil
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}
