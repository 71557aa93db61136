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
	Start   *startFigures `json:"start,omitempty"`
	Methods []row         `json:"methods,omitempty"`
}

func (r *report) print(w io.Writer, o *options) {
	if len(r.Methods) > 0 {
		fmt.Fprintf(w, "\n%d connections, medians of %d rounds of %s each; times in µs, CPU is the server's for one request\n\n", o.conns, o.rounds, o.duration)
		printMethods(w, r.Methods, "nodegate", true)
		if o.ws {
			fmt.Fprint(w, "\nnodegate over WebSocket, against Geth over HTTP\n\n")
			printMethods(w, r.Methods, "nodegate-ws", false)
		}
		if o.before != "" {
			printBefore(w, r.Methods)
		}
		printErrors(w, r.Methods)
	}
	if r.Start != nil {
		printStart(w, r.Start)
	}
}

// nameWidth sets the names to the left; the numbers are to the right.
const nameWidth = 37

// printMethods compares one way to nodegate with Geth.
func printMethods(w io.Writer, rows []row, ours string, withGoals bool) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "%*s\tbytes\tgeth rps\tp50\tp99\tCPU\t%s rps\tp50\tp99\tCPU\trps ratio\tgoal\t\tCPU ratio\tgoal\t\t\n", -nameWidth, "method", ours)
	for _, row := range rows {
		g, n := row.Figures["geth"], row.Figures[ours]
		want := row.Goal
		if !withGoals {
			want = goal{}
		}
		fmt.Fprintf(t, "%*s\t%.0f\t", -nameWidth, row.Name, n.Bytes)
		fmt.Fprintf(t, "%.0f\t%.0f\t%.0f\t%.1f\t", g.Rate, g.P50, g.P99, g.CPU)
		fmt.Fprintf(t, "%.0f\t%.0f\t%.0f\t%.1f\t", n.Rate, n.P50, n.P99, n.CPU)
		fmt.Fprintf(t, "%s\t%s\t\n", ratio(n.Rate, g.Rate, want.Rate), ratio(g.CPU, n.CPU, want.CPU))
	}
	_ = t.Flush()
}

// printBefore compares the CPU of a request with another build's.
func printBefore(w io.Writer, rows []row) {
	fmt.Fprint(w, "\nthis build against the one before\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "%*s\tCPU before\tCPU now\tchange\trps change\tCPU change by start\t\n", -nameWidth, "method")
	for _, row := range rows {
		b, n := row.Figures[beforeName], row.Figures["nodegate"]
		fmt.Fprintf(t, "%*s\t%.2f\t%.2f\t%s\t%s\t%s\t\n", -nameWidth, row.Name, b.CPU, n.CPU, change(b.CPU, n.CPU), change(b.Rate, n.Rate), spread(row.Changes))
	}
	_ = t.Flush()
}

// spread prints the lowest, the middle and the highest change of all starts.
func spread(changes []float64) string {
	if len(changes) == 0 {
		return "-"
	}
	middle := median(changes) // sorts
	return fmt.Sprintf("%+.1f %+.1f %+.1f %%", changes[0]*100, middle*100, changes[len(changes)-1]*100)
}

func change(before, now float64) string {
	if before == 0 {
		return "-"
	}
	return fmt.Sprintf("%+.1f %%", (now/before-1)*100)
}

// ratio prints three cells: how many times better, what was wanted, and whether it is.
func ratio(better, worse, want float64) string {
	if worse == 0 {
		return "-\t\t"
	}
	x := better / worse
	switch {
	case want == 0:
		return fmt.Sprintf("%.1fx\t\t", x)
	case x >= want:
		return fmt.Sprintf("%.1fx\t%gx\tmet", x, want)
	}
	return fmt.Sprintf("%.1fx\t%gx\tMISSED", x, want)
}

func printErrors(w io.Writer, rows []row) {
	for _, row := range rows {
		for name, f := range row.Figures {
			if f.Errors > 0 {
				fmt.Fprintf(w, "\n%s: %d errors from %s, the first: %s\n", row.Name, f.Errors, name, f.First)
			}
		}
	}
}

func printStart(w io.Writer, f *startFigures) {
	fmt.Fprint(w, "\nnodegate with its default configuration\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	line := func(name string, got, want float64, unit string) {
		mark := "met"
		if got >= want {
			mark = "MISSED"
		}
		fmt.Fprintf(t, "%*s\t%.2f %s\tgoal under %g %s\t%s\t\n", -nameWidth, name, got, unit, want, unit, mark)
	}
	line("first start", f.First, goalFirst, "s")
	line("reopened", f.Reopened, goalReopened, "s")
	line("memory, idle after the first start", f.IdleFirst, goalIdle, "MB")
	line("memory, idle after reopening", f.Idle, goalIdle, "MB")
	_ = t.Flush()
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
