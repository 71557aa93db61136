package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/nodegate/nodegate/internal/config"
)

// pollEvery is how often the files are looked at. A change counts once two looks in
// a row find the same, so that half a file is not taken for the whole.
const pollEvery = time.Second

// reloader reads the configuration again, on a signal and when a file of it has
// changed, and hands it to the running server. One that can't be used changes nothing.
type reloader struct {
	load  func() (*config.Config, error)
	apply func(context.Context, *config.Config) error
	log   *slog.Logger
	// count is called with each reload: its error, and how long it took.
	count func(error, time.Duration)

	files  []string
	empty  bool   // the file in force has no content
	loaded string // the files as they were when they were last read
	seen   string // as the last look found them
}

func newReloader(cfg *config.Config, load func() (*config.Config, error), apply func(context.Context, *config.Config) error, log *slog.Logger) *reloader {
	r := &reloader{load: load, apply: apply, log: log, count: func(error, time.Duration) {}, files: cfg.Files(), empty: cfg.EmptyFile()}
	r.loaded = stamps(r.files)
	r.seen = r.loaded
	return r
}

// run follows until ctx ends.
func (r *reloader) run(ctx context.Context, signals <-chan os.Signal) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-signals:
			r.reload(ctx)
		case <-tick.C:
			r.look(ctx)
		}
	}
}

// look reloads when the files have changed and have come to rest.
func (r *reloader) look(ctx context.Context) {
	now := stamps(r.files)
	rested := now == r.seen
	r.seen = now
	if rested && now != r.loaded {
		r.reload(ctx)
	}
}

func (r *reloader) reload(ctx context.Context) {
	before, begin := stamps(r.files), time.Now()
	cfg, err := r.load()
	if err == nil && cfg.EmptyFile() && !r.empty {
		err = errEmptied
	}
	if err == nil {
		err = r.apply(ctx, cfg)
	}
	r.count(err, time.Since(begin))
	if err != nil {
		r.loaded = before // the same mistake is told once
		r.refuse(err)
		return
	}
	// What changes while it is read shows as another stamp at the next look.
	if files := cfg.Files(); !slices.Equal(files, r.files) {
		r.files, before = files, stamps(files)
	}
	r.loaded, r.empty = before, cfg.EmptyFile()
}

// errEmptied: an editor that saves, or a disk that is full, leaves an empty file for a
// while. Taking it would reset every setting.
var errEmptied = errors.New("the configuration file is empty; to reset everything to the defaults, write {} into it")

// refuse logs each reason on a line of its own.
func (r *reloader) refuse(err error) {
	var problems config.Errors
	if !errors.As(err, &problems) {
		r.log.Error("configuration reload refused; keeping the old configuration", "problem", err)
		return
	}
	for _, p := range problems {
		r.log.Error("configuration reload refused; keeping the old configuration", "problem", p)
	}
}

// stamps tells versions of files apart by time and size. A file that is gone has one too.
func stamps(files []string) string {
	var b strings.Builder
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil {
			fmt.Fprintf(&b, "%s: gone\n", name)
			continue
		}
		fmt.Fprintf(&b, "%s: %d %d\n", name, info.ModTime().UnixNano(), info.Size())
	}
	return b.String()
}
