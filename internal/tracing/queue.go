package tracing

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// queue bounds the spans that wait for the collector. The SDK has a bound too, but tells nobody
// when it drops a span: it is never reached, since this one is as low and counts those that are
// being sent.
type queue struct {
	sdk.SpanProcessor
	log     *slog.Logger
	waiting atomic.Int64
	full    atomic.Int64 // spans dropped because too many were waiting
	refused atomic.Int64 // spans that the collector didn't accept
	logged  atomic.Int64 // when the log last said that spans are dropped, in Unix nanoseconds
}

// OnEnd puts a span into the queue, or drops it.
func (q *queue) OnEnd(span sdk.ReadOnlySpan) {
	if q.waiting.Add(1) <= queueSpans {
		q.SpanProcessor.OnEnd(span)
		return
	}
	q.waiting.Add(-1)
	q.full.Add(1)
	now, last := time.Now(), q.logged.Load()
	if now.Sub(time.Unix(0, last)) >= logEvery && q.logged.CompareAndSwap(last, now.UnixNano()) {
		q.log.Warn("trace spans dropped: too many wait for the collector", "waiting", queueSpans, "dropped", q.full.Load())
	}
}

// Dropped is how many spans were dropped since the start: those that found the queue full, and
// those that the collector didn't accept.
func (t *Tracer) Dropped() (full, refused int64) {
	if t == nil {
		return 0, 0
	}
	return t.queue.full.Load(), t.queue.refused.Load()
}

// reporting logs when the collector goes and when it is back.
type reporting struct {
	sdk.SpanExporter
	queue *queue
	log   *slog.Logger
	away  bool
}

// ExportSpans sends spans. One batch is sent at a time.
func (r *reporting) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := r.SpanExporter.ExportSpans(ctx, spans)
	r.queue.waiting.Add(-int64(len(spans)))
	if err != nil {
		r.queue.refused.Add(int64(len(spans)))
	}
	switch {
	case err != nil && !r.away:
		r.log.Warn("can't send traces: dropping spans until the collector accepts them", "err", short(err))
	case err == nil && r.away:
		r.log.Info("the trace collector accepts spans again")
	}
	r.away = err != nil
	return nil // it is logged here, and the SDK's own log goes to standard error
}

// maxErrorText bounds what is logged of an error: it holds what the collector answered.
const maxErrorText = 300

func short(err error) string {
	text := err.Error()
	return text[:min(len(text), maxErrorText)]
}
