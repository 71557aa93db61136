package gateway

import (
	"net/http"

	"github.com/nodegate/nodegate/internal/obs"
	"github.com/nodegate/nodegate/internal/tracing"
)

// trace begins the span of a request, if it is to be traced.
func trace(c *call) {
	t := c.gateway.cfg.Tracer
	if t == nil {
		return
	}
	ctx, span := t.Begin(c.req.Context(), "storage", tracing.Parent(c.req.Header))
	if span == nil {
		return
	}
	span.Set("nodegate.request_id", idOf(c.w))
	c.req, c.span = c.req.WithContext(ctx), span
}

// endSpan ends it.
func endSpan(c *call, err error) {
	if c.span == nil {
		return
	}
	c.span.Name("storage " + c.name())
	c.span.Count("http.request.body.size", int(c.read))
	c.span.End(err)
}

// idOf is the id of the response, as logs and spans show it: a client may have chosen one that
// looks like a key.
func idOf(w http.ResponseWriter) string { return obs.Redact(w.Header().Get("X-Request-Id")) }
