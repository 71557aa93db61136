package tracing

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/nodegate/nodegate"
)

// Span is a part of a traced request. Nil does nothing.
type Span struct {
	span   trace.Span
	budget *budget // of the request, if this is its own span
}

// Start begins a span below the one that the context carries. The span is nil without one, and
// if the request has as many as it may have.
func Start(ctx context.Context, name string) (context.Context, *Span) {
	return begin(ctx, name, trace.SpanKindInternal)
}

// Client is Start for a request to another server.
func Client(ctx context.Context, name string) (context.Context, *Span) {
	return begin(ctx, name, trace.SpanKindClient)
}

func begin(ctx context.Context, name string, kind trace.SpanKind, options ...trace.SpanStartOption) (context.Context, *Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() || !take(ctx) {
		return ctx, nil
	}
	ctx, span := parent.TracerProvider().Tracer(scopeName).Start(ctx, name, append(options, trace.WithSpanKind(kind))...)
	return ctx, &Span{span: span}
}

// Step begins a span below this one. The context is this span's.
func (s *Span) Step(ctx context.Context, name string) (context.Context, *Span) {
	if s == nil { // requests that aren't traced don't search their context
		return ctx, nil
	}
	return Start(ctx, name)
}

// Name renames a span, once it is known what it is about.
func (s *Span) Name(name string) {
	if s != nil {
		s.span.SetName(name)
	}
}

// Set notes something. An empty value is left out.
func (s *Span) Set(key, value string) {
	if s != nil && value != "" {
		s.span.SetAttributes(attribute.String(key, value))
	}
}

// Count notes a number.
func (s *Span) Count(key string, value int) {
	if s != nil {
		s.span.SetAttributes(attribute.Int(key, value))
	}
}

// End ends a span with what came of it: ok, or the code of the error. The error's text stays
// out: it may hold what nobody else should see.
func (s *Span) End(err error) {
	if s == nil {
		return
	}
	if err == nil {
		s.Outcome(nodegate.OutcomeOK, true)
		return
	}
	s.Outcome(nodegate.AsError(err).Code.String(), false)
}

// Outcome ends a span with an outcome that is no error of ours.
func (s *Span) Outcome(outcome string, good bool) {
	if s == nil {
		return
	}
	if !good {
		s.span.SetStatus(codes.Error, outcome)
	}
	s.span.SetAttributes(attribute.String("nodegate.outcome", outcome))
	if s.budget != nil && s.budget.missing() > 0 {
		s.Count("nodegate.spans_left_out", s.budget.missing())
	}
	s.span.End()
}

// TraceID is the trace that the span is a part of; "" without one.
func (s *Span) TraceID() string {
	if s == nil {
		return ""
	}
	return s.span.SpanContext().TraceID().String()
}

// Traceparent is the header with which another server continues the trace; "" without one.
func (s *Span) Traceparent() string {
	if s == nil {
		return ""
	}
	c := s.span.SpanContext()
	return "00-" + c.TraceID().String() + "-" + c.SpanID().String() + "-" + c.TraceFlags().String()
}
