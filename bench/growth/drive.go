package main

import (
	"errors"
	"sync"
	"time"

	"github.com/nodegate/nodegate/bench/load"
)

// drive repeats a request for a while, several at a time, and measures each.
func drive(p *started, lasts time.Duration, request func() error) (*load.Result, error) {
	before, err := p.CPU()
	if err != nil {
		return nil, err
	}
	var (
		done    sync.WaitGroup
		results [connections]load.Result
		failed  [connections]error
	)
	begin := time.Now()
	for i := range connections {
		done.Go(func() { failed[i] = repeat(begin.Add(lasts), &results[i].Latency, request) })
	}
	done.Wait()
	total := &load.Result{Elapsed: time.Since(begin)}
	after, err := p.CPU()
	total.CPU = after - before
	for i := range results {
		total.Latency.Merge(&results[i].Latency)
	}
	return total, errors.Join(err, errors.Join(failed[:]...))
}

// repeat sends requests one after the other until a time.
func repeat(end time.Time, latency *load.Histogram, request func() error) error {
	for time.Now().Before(end) {
		begin := time.Now()
		if err := request(); err != nil {
			return err
		}
		latency.Add(time.Since(begin))
	}
	return nil
}
