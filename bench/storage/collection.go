package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/nodegate/nodegate/bench/load"
)

const (
	collectionRow = "add 4 KiB during a collection"
	normalAdds    = 500
	garbageFiles  = 2
	slower        = 3.0 // how much longer an add may take
)

// measureCollection compares adds beside a collection with adds on their own, one
// after the other over one connection.
func measureCollection(ctx context.Context, o *options, list []*target) error {
	if !o.wants(collectionRow) {
		return nil
	}
	progress("measuring %s", collectionRow)
	s := newSource()
	for i, t := range list {
		if i == 1 {
			continue // the same server over TLS
		}
		if err := s.besideCollection(ctx, o, t, i == 0); err != nil {
			if i == 0 {
				return err
			}
			progress("%s: no collection to measure: %v", t.name, err)
		}
	}
	return nil
}

func (s *source) besideCollection(ctx context.Context, o *options, t *target, ours bool) error {
	c := newConn(t)
	defer c.close()
	for range garbageFiles {
		if _, err := add(c, "pin=false", s.new(1, o.size)); err != nil {
			return err
		}
	}
	calm := 0
	normal, _, err := s.addUntil(ctx, c, func() bool { calm++; return calm > normalAdds })
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	begin, took := time.Now(), time.Duration(0)
	go func() {
		err := collect(ctx, t)
		took = time.Since(begin)
		done <- err
	}()
	during, worst, err := s.addUntil(ctx, c, func() bool { return len(done) > 0 })
	if failed := <-done; failed != nil || err != nil {
		return fmt.Errorf("collection: %v; adds: %v", failed, err)
	}
	o.out.figure(fmt.Sprintf("%s (%s)", "a collection", short(took)), t.name, fmt.Sprintf("%d adds", during.Count()))
	for _, q := range []struct {
		name  string
		share float64
	}{{"p50", 0.5}, {"p99", 0.99}} {
		was, is := normal.Quantile(q.share), during.Quantile(q.share)
		figure := fmt.Sprintf("%s = %.1fx", short(is), is.Seconds()/was.Seconds())
		if ours {
			o.out.goal(collectionRow+", "+q.name, t.name, figure, "3x", is.Seconds() <= slower*was.Seconds())
		} else {
			o.out.figure(collectionRow+", "+q.name, t.name, figure)
		}
	}
	o.out.figure("the slowest of them", t.name, short(worst))
	return nil
}

// addUntil adds small files one after the other, at least one.
func (s *source) addUntil(ctx context.Context, c *conn, enough func() bool) (times *load.Histogram, worst time.Duration, err error) {
	times = &load.Histogram{}
	for first := true; first || !enough(); first = false {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		begin := time.Now()
		if err := s.addSmall(c.target, c, 0); err != nil {
			return nil, 0, err
		}
		took := time.Since(begin)
		times.Add(took)
		worst = max(worst, took)
	}
	return times, worst, nil
}

// collect asks for a collection and waits for its end.
func collect(ctx context.Context, t *target) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.collect, http.NoBody)
	if err != nil {
		return err
	}
	if t.auth != "" {
		req.Header.Set("Authorization", t.auth)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s", res.Status)
	}
	_, err = io.Copy(io.Discard, res.Body)
	return err
}
