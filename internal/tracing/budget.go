package tracing

import (
	"context"
	"sync/atomic"
)

// maxSpans is how many spans one request may have. What waits for the collector has a bound that
// all requests share, and a request may walk a directory of a million blocks.
const maxSpans = 256

// budget counts the spans of one request.
type budget struct{ spans atomic.Int64 }

type budgetKey struct{}

// withBudget begins the count with the request's own span.
func withBudget(ctx context.Context) (context.Context, *budget) {
	b := &budget{}
	b.spans.Store(1)
	return context.WithValue(ctx, budgetKey{}, b), b
}

// take tells whether a request may have one span more.
func take(ctx context.Context) bool {
	b, ok := ctx.Value(budgetKey{}).(*budget)
	return !ok || b.spans.Add(1) <= maxSpans
}

// missing is how many spans the request doesn't have.
func (b *budget) missing() int { return int(max(b.spans.Load()-maxSpans, 0)) }
