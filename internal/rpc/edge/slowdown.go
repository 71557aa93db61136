package edge

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/tokenbucket"
	"github.com/nodegate/nodegate/internal/web"
)

// A refusal costs nothing, so a client that is refused could ask on as fast as a core
// goes, with an unknown key too. A client address gets so many at their normal speed;
// beyond them they come at a pace.
const (
	refusalsPerSecond = 200
	refusalsAtOnce    = 2000
	longestPause      = 250 * time.Millisecond
	largeBodies       = 20 // refusals that one of a body that is too large counts for: it was inflated or waited for
)

// slowdown counts refusals by client address.
type slowdown struct {
	buckets tokenbucket.Set[netip.Addr]
	proxies []netip.Prefix // that speak for many clients
}

// count counts n refusals and returns how late the last is to be sent.
func (d *slowdown) count(from netip.Addr, n float64) time.Duration {
	if !from.IsValid() || slices.ContainsFunc(d.proxies, func(p netip.Prefix) bool { return p.Contains(from) }) {
		return 0
	}
	wait := d.buckets.Spend(nodegate.AddrGroup(from), n, tokenbucket.Rate{PerSecond: refusalsPerSecond, Burst: refusalsAtOnce})
	return min(wait, longestPause)
}

// after counts an answer by its status, and holds one that refuses back. An overloaded
// server answers at once: that is not the client's doing.
func (d *slowdown) after(ctx context.Context, from netip.Addr, status int) {
	if status < http.StatusBadRequest || status >= http.StatusInternalServerError {
		return
	}
	n := 1.0
	if status == http.StatusRequestEntityTooLarge {
		n = largeBodies
	}
	wait := d.count(from, n)
	if wait <= 0 {
		return
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// refused is after for an error that a client is told.
func (d *slowdown) refused(req *http.Request, err error) {
	d.after(req.Context(), web.ClientAddr(req, d.proxies), web.Status(nodegate.AsError(err).Code))
}

// slowed counts a message of a socket that was refused. The socket's reader waits for
// it: workers are everybody's.
func (s *socket) slowed(err error) {
	if status := web.Status(nodegate.AsError(err).Code); status >= http.StatusBadRequest && status < http.StatusInternalServerError {
		s.delay.Store(int64(s.edge.slowdown.count(s.visitor.credentials.From, 1)))
	}
}

// rest waits before the next message is read.
func (s *socket) rest() {
	if d := s.delay.Swap(0); d > 0 {
		time.Sleep(time.Duration(d))
	}
}

// A socket may send so many pings and pongs in a window; each one beyond them makes it wait.
// Clients send one every few seconds. Sockets are counted one by one, not by client address:
// thousands may share one, and they all answer our pings.
const (
	controlWindow = 10 * time.Second
	mostControls  = 200
	controlPause  = 50 * time.Millisecond
)

// controlled slows a peer down that sends pings without a pause.
func (s *socket) controlled() {
	if now := time.Now(); now.Sub(s.counted) > controlWindow {
		s.counted, s.controls = now, 0
	}
	if s.controls++; s.controls > mostControls {
		time.Sleep(controlPause)
	}
}
