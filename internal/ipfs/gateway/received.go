package gateway

import (
	"net/http"

	"github.com/nodegate/nodegate"
)

// Received lets content in that came before it is stored, in parts: it counts as transfer when
// it comes, and not again when a command stores it.
type Received struct{ gateway *Gateway }

// NewReceived counts for a gateway's accounts.
func NewReceived(g *Gateway) *Received { return &Received{g} }

// May tells whether an account has transfer left this month. A limit of 0 is none.
//
// Returns Forbidden.
func (r *Received) May(accountID string, limit int64) error {
	return r.gateway.moved.allow(accountID, limit)
}

// Count adds bytes that came for an account. The error ends the transfer.
//
// Returns Forbidden.
func (r *Received) Count(accountID string, bytes, limit int64) error {
	g := r.gateway
	g.moved.of(accountID) // after a start the store knows more than this server
	return g.moved.count(g.cfg.Usage, accountID, bytes, limit)
}

// Serve is ServeGranted for a body whose content was counted.
func (r *Received) Serve(w http.ResponseWriter, req *http.Request, name string, grant *nodegate.Grant) {
	w.Header().Set("X-Request-Id", r.gateway.ids.New())
	c := r.gateway.newCall(w, req)
	c.grant, c.received = grant, true
	serve(c, name)
}
