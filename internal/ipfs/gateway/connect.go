package gateway

import (
	"net"
	"net/http"
)

// connect answers a client that takes the gateway for its proxy and asks for a tunnel. One
// to a host of the gateway ends right here: what the client sends next on this connection is
// served. No connection to anywhere is ever made.
func (g *Gateway) connect(w http.ResponseWriter, req *http.Request) {
	if g.cfg.Read == Nobody || !g.hosts.isOwn(req) || req.ProtoMajor != 1 {
		w.Header().Set("Connection", "close")
		plain(w, http.StatusForbidden, "this is not a proxy: tunnels are allowed only to the gateway's own hosts")
		return
	}
	w.WriteHeader(http.StatusOK)
}

// isOwn tells whether the target of a tunnel is a host of the gateway, or the address that
// this connection came to.
func (h *siteHosts) isOwn(req *http.Request) bool {
	if local, ok := req.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && req.Host == local.String() {
		return true
	}
	name, port := splitHost(req.Host)
	return h.isSiteHost(name) || h.siteOf(name, port) != nil
}
