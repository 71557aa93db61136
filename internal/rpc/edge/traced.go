package edge

import (
	"context"
	"net/http"

	"github.com/nodegate/nodegate/internal/tracing"
)

// traced begins the span of a request, if it is to be traced. The request that it returns
// carries it.
func traced(t *tracing.Tracer, req *http.Request, id string) (*http.Request, *tracing.Span) {
	if t == nil {
		return req, nil
	}
	ctx, span := t.Begin(req.Context(), "rpc", tracing.Parent(req.Header))
	if span == nil {
		return req, nil
	}
	span.Set("nodegate.request_id", id)
	return req.WithContext(ctx), span
}

// beginCall begins the span of one call of a traced request. The layers below make theirs.
func beginCall(ctx context.Context, x *exchange, i int) (context.Context, *tracing.Span) {
	if len(x.traces) > 0 {
		x.traces[i].Spans = true
	}
	return tracing.Start(ctx, "call "+x.calls[i].method.counted)
}

// endCall ends it, and counts the call.
func endCall(span *tracing.Span, x *exchange, i int, o *executed) {
	x.calls[i].method.metrics.DoneTraced(o.err, o.took, span.TraceID())
	if len(x.traces) > 0 {
		t := &x.traces[i]
		span.Set("nodegate.cache", t.Cache.String())
		span.Set("nodegate.node", t.Node)
		span.Set("nodegate.verified", t.Verified.String())
	}
	span.End(o.err)
}

// endSpan ends the span of a request with what its log line says.
func endSpan(x *exchange, status int, err error) {
	if x.span == nil {
		return
	}
	x.span.Name("rpc " + methodLabel(x))
	x.span.Set("nodegate.network", x.network.Name)
	x.span.Count("nodegate.calls", len(x.calls))
	if status != 0 {
		x.span.Count("http.response.status_code", status)
	}
	x.span.Outcome(outcomeLabel(x, err), err == nil)
}
