package dashboard

import (
	"net/http"
	"strings"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/tokenbucket"
	"github.com/nodegate/nodegate/internal/web"
)

// A page costs a thousand times what a JSON-RPC call does, and no credits. So each client
// address, and each account from all of its addresses, is held to a rate of pages. A page
// that takes long counts as several.
const (
	pagesAtOnce  = 4                      // times the rate
	fileCost     = 0.1                    // of a page: static files are kept ready
	pageTime     = 4 * time.Millisecond   // what a page may take to count as one
	maxPageTime  = 500 * time.Millisecond // of the rate, which is all that one page costs
	slowed       = 250 * time.Millisecond
	mostSlowed   = 256 // requests at once; beyond them connections are closed
	tooManyPages = "too many requests to the dashboard: wait a moment"
)

// pace holds clients to the rate of pages. The zero rate is none.
type pace struct {
	rate    float64
	buckets tokenbucket.Set[string]
	waiting chan struct{}
}

func newPace(rate int) *pace {
	return &pace{rate: float64(rate), waiting: make(chan struct{}, mostSlowed)}
}

// take counts a request for a client. Where it is one too many, it says for how long.
func (p *pace) take(client string, cost float64) (wait time.Duration, ok bool) {
	if p.rate <= 0 {
		return 0, true
	}
	return p.buckets.Take(client, cost, p.full())
}

func (p *pace) full() tokenbucket.Rate {
	return tokenbucket.Rate{PerSecond: p.rate, Burst: pagesAtOnce * p.rate}
}

// cost is how many pages a page counts as that took so long. It has a bound: the time may
// have been a slow database's.
func (p *pace) cost(took time.Duration) float64 {
	most := max(1, p.rate*maxPageTime.Seconds())
	return min(max(1, float64(took)/float64(pageTime)), most)
}

// pagesInProgress is how many pages an account can begin at the same time. What they cost
// is only known at their end, so each takes its part of the bucket until then.
const pagesInProgress = 25

func (p *pace) reserve() float64 { return max(1, pagesAtOnce*p.rate/pagesInProgress) }

// settle charges a client for a page at its end, for which it took some before.
func (p *pace) settle(client string, taken, cost float64) {
	switch {
	case p.rate <= 0:
	case cost < taken:
		p.buckets.Give(client, taken-cost, p.full())
	default:
		p.buckets.Spend(client, cost-taken, p.full())
	}
}

// refuse answers a request that is one too many. It takes its time, so that who repeats
// requests without a pause is answered a few times a second.
func (p *pace) refuse(w http.ResponseWriter, req *http.Request, wait time.Duration) {
	select {
	case p.waiting <- struct{}{}:
		defer func() { <-p.waiting }()
		select {
		case <-time.After(slowed):
		case <-req.Context().Done():
		}
	default:
		w.Header().Set("Connection", "close")
	}
	w.Header().Set("Retry-After", web.RetryAfter(wait))
	http.Error(w, tooManyPages, http.StatusTooManyRequests)
}

// admit counts a request for its address, or refuses it.
func (d *Dashboard) admit(w http.ResponseWriter, req *http.Request) bool {
	cost := 1.0
	if strings.HasPrefix(req.URL.Path, staticPath) {
		cost = fileCost
	}
	wait, ok := d.pace.take(d.clientOf(req), cost)
	if !ok {
		d.pace.refuse(w, req, wait)
	}
	return ok
}

// clientOf is the address that a request counts for.
func (d *Dashboard) clientOf(req *http.Request) string {
	return nodegate.AddrGroup(web.ClientAddr(req, d.cfg.TrustedProxies)).String()
}

// paced opens the page within the rate of its account, and charges it by its time.
func (v *visit) paced() error {
	if v.account == nil {
		defer charge(v, time.Now(), "", 0)
		return v.open()
	}
	client, reserved := "account "+v.account.ID, v.pace.reserve()
	if wait, ok := v.pace.take(client, reserved); !ok {
		v.pace.refuse(v.w, v.req, wait)
		return nil
	}
	defer charge(v, time.Now(), client, reserved)
	return v.open()
}

// handOver ends the time that a page is charged for. What follows waits for somebody else,
// for a node, a password's turn or the client, and has limits of its own. The account's next
// page can make its reports then.
func handOver(v *visit) {
	if v.ready.IsZero() {
		v.ready = time.Now()
	}
	if v.endTurn != nil {
		v.endTurn()
		v.endTurn = nil
	}
}

// charge counts a page at its end, for its address and its account.
func charge(v *visit, begun time.Time, account string, reserved float64) {
	handOver(v)
	cost := v.pace.cost(v.ready.Sub(begun) - v.waited)
	v.pace.settle(v.clientOf(v.req), 1, cost)
	if account != "" {
		v.pace.settle(account, reserved, cost)
	}
}
