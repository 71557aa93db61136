package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate/bench/child"
	"github.com/nodegate/nodegate/bench/load"
)

// round is one run of a workload on one contestant.
type round struct {
	rate    float64 // units a second
	cpu     time.Duration
	latency *load.Histogram
}

// figures are a contestant's medians over all rounds.
type figures struct {
	target   *target
	rate     float64
	p50, p99 time.Duration
	cpu      time.Duration // for each request
}

// measureRow lets the contestants take turns, so that a busy minute of the machine
// falls on all of them, and prints the row.
func measureRow(ctx context.Context, o *options, w workload, list []*target, server *child.Process) error {
	progress("measuring %s", w.name)
	rounds := map[*target][]round{}
	turns := slices.Clone(list)
	for range o.rounds {
		for _, t := range turns {
			r, err := measureRound(ctx, w, t)
			if err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
			rounds[t] = append(rounds[t], r)
		}
		slices.Reverse(turns) // being first is no advantage
	}
	var all []figures
	for _, t := range list {
		all = append(all, summary(t, rounds[t]))
	}
	o.out.row(w, all)
	if o.profile != "" {
		return saveProfile(ctx, o, w, list[0], server)
	}
	return nil
}

func measureRound(ctx context.Context, w workload, t *target) (round, error) {
	if w.prepare != nil {
		if err := w.prepare(t); err != nil {
			return round{}, fmt.Errorf("preparing: %w", err)
		}
	}
	before, err := t.usage.CPU()
	if err != nil {
		return round{}, err
	}
	begin := time.Now()
	latency, err := runAll(ctx, w, t)
	if err != nil {
		return round{}, err
	}
	took := time.Since(begin)
	after, err := t.usage.CPU()
	return round{
		rate: w.units * float64(w.requests) / took.Seconds(), cpu: (after - before) / time.Duration(w.requests), latency: latency,
	}, err
}

// runAll sends the requests of a round over the workload's connections.
func runAll(ctx context.Context, w workload, t *target) (*load.Histogram, error) {
	var (
		next atomic.Int64
		wg   sync.WaitGroup
		mu   sync.Mutex
		all  load.Histogram
		errs []error
	)
	for range w.conns {
		wg.Go(func() {
			var mine load.Histogram
			c := newConn(t)
			defer c.close()
			var err error
			for err == nil {
				n := int(next.Add(1)) - 1
				if n >= w.requests {
					break
				}
				begin := time.Now()
				if err = ctx.Err(); err == nil {
					err = w.one(t, c, n)
				}
				mine.Add(time.Since(begin))
			}
			mu.Lock()
			defer mu.Unlock()
			all.Merge(&mine)
			if err != nil && len(errs) == 0 {
				errs = append(errs, err)
			}
		})
	}
	wg.Wait()
	return &all, errors.Join(errs...)
}

func summary(t *target, rounds []round) figures {
	var all load.Histogram
	var rates []float64
	var cpus []time.Duration
	for _, r := range rounds {
		all.Merge(r.latency)
		rates, cpus = append(rates, r.rate), append(cpus, r.cpu)
	}
	return figures{target: t, rate: median(rates), cpu: median(cpus), p50: all.Quantile(0.5), p99: all.Quantile(0.99)}
}

// median is the middle value, of two the lower one.
func median[T float64 | time.Duration](list []T) T {
	slices.Sort(list)
	return list[(len(list)-1)/2]
}
