package web

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// ClientAddr is the address a request comes from. A proxy's word on it counts
// only where the proxy is trusted: the last address in X-Forwarded-For that is not
// itself a trusted proxy. Whatever a client puts before that is ignored.
func ClientAddr(req *http.Request, trusted []netip.Prefix) netip.Addr {
	peer, err := netip.ParseAddrPort(req.RemoteAddr)
	addr := peer.Addr().Unmap()
	if err != nil || !within(trusted, addr) {
		return addr
	}
	hops := strings.Split(strings.Join(req.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		next, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil {
			return addr
		}
		addr = next.Unmap()
		if !within(trusted, addr) {
			return addr
		}
	}
	return addr
}

func within(list []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// FromTrusted tells whether a trusted proxy speaks for the client.
func FromTrusted(req *http.Request, trusted []netip.Prefix) bool {
	peer, err := netip.ParseAddrPort(req.RemoteAddr)
	return err == nil && within(trusted, peer.Addr().Unmap())
}
