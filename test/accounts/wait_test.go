package accounts_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// sharedClient keeps connections; manyClient enough of them for a load.
var (
	sharedClient = http.DefaultClient
	manyClient   = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: time.Minute}
)

// until waits for what happens by itself.
func until(t testing.TB, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(waitTime); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it never happens: " + what)
		}
	}
}

// sample is one request of a load.
type sample struct {
	start  time.Time
	took   time.Duration
	server int
	status int
	body   string // of an answer that is not 200
	err    error
}

// load is many clients that post to one or several servers at the same time.
type load struct {
	stop    context.CancelFunc
	running sync.WaitGroup
	begin   time.Time
	servers int

	mu      sync.Mutex
	samples []sample
}

// startLoad runs clients on each address, each with a pause between its requests,
// until wait. More header lines may come from header, a new list for each request.
func startLoad(body string, clients int, pause time.Duration, header func() []string, urls ...string) *load {
	ctx, stop := context.WithCancel(context.Background())
	l := &load{stop: stop, begin: time.Now(), servers: len(urls)}
	for server, url := range urls {
		for range clients {
			l.running.Go(func() { l.run(ctx, body, pause, header, server, url) })
		}
	}
	return l
}

func (l *load) run(ctx context.Context, body string, pause time.Duration, header func() []string, server int, url string) {
	for ctx.Err() == nil {
		var more []string
		if header != nil {
			more = header()
		}
		s := sample{start: time.Now(), server: server}
		var r reply
		r, s.err = try(context.Background(), manyClient, http.MethodPost, url, body, more...)
		s.took, s.status = time.Since(s.start), r.status
		if r.status != http.StatusOK {
			s.body = r.body
		}
		l.mu.Lock()
		l.samples = append(l.samples, s)
		l.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// soFar returns the samples that are there while the load goes on.
func (l *load) soFar() []sample {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.samples)
}

// see waits until every server has answered so many more requests with a status.
func (l *load) see(t testing.TB, status, more int) {
	t.Helper()
	before := len(l.soFar())
	until(t, fmt.Sprintf("%d answers with status %d from each server", more, status), func() bool {
		counts := make([]int, l.servers)
		for _, s := range l.soFar()[before:] {
			if s.status == status {
				counts[s.server]++
			}
		}
		return slices.Min(counts) >= more
	})
}

// wait ends the load and returns all samples and the time they took.
func (l *load) wait() ([]sample, time.Duration) {
	l.stop()
	l.running.Wait()
	return l.samples, time.Since(l.begin)
}

// count counts samples of a status.
func count(samples []sample, status int) (n int64) {
	for _, s := range samples {
		if s.status == status {
			n++
		}
	}
	return n
}

// onlyStatuses fails for a sample with another outcome, and for one that took long.
func onlyStatuses(t *testing.T, samples []sample, longest time.Duration, statuses ...int) {
	t.Helper()
	bad := 0
	var slowest time.Duration
	for _, s := range samples {
		ok := s.err == nil && s.took <= longest
		one := false
		for _, status := range statuses {
			one = one || s.status == status
		}
		slowest = max(slowest, s.took)
		if (!ok || !one) && bad < 5 {
			t.Errorf("server %d: %d after %v (%v) %s", s.server, s.status, s.took, s.err, s.body)
			bad++
		}
	}
	t.Logf("%d requests, the slowest took %v", len(samples), slowest)
}
