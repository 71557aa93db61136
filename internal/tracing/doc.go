// Package tracing follows requests with OpenTelemetry: a span for the request, and spans for
// what the layers below do for it. It is off without a collector, and then costs nothing: a nil
// *Tracer begins no span, and a nil *Span does nothing.
//
// No span holds a key, a parameter, an address of a node or the text of an error: only names that
// we know, numbers, and the ID of the request.
package tracing
