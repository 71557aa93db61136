package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// saveProfile works for some seconds more and takes nodegate's CPU profile
// meanwhile, preparing included. The work is not counted: being profiled costs time.
func saveProfile(ctx context.Context, o *options, w workload, t *target, server *process) error {
	const seconds = 5
	if err := os.MkdirAll(o.profile, 0o755); err != nil {
		return err
	}
	name := regexp.MustCompile(`[^A-Za-z0-9]+`).ReplaceAllString(w.name, "-") + ".pprof"
	done := make(chan error, 1)
	go func() {
		done <- fetchFile(fmt.Sprintf("%s/debug/pprof/profile?seconds=%d", server.Admin, seconds), filepath.Join(o.profile, name))
	}()
	var err error
	for end := time.Now().Add(seconds * time.Second); err == nil && time.Now().Before(end); {
		_, err = measureRound(ctx, w, t)
	}
	return errors.Join(err, <-done)
}

func fetchFile(address, path string) error {
	resp, err := http.Get(address)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", address, resp.Status)
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, resp.Body)
	return errors.Join(err, f.Close())
}
