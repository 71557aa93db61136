package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// saveProfile runs one more round of nodegate and takes its CPU profile meanwhile.
// The round is not counted: being profiled costs time.
func saveProfile(o *options, p *process, c *contestant, w workload) error {
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
		done <- fetchFile(fmt.Sprintf("%s/debug/pprof/profile?seconds=%d", p.Admin, seconds), filepath.Join(o.profile, name))
	}()
	_, err := measureRound(&round, c, w)
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
