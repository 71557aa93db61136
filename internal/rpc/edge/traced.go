package edge

import (
	"context"
	"net/http"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/tracing"
)

// tracedCalls is how many calls of a batch have spans: the first ones.
const tracedCalls = 32

// enter begins the span of a request, if it is to be traced. The request that it returns carries
// it.
func enter(t *tracing.Tracer, req *http.Request) (*http.Request, tracing.Entry) {
	if t == nil {
		return req, tracing.Entry{}
	}
	ctx, entry := t.Enter(req.Context(), "rpc", tracing.Parent(req.Header))
	return within(ctx, req), entry
}

// admitted says what came of the admission. A client that was let in may now have its trace.
func admitted(entry *tracing.Entry, w http.ResponseWriter, req *http.Request, grant *nodegate.Grant, err error) (*http.Request, *tracing.Span) {
	var span *tracing.Span
	ctx := req.Context()
	if err != nil {
		span = entry.Refused(err)
	} else {
		ctx, span = entry.Admitted(ctx, grant.AccountID)
	}
	if span != nil {
		span.Set("nodegate.request_id", idOf(w))
	}
	return within(ctx, req), span
}

// within is the request with another context. Only requests that are traced get one.
func within(ctx context.Context, req *http.Request) *http.Request {
	if ctx == req.Context() {
		return req
	}
	return req.WithContext(ctx)
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
	if more := len(x.calls) - tracedCalls; more > 0 {
		x.span.Count("nodegate.calls_left_out", more)
	}
	if status != 0 {
		x.span.Count("http.response.status_code", status)
	}
	x.span.Outcome(outcomeLabel(x, err), err == nil)
}
