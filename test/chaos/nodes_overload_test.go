package chaos

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// findPeak is how many calls a second are answered well at best: that many callers, each
// with the next call as soon as the last is answered. The best of three rounds counts.
func findPeak(t *testing.T, callers, seconds int, call func(i int) error) (peak float64) {
	t.Helper()
	for round := range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(seconds)*time.Second/3)
		var good, next atomic.Int64
		var wait sync.WaitGroup
		begun := time.Now()
		for range callers {
			wait.Go(func() {
				for ctx.Err() == nil {
					if call(round*1e6+int(next.Add(1))) == nil {
						good.Add(1)
					}
				}
			})
		}
		wait.Wait()
		cancel()
		peak = max(peak, float64(good.Load())/time.Since(begun).Seconds())
	}
	if peak == 0 {
		t.Fatal("nothing is answered at all")
	}
	return peak
}

// TestOverload is row 4: three times the calls that can be answered, by what was found
// to be the most. Numbers are shown; what decides is that the server lives, refuses
// cleanly and recovers.
func TestOverload(t *testing.T) {
	seconds := length(4, 30)
	o := begin(t, 4, fmt.Sprintf("3x the calls that can be answered for %d s", seconds), "goodput 80 % of the peak found, clean errors, recovery within 5 s, memory +200 MB at most")
	g, c := startTarget(t), newCaller(t)
	places := make(chan struct{}, 8)
	g.node.make(func(_ http.ResponseWriter, r *http.Request, method string, _ []byte) bool {
		if method != "eth_getBalance" {
			return false
		}
		select { // the node behind is what is short: eight at a time, 20 ms each
		case places <- struct{}{}:
			time.Sleep(20 * time.Millisecond)
			<-places
		case <-r.Context().Done():
		}
		return false
	})
	peak := findPeak(t, 32, length(3, 12), func(i int) error { return cleanly(t, c, g.gate, i) })
	offered := int(3 * peak)
	run := func(first, rate, seconds int) *tally {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(seconds)*time.Second)
		defer cancel()
		return stream(ctx, rate, func(i int) error { return cleanly(t, c, g.gate, first+i) })
	}
	alone := run(10e6, int(0.75*peak), 2)
	begun := time.Now()
	var crowd *tally
	grown := g.growth(func() { crowd = run(20e6, offered, seconds) })
	goodput := float64(crowd.count()-len(crowd.failed)) / time.Since(begun).Seconds()
	recovered := time.Now()
	for c.read(t.Context(), g.rpc("main"), 90e6) != nil && time.Since(recovered) < 20*time.Second {
		time.Sleep(20 * time.Millisecond)
	}
	well := time.Since(recovered)
	var unsent, unclean int
	for _, err := range append(alone.failed, crowd.failed...) {
		var clean refused
		switch {
		case errors.Is(err, errCrowded):
			unsent++
		case !errors.As(err, &clean):
			unclean++
			t.Logf("no clean refusal: %v", err)
		}
	}
	o.say("%.0f good answers a second of %d offered (at most %.0f), %d refused, %d not sent, p99 %v; memory +%d MB; well after %v",
		goodput, offered, peak, len(crowd.failed)-unsent, unsent, crowd.quantile(0.99).Round(time.Millisecond), grown>>20, well.Round(time.Millisecond))
	o.within(goodput >= 0.8*peak && well <= 5*time.Second)
	if unclean > 0 || grown > 200<<20 || well > 10*time.Second || g.get("/healthz") != http.StatusOK {
		t.Error(o.measured)
	}
}

// refused is the error of a call that was refused as the contract says.
type refused string

func (r refused) Error() string { return string(r) }

// cleanly makes a call that may be refused with 503, 429 or in time.
func cleanly(t *testing.T, c *caller, g *gate, i int) error {
	a, err := c.post(t.Context(), g.rpc("main"), balance(i))
	switch {
	case err != nil:
		return err
	case a.status == http.StatusOK && a.result != nil:
		return nil
	case a.status == http.StatusServiceUnavailable && a.code == -32603, a.status == http.StatusTooManyRequests, a.status == http.StatusOK && a.text == "request timed out":
		return refused(fmt.Sprintf("%d %s", a.status, a.body))
	}
	return fmt.Errorf("%d %.200s", a.status, a.body)
}
