package edge

import (
	"net/http"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method/permit"
	"github.com/nodegate/nodegate/internal/web"
)

// ServeGranted answers the POST of somebody who was let in elsewhere, by a session: the
// same limits, scopes, lists of methods and addresses, and usage as for the key itself. The
// lists of origins and clients are about others than the key's owner.
func (e *Edge) ServeGranted(w http.ResponseWriter, req *http.Request, network string, grant *nodegate.Grant) {
	id := e.ids.New()
	w.Header()["X-Request-Id"] = []string{id}
	req, entry := enter(e.cfg.Tracer, req)
	r := route{network: network}
	n, err := e.site.Load().find(r, "")
	if err == nil {
		err = (permit.Request{Service: nodegate.ServiceRPC, Network: n.Name}).CheckScope(&grant.Policy().Settings)
	}
	req, span := admitted(&entry, w, req, grant, err)
	if err == nil {
		err = e.post(w, req, n, grant, span, true)
	}
	if err != nil && n != nil {
		err = e.fine(req.Context(), n, grant, id, err)
	}
	if err != nil {
		span.End(err)
		e.refuse(w, err)
		e.logRefusal(r, id, web.Status(nodegate.AsError(err).Code), err)
	}
}
