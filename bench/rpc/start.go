package main

import (
	"context"
	"errors"
	"path/filepath"
	"time"
)

// idleTime is how long a started server is left alone before its memory is read.
const idleTime = 3 * time.Second

// startFigures are how nodegate starts with its default configuration. The times
// are from the start of the process until both addresses listen.
type startFigures struct {
	First     float64 `json:"first_start_s"`
	Reopened  float64 `json:"reopened_s"`
	IdleFirst float64 `json:"idle_after_first_start_mb"`
	Idle      float64 `json:"idle_after_reopening_mb"`
}

// The goals for starting.
const (
	goalFirst    = 5.0 // seconds
	goalReopened = 1.0 // seconds
	goalIdle     = 200 // megabytes
)

// measureStart starts the default configuration on an empty folder and once more.
func measureStart(ctx context.Context, temp string) (*startFigures, error) {
	progress("measuring start and idle memory")
	data := filepath.Join(temp, "default")
	f := &startFigures{}
	var err error
	if f.First, f.IdleFirst, err = startOnce(ctx, data); err != nil {
		return nil, err
	}
	f.Reopened, f.Idle, err = startOnce(ctx, data)
	return f, err
}

func startOnce(ctx context.Context, data string) (seconds, megabytes float64, err error) {
	p, err := startServer("default", childFlags{data: data})
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	select {
	case <-ctx.Done():
		return 0, 0, ctx.Err()
	case <-time.After(idleTime):
	}
	bytes, err := p.Usage().Memory()
	return p.StartTime.Seconds(), float64(bytes) / 1e6, err
}
