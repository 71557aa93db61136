package edge

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/web"
)

// slowdown counts refusals by client address.
type slowdown struct {
	clients web.Slowdown[netip.Addr]
	proxies []netip.Prefix // that speak for many clients
}

// count counts n refusals and returns how late the last is to be sent.
func (d *slowdown) count(from netip.Addr, n float64) time.Duration {
	if !from.IsValid() || slices.ContainsFunc(d.proxies, func(p netip.Prefix) bool { return p.Contains(from) }) {
		return 0
	}
	return d.clients.Count(nodegate.AddrGroup(from), n)
}

// after counts an answer by its status, and holds one that refuses back.
func (d *slowdown) after(ctx context.Context, from netip.Addr, status int) {
	web.Pause(ctx, d.count(from, web.Refusals(status)))
}

// refused is after for an error that a client is told.
func (d *slowdown) refused(req *http.Request, err error) {
	d.after(req.Context(), web.ClientAddr(req, d.proxies), web.Status(nodegate.AsError(err).Code))
}

// slowed counts a message of a socket that was refused. The socket's reader waits for
// it: workers are everybody's.
func (s *socket) slowed(err error) {
	if web.Refusals(web.Status(nodegate.AsError(err).Code)) > 0 {
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
// Clients send one every few seconds. Tiny fragments of messages count too; see ws.Conn. Sockets are counted one by one, not by client address:
// thousands may share one, and they all answer our pings.
const (
	controlWindow = 10 * time.Second
	mostControls  = 200
	controlPause  = 50 * time.Millisecond
)

// controlled slows a peer down that sends pings or tiny fragments without a pause.
func (s *socket) controlled() {
	if now := time.Now(); now.Sub(s.counted) > controlWindow {
		s.counted, s.controls = now, 0
	}
	if s.controls++; s.controls > mostControls {
		time.Sleep(controlPause)
	}
}
