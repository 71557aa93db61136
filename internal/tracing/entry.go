package tracing

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/nodegate/nodegate/internal/tokenbucket"
)

// Entry is a request that may still be refused. Requests of the sample have their span from the
// start. Whoever sends a traceparent gets one only once it is known who it is: otherwise those
// without a key would use up what clients may ask for.
type Entry struct {
	tracer *Tracer
	name   string
	parent trace.SpanContext
	begun  time.Time // zero unless the client asks for a trace that the request doesn't have yet
	span   *Span
	step   *Span
}

// admission is the span of what is done before a request is admitted.
const admission = "admission"

// Enter begins the span of a request, as a part of the trace that its traceparent names. Either
// Admitted or Refused follows.
func (t *Tracer) Enter(ctx context.Context, name, traceparent string) (context.Context, Entry) {
	if t == nil {
		return ctx, Entry{}
	}
	return t.enter(ctx, name, traceparent)
}

func (t *Tracer) enter(ctx context.Context, name, traceparent string) (context.Context, Entry) {
	e := Entry{tracer: t, name: name}
	if traceparent != "" && t.cfg.ClientTraces > 0 {
		e.parent = parse(traceparent)
	}
	ctx, e.span = t.choose(ctx, name, e.parent)
	_, e.step = e.span.Step(ctx, admission)
	if e.span == nil && e.parent.IsSampled() {
		e.begun = time.Now()
	}
	return ctx, e
}

// Refused ends the admission. The span is nil if the request is not traced.
func (e *Entry) Refused(err error) *Span {
	e.step.End(err)
	return e.span
}

// Admitted ends the admission of a request of an account. If its client may have a trace, the
// span begins now, with the time when the request came. Without an account it has none.
func (e *Entry) Admitted(ctx context.Context, account string) (context.Context, *Span) {
	e.step.End(nil)
	if e.begun.IsZero() || account == "" || !e.tracer.allows(account) {
		return ctx, e.span
	}
	at := trace.WithTimestamp(e.begun)
	ctx, e.span = e.tracer.start(ctx, e.name, e.parent, at)
	_, step := begin(ctx, admission, trace.SpanKindInternal, at)
	step.End(nil)
	return ctx, e.span
}

const (
	// everybody is the bucket that all clients share. No account has this ID.
	everybody = ""
	// accountParts is the share of one account: a quarter of what all may have together.
	accountParts = 4
)

// allows takes a trace from what an account may ask for, and from what all may together.
func (t *Tracer) allows(account string) bool {
	all := t.cfg.ClientTraces
	one := (all + accountParts - 1) / accountParts
	if _, ok := t.asked.Take(account, 1, perSecond(one)); !ok {
		return false
	}
	_, ok := t.asked.Take(everybody, 1, perSecond(all))
	return ok
}

func perSecond(n int) tokenbucket.Rate {
	return tokenbucket.Rate{PerSecond: float64(n), Burst: float64(n)}
}
