package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nodegate/nodegate/bench/child"
)

// saveProfile runs one more round of nodegate and takes its CPU profile meanwhile.
// The round is not counted: being profiled costs time.
func saveProfile(o *options, p *child.Process, c *contestant, w workload) error {
	if err := os.MkdirAll(o.profile, 0o755); err != nil {
		return err
	}
	round := *o
	seconds := max(1, int(o.duration.Seconds()))
	round.duration = time.Duration(seconds) * time.Second
	done := make(chan error, 1)
	go func() {
		time.Sleep(warmUp)
		name := "nodegate-" + strings.ReplaceAll(w.name, " ", "-") + ".pprof"
		done <- p.Profile(seconds, filepath.Join(o.profile, name))
	}()
	_, err := measureRound(&round, c, w)
	return errors.Join(err, <-done)
}
