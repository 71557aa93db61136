package main

import (
	"fmt"
	"io"
	"time"
)

// page is where the figures are printed.
type page struct{ io.Writer }

// row prints a workload's figures for each contestant and its goals. The goals
// are for plain HTTP, which is what Kubo serves.
func (p page) row(w workload, all []figures) {
	for i, f := range all {
		name := w.name
		if i > 0 {
			name = ""
		}
		verdict := ""
		if i == 0 && w.goals.aim > 0 {
			verdict = fmt.Sprintf("   aim %.0f %s: %s", w.goals.aim, w.unit, met(f.rate >= w.goals.aim))
		}
		fmt.Fprintf(p, "%-36s %-10s %9.0f %-7s %9s %9s %12s%s\n", name, f.target.name, f.rate, w.unit, short(f.p50), short(f.p99), cpuText(f), verdict)
	}
	for _, f := range all {
		if f.target.name == beforeName && f.cpu > 0 {
			fmt.Fprintf(p, "%-36s %-10s %+8.1f %% CPU, %+.1f %% speed\n", "", "to before", (all[0].cpu.Seconds()/f.cpu.Seconds()-1)*100, (all[0].rate/f.rate-1)*100)
		}
	}
	if last := all[len(all)-1]; last.target.name == "kubo" {
		p.ratios(w, all[0], last)
	}
}

func (p page) ratios(w workload, ours, kubo figures) {
	line := fmt.Sprintf("%-36s %-10s %8.1fx speed%s", "", "to kubo", ours.rate/kubo.rate, atLeast(ours.rate/kubo.rate, w.goals.times))
	if kubo.cpu > 0 {
		ratio := ours.cpu.Seconds() / kubo.cpu.Seconds()
		line += fmt.Sprintf(", %.2fx CPU", ratio)
		if w.goals.cpuTimes > 0 {
			line += fmt.Sprintf(" (goal at most %.1fx: %s)", w.goals.cpuTimes, met(ratio <= w.goals.cpuTimes))
		}
	}
	fmt.Fprintln(p, line)
}

func atLeast(ratio, goal float64) string {
	if goal == 0 {
		return ""
	}
	return fmt.Sprintf(" (goal %.1fx: %s)", goal, met(ratio >= goal))
}

func met(ok bool) string {
	if ok {
		return "met"
	}
	return "MISSED"
}

// goal prints a figure beside what it should be at most.
func (p page) goal(what, who, figure, goal string, ok bool) {
	fmt.Fprintf(p, "%-36s %-10s %17s   goal at most %s: %s\n", what, who, figure, goal, met(ok))
}

// figure prints a figure without a goal.
func (p page) figure(what, who, figure string) {
	fmt.Fprintf(p, "%-36s %-10s %17s\n", what, who, figure)
}

func cpuText(f figures) string {
	if !f.target.usage.Known() {
		return "-"
	}
	return short(f.cpu)
}

// short rounds a duration to three digits.
func short(d time.Duration) string {
	for unit := time.Second; unit > time.Microsecond; unit /= 10 {
		if d >= unit {
			return d.Round(unit / 100).String()
		}
	}
	return d.String()
}
