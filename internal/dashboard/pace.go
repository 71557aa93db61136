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
// address, and each account from all of its addresses, is held to a rate of pages.
const (
	pagesAtOnce  = 4   // times the rate
	fileCost     = 0.1 // of a page: static files are kept ready
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
	return p.buckets.Take(client, cost, tokenbucket.Rate{PerSecond: p.rate, Burst: pagesAtOnce * p.rate})
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
	w.Header().Set("Retry-After", retrySeconds(wait))
	http.Error(w, tooManyPages, http.StatusTooManyRequests)
}

// admit counts a request for its address, or refuses it.
func (d *Dashboard) admit(w http.ResponseWriter, req *http.Request) bool {
	cost := 1.0
	if strings.HasPrefix(req.URL.Path, staticPath) {
		cost = fileCost
	}
	wait, ok := d.pace.take(nodegate.AddrGroup(web.ClientAddr(req, d.cfg.TrustedProxies)).String(), cost)
	if !ok {
		d.pace.refuse(w, req, wait)
	}
	return ok
}

// admitAccount counts a visit for its account, or refuses it.
func (v *visit) admitAccount() bool {
	if v.account == nil {
		return true
	}
	wait, ok := v.pace.take("account "+v.account.ID, 1)
	if !ok {
		v.pace.refuse(v.w, v.req, wait)
	}
	return ok
}
