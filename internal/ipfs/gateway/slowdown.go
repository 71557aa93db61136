package gateway

import (
	"net/netip"
	"slices"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/web"
)

// slow holds back the refusal, or the end of a broken answer, of a request whose account or
// address is refused over and over. Refusals are cheap for who asks and not free for the others.
func slow(c *call, err error) {
	if err == nil {
		return
	}
	n := refusals(nodegate.AsError(err).Code, c.place != nil && c.place.large)
	c.hold.Release()
	if c.grant == nil && proxied(c) {
		return
	}
	web.Pause(c.req.Context(), c.gateway.slowdown.Count(owner(c), n))
}

// refusals are what an error counts for. Content that is not here is no refusal; a large
// request that fails has cost more than most.
func refusals(code nodegate.Code, large bool) float64 {
	switch {
	case code == nodegate.NotFound:
		return 0
	case code == nodegate.ExecutionFailed && large:
		return web.LargeRefusal
	}
	return web.Refusals(statusOf(code))
}

// proxied tells that the request comes from a trusted proxy that doesn't say for whom.
func proxied(c *call) bool {
	from := web.ClientAddr(c.req, c.gateway.cfg.TrustedProxies)
	return slices.ContainsFunc(c.gateway.cfg.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(from) })
}

// owner is whose request it is: an account's, or an address's where nobody was let in.
func owner(c *call) string {
	if c.grant != nil {
		return c.account()
	}
	return addressOwner(web.ClientAddr(c.req, c.gateway.cfg.TrustedProxies))
}
