package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nodegate/nodegate/bench/child"
)

const (
	memoryRow  = "memory"
	memoryGoal = 150 // MB above idle
	idleTime   = 3 * time.Second
	sampleTime = 20 * time.Millisecond
)

// measureMemory watches a fresh server while many clients upload at once.
func measureMemory(ctx context.Context, o *options, kubo *peer) error {
	if o.clients == 0 || !o.wants(memoryRow) {
		return nil
	}
	err := inFolder(o, func(dir string) (err error) {
		server, err := startServer(dir)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, server.Close()) }()
		return watchUploads(ctx, o, targetsOf(server)[0], true)
	})
	if err != nil || kubo == nil || !kubo.usage.Known() {
		return err
	}
	return watchUploads(ctx, o, kubo.target(), false)
}

func watchUploads(ctx context.Context, o *options, t *target, ours bool) error {
	progress("measuring memory under %d uploads of %d MiB", o.clients, o.upload>>20)
	time.Sleep(idleTime)
	idle, err := t.usage.Memory()
	if err != nil {
		return err
	}
	s := newSource()
	w := workload{
		units: float64(o.upload) / 1e6, conns: o.clients, requests: o.clients,
		one: func(_ *target, c *conn, _ int) error { _, err := add(c, "", s.new(1, o.upload)); return err },
	}
	ended := make(chan struct{})
	highest := make(chan int64, 1)
	go func() { highest <- peak(t.usage, ended) }()
	r, err := measureRound(ctx, w, t)
	close(ended)
	above := (<-highest - idle) / 1e6
	if err != nil {
		return err
	}
	what := fmt.Sprintf("memory, %d uploads of %d MiB", o.clients, o.upload>>20)
	if ours {
		o.out.goal(what, t.name, fmt.Sprintf("%d MB above %d", above, idle/1e6), fmt.Sprintf("%d MB", memoryGoal), above <= memoryGoal)
	} else {
		o.out.figure(what, t.name, fmt.Sprintf("%d MB above %d", above, idle/1e6))
	}
	o.out.figure("their speed together", t.name, fmt.Sprintf("%.0f MB/s", r.rate))
	return nil
}

// peak samples the memory of a process until the end.
func peak(u child.Usage, ended <-chan struct{}) (highest int64) {
	tick := time.NewTicker(sampleTime)
	defer tick.Stop()
	for {
		if now, err := u.Memory(); err == nil {
			highest = max(highest, now)
		}
		select {
		case <-ended:
			return highest
		case <-tick.C:
		}
	}
}
