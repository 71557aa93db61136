package main

import (
	"context"
	"slices"
	"time"

	"github.com/nodegate/nodegate/bench/load"
)

// warmUp precedes every round and is not counted.
const warmUp = 500 * time.Millisecond

// figures are one contestant's medians over all rounds.
type figures struct {
	Rate   float64 `json:"requests_per_second"`
	P50    float64 `json:"p50_us"`
	P99    float64 `json:"p99_us"`
	CPU    float64 `json:"cpu_us_per_request"`
	Bytes  float64 `json:"bytes_per_answer"`
	Errors uint64  `json:"errors"`
	First  string  `json:"first_error,omitempty"`
}

// row is one workload's outcome.
type row struct {
	Name    string             `json:"name"`
	Goal    goal               `json:"goal"`
	Figures map[string]figures `json:"figures"`               // by contestant
	Changes []float64          `json:"cpu_changes,omitempty"` // from another build's CPU, one for each start
}

// measureRow lets the contestants take turns, so that a busy minute of the machine
// falls on all of them.
func measureRow(ctx context.Context, o *options, list []*contestant, w workload) (row, error) {
	progress("measuring %s", w.name)
	rounds := make(map[string][]*load.Result)
	for round := range o.rounds {
		for _, c := range inTurns(list, round) {
			if err := ctx.Err(); err != nil {
				return row{}, err
			}
			r, err := measureRound(o, c, w)
			if err != nil {
				return row{}, err
			}
			rounds[c.name] = append(rounds[c.name], r)
		}
	}
	out := row{Name: w.name, Goal: w.goal, Figures: map[string]figures{}}
	for name, results := range rounds {
		out.Figures[name] = summary(results)
	}
	return out, nil
}

// inTurns changes the order of nodegate's builds from round to round: whoever follows
// Geth finds the processor's caches cold and Geth's garbage collection in progress.
func inTurns(list []*contestant, round int) []*contestant {
	list = slices.Clone(list)
	if round%2 == 1 {
		slices.Reverse(list[1:])
	}
	return list
}

func measureRound(o *options, c *contestant, w workload) (*load.Result, error) {
	return load.Run(c.url, w.bodies, load.Options{
		Conns: o.conns, WarmUp: warmUp, Measure: o.duration, Sequence: &c.sequence, CPU: c.cpu,
	})
}

func summary(rounds []*load.Result) figures {
	f := figures{
		Rate:  medianOf(rounds, func(r *load.Result) float64 { return float64(r.Latency.Count()) / r.Elapsed.Seconds() }),
		P50:   medianOf(rounds, func(r *load.Result) float64 { return micros(r.Latency.Quantile(0.50)) }),
		P99:   medianOf(rounds, func(r *load.Result) float64 { return micros(r.Latency.Quantile(0.99)) }),
		CPU:   medianOf(rounds, func(r *load.Result) float64 { return micros(r.CPU) / requests(r) }),
		Bytes: medianOf(rounds, func(r *load.Result) float64 { return float64(r.Bytes) / requests(r) }),
	}
	for _, r := range rounds {
		f.Errors += r.Errors
		if f.First == "" {
			f.First = r.FirstError
		}
	}
	return f
}

// requests is never 0, so that a round without an answer gives figures and no NaN.
func requests(r *load.Result) float64 { return float64(max(r.Latency.Count(), 1)) }

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func medianOf(rounds []*load.Result, figure func(*load.Result) float64) float64 {
	values := make([]float64, len(rounds))
	for i, r := range rounds {
		values[i] = figure(r)
	}
	return median(values)
}

// median sorts the values.
func median(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}
