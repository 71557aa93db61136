package gateway

import (
	"context"
	"net/http"

	"github.com/nodegate/nodegate/internal/obs"
	"github.com/nodegate/nodegate/internal/tracing"
)

// letIn admits a request, and begins its span if it is to be traced.
func letIn(c *call, admit func() error) error {
	ctx, entry := c.gateway.cfg.Tracer.Enter(c.req.Context(), "storage", tracing.Parent(c.req.Header))
	carry(ctx, c)
	err := admit()
	if err != nil {
		c.span = entry.Refused(err)
	} else {
		ctx, c.span = entry.Admitted(ctx, payer(c))
		carry(ctx, c)
	}
	if c.span != nil {
		c.span.Set("nodegate.request_id", idOf(c.w))
	}
	return err
}

// carry gives the request another context, if it is traced.
func carry(ctx context.Context, c *call) {
	if ctx != c.req.Context() {
		c.req = c.req.WithContext(ctx)
	}
}

// payer is whose request it is; "" where everybody may read.
func payer(c *call) string {
	if c.grant == nil {
		return ""
	}
	return c.grant.AccountID
}

// inSpan does a part of a request in a span of its own.
func inSpan(ctx context.Context, c *call, name string, do func(context.Context) error) error {
	ctx, span := c.span.Step(ctx, name)
	err := do(ctx)
	span.End(err)
	return err
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
