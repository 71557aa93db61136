package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nodegate/nodegate/internal/accounts/credential"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/server"
)

const (
	request    = `{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}`
	honestRate = 200 // requests a second
	attackers  = 8   // connections
)

// guessing measures an honest client beside others: first they have a key, then
// they guess. What they cost as mere traffic is in both figures, so the ratio is
// what guessing costs.
func guessing(ctx context.Context, o options) error {
	s, err := serve()
	if err != nil {
		return err
	}
	defer s.stop()
	seconds := time.Duration(o.attack/o.rate) * time.Second
	fmt.Printf("\nan honest client at %d requests a second beside %d others a second, for %s each\n", honestRate, o.rate, seconds)
	calm, failed := s.beside(ctx, o.rate, seconds, func() string { return s.key })
	before := s.lookUps()
	storm, failedToo := s.beside(ctx, o.rate, seconds, credential.NewKey)
	reads := s.lookUps() - before
	fmt.Printf("%-52s %14s\n%-52s %14s\n", "p99 beside clients with a key", calm, "p99 beside guessers", storm)
	ratio := float64(storm) / float64(calm)
	goal("the honest client's p99", fmt.Sprintf("%.2fx", ratio), "1.5x", ratio <= 1.5)
	goal("its failures", fmt.Sprint(failed+failedToo), "0", failed+failedToo == 0)
	goal("store reads for each unknown key", fmt.Sprintf("%.3f", float64(reads)/float64(o.attack)), "1 at most", reads <= int64(o.attack))
	return nil
}

// service is the whole server in this process.
type service struct {
	url, key string
	lookUps  func() int64
	stop     func()
}

func serve() (*service, error) {
	dir, err := os.MkdirTemp("", "nodegate-bench-guessing")
	if err != nil {
		return nil, err
	}
	cfg := config.Default()
	cfg.Data, cfg.Listen, cfg.AdminListen, cfg.StorageListen = dir, "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	server.TuneRuntime()
	srv, err := server.New(cfg, slog.New(slog.DiscardHandler), server.Build{Version: "bench"})
	if err != nil {
		return nil, err
	}
	s := &service{stop: func() {
		_ = srv.Close(context.Background())
		_ = os.RemoveAll(dir)
	}}
	if err := srv.Start(); err != nil {
		s.stop()
		return nil, err
	}
	s.key = srv.FirstKey().Value
	s.url = srv.Addresses().RPC + "/devnet/v3/"
	s.lookUps = func() int64 { return counter(srv.Addresses().Admin+"/metrics", "nodegate_key_lookups_total") }
	return s, nil
}

// beside runs the honest client next to others at a rate, and returns its p99 and
// how many of its requests failed.
func (s *service) beside(ctx context.Context, rate int, d time.Duration, key func() string) (p99 time.Duration, failed int) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	var others sync.WaitGroup
	for range attackers {
		others.Go(func() { s.client(ctx, rate/attackers, key) })
	}
	times, failed := s.client(ctx, honestRate, func() string { return s.key })
	others.Wait()
	slices.Sort(times)
	return times[len(times)*99/100], failed
}

// client sends at a rate over a connection of its own. It counts from when a
// request was due, so that a stall is not forgotten.
func (s *service) client(ctx context.Context, rate int, key func() string) (times []time.Duration, failed int) {
	client := &http.Client{Transport: &http.Transport{}, Timeout: 5 * time.Second}
	defer client.CloseIdleConnections()
	start, every := time.Now(), time.Second/time.Duration(rate)
	for i := 0; ctx.Err() == nil; i++ {
		due := start.Add(time.Duration(i) * every)
		time.Sleep(time.Until(due))
		if !post(client, s.url+key()) {
			failed++
		}
		times = append(times, time.Since(due))
	}
	return times, failed
}

func post(client *http.Client, url string) bool {
	res, err := client.Post(url, "application/json", strings.NewReader(request))
	if err != nil {
		return false
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return err == nil && bytes.Contains(body, []byte(`"result"`))
}

// counter reads one value off the metrics page.
func counter(url, name string) (value int64) {
	res, err := http.Get(url)
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	page, _ := io.ReadAll(res.Body)
	for line := range strings.Lines(string(page)) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			var f float64
			_, _ = fmt.Sscan(rest, &f)
			value = int64(f)
		}
	}
	return value
}
