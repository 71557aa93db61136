package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/nodegate/nodegate/bench/child"
)

// saveProfile works for some seconds more and takes nodegate's CPU profile
// meanwhile, preparing included. The work is not counted: being profiled costs time.
func saveProfile(ctx context.Context, o *options, w workload, t *target, server *child.Process) error {
	const seconds = 5
	if err := os.MkdirAll(o.profile, 0o755); err != nil {
		return err
	}
	name := regexp.MustCompile(`[^A-Za-z0-9]+`).ReplaceAllString(w.name, "-") + ".pprof"
	done := make(chan error, 1)
	go func() { done <- server.Profile(seconds, filepath.Join(o.profile, name)) }()
	var err error
	for end := time.Now().Add(seconds * time.Second); err == nil && time.Now().Before(end); {
		_, err = measureRound(ctx, w, t)
	}
	return errors.Join(err, <-done)
}
