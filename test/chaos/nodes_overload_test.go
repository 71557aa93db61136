package chaos

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"
)

// TestOverload is row 4: three times the calls that the node behind can answer. Numbers
// are shown; what decides is that the server lives, refuses cleanly and recovers.
func TestOverload(t *testing.T) {
	seconds := length(4, 30)
	o := begin(t, 4, fmt.Sprintf("3x the calls that can be answered for %d s", seconds), "goodput 80 % of the peak, clean errors, recovery within 5 s, memory +200 MB at most")
	g, c := startTarget(t), newCaller(t)
	places := make(chan struct{}, 8)
	g.node.make(func(_ http.ResponseWriter, r *http.Request, method string, _ []byte) bool {
		if method != "eth_getBalance" {
			return false
		}
		select { // eight at a time, 20 ms each: 400 a second at best
		case places <- struct{}{}:
			time.Sleep(20 * time.Millisecond)
			<-places
		case <-r.Context().Done():
		}
		return false
	})
	run := func(first, rate, seconds int) *tally {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(seconds)*time.Second)
		defer cancel()
		return stream(ctx, rate, func(i int) error { return cleanly(t, c, g.gate, first+i) })
	}
	const peak = 300
	alone := run(0, peak, 2)
	begun := time.Now()
	var crowd *tally
	grown := g.growth(func() { crowd = run(1e6, 3*400, seconds) })
	goodput := float64(crowd.count()-len(crowd.failed)) / time.Since(begun).Seconds()
	recovered := time.Now()
	for c.read(t.Context(), g.rpc("main"), 9e6) != nil && time.Since(recovered) < 20*time.Second {
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
	o.say("%.0f good answers a second of %d offered (at most 400), %d refused, %d not sent, p99 %v; memory +%d MB; well after %v",
		goodput, 3*400, len(crowd.failed)-unsent, unsent, crowd.quantile(0.99).Round(time.Millisecond), grown>>20, well.Round(time.Millisecond))
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
