package tracing

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/tokenbucket"
)

// Config says where spans go and which requests have some.
type Config struct {
	URL           string // of the collector: OTLP over HTTP, as in http://collector:4318/v1/traces
	Authorization string // the header of that name; "" sends none
	Sample        int    // of a hundred requests, so many are traced
	// ClientTraces is how many traces a second clients may ask for by a traceparent, all of them
	// together; 0 ignores what they send.
	ClientTraces int
	Version      string // of the build
	Log          *slog.Logger
}

// Tracer begins the spans of requests. Nil begins none.
type Tracer struct {
	cfg      Config
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	queue    *queue
	asked    tokenbucket.Set[string] // traces that clients asked for, by account and together
	draw     func() int              // from 0 to 99
}

// The bounds of what waits for the collector. Spans beyond are dropped: serving never waits.
const (
	queueSpans  = 4096
	batchSpans  = 512
	batchEvery  = 2 * time.Second
	exportTime  = 10 * time.Second
	closeTime   = 2 * time.Second // for what waits when the server ends
	logEvery    = time.Minute     // between lines about spans that found the queue full
	scopeName   = "github.com/nodegate/nodegate"
	serviceName = "nodegate"
)

// Open makes a tracer that sends to a collector. Nothing is sent before the first span, and a
// collector that is away is no error.
//
// Returns BadConfig for an address that can't be used.
func Open(cfg Config) (*Tracer, error) {
	options := []otlptracehttp.Option{
		otlptracehttp.WithEndpointURL(cfg.URL), otlptracehttp.WithTimeout(exportTime), otlptracehttp.WithCompression(otlptracehttp.GzipCompression),
		otlptracehttp.WithHeaders(headers(cfg.Authorization)),
	}
	exporter, err := otlptracehttp.New(context.Background(), options...)
	if err != nil {
		return nil, &nodegate.Error{Op: "tracing.open", Code: nodegate.BadConfig, Msg: "can't use tracing.url", Err: err}
	}
	t := &Tracer{cfg: cfg, draw: func() int { return rand.IntN(100) }, queue: &queue{log: cfg.Log}}
	t.queue.SpanProcessor = sdk.NewBatchSpanProcessor(&reporting{SpanExporter: exporter, queue: t.queue, log: cfg.Log},
		sdk.WithMaxQueueSize(queueSpans), sdk.WithMaxExportBatchSize(batchSpans), sdk.WithBatchTimeout(batchEvery), sdk.WithExportTimeout(exportTime))
	t.provider = sdk.NewTracerProvider(
		sdk.WithSampler(sdk.AlwaysSample()), // what is not to be sampled has no span at all
		sdk.WithResource(resource.NewSchemaless(attributes(cfg.Version)...)),
		sdk.WithSpanProcessor(t.queue),
	)
	t.tracer = t.provider.Tracer(scopeName)
	return t, nil
}

func headers(authorization string) map[string]string {
	if authorization == "" {
		return nil
	}
	return map[string]string{"Authorization": authorization}
}

// attributes name this server.
func attributes(version string) []attribute.KeyValue {
	list := []attribute.KeyValue{attribute.String("service.name", serviceName), attribute.String("service.version", version)}
	if host, err := os.Hostname(); err == nil {
		list = append(list, attribute.String("service.instance.id", fmt.Sprintf("%s-%d", host, os.Getpid())))
	}
	return list
}

// Close sends the spans that wait, for at most closeTime.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	return t.provider.Shutdown(ctx)
}

// Begin begins the span of a request that asks for no trace. It is nil for a request that is not
// traced.
func (t *Tracer) Begin(ctx context.Context, name string) (context.Context, *Span) {
	if t == nil { // small enough to be inlined: most servers trace nothing
		return ctx, nil
	}
	return t.choose(ctx, name, trace.SpanContext{})
}

// choose begins the span of a request if it is one of the sample.
func (t *Tracer) choose(ctx context.Context, name string, parent trace.SpanContext) (context.Context, *Span) {
	if t.draw() >= t.cfg.Sample {
		return ctx, nil
	}
	return t.start(ctx, name, parent)
}

// start begins the span of a request, as a part of the trace of its parent if it has one.
func (t *Tracer) start(ctx context.Context, name string, parent trace.SpanContext, options ...trace.SpanStartOption) (context.Context, *Span) {
	if parent.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, parent)
	}
	ctx, bound := withBudget(ctx)
	ctx, span := t.tracer.Start(ctx, name, append(options, trace.WithSpanKind(trace.SpanKindServer))...)
	return ctx, &Span{span, bound}
}

// Parent is the traceparent of a request, if it has one.
func Parent(h http.Header) string {
	if values := h["Traceparent"]; len(values) == 1 {
		return values[0]
	}
	return ""
}

// parse reads a traceparent. Anything else names no trace.
func parse(traceparent string) trace.SpanContext {
	carrier := propagation.MapCarrier{"traceparent": traceparent}
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
}
