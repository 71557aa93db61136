package nodegate

import (
	"context"
	"time"
)

// Trace is what the layers of a network tell the edge about one call: for the
// answer's headers, the access log and the metrics. It belongs to the goroutine that
// makes the call; what runs beside it must not write to it.
type Trace struct {
	Node   string        // the name of the node that answered; "" when none was asked
	Cache  CacheOutcome  // what the cache did
	Reason string        // why it could not answer, in a word or two; "" on a hit
	Waited time.Duration // for nodes, in all
}

// CacheOutcome is what the cache did with a call.
type CacheOutcome uint8

// The outcomes.
const (
	CacheNone   CacheOutcome = iota // the network has no cache
	CacheBypass                     // the method's answers are never kept
	CacheMiss
	CacheHit
	CacheShared // another call that was in progress answered this one too
)

var cacheNames = [...]string{CacheNone: "", CacheBypass: "bypass", CacheMiss: "miss", CacheHit: "hit", CacheShared: "shared"}

// String is the outcome as headers, logs and metrics show it.
func (c CacheOutcome) String() string { return cacheNames[c] }

type traceKey struct{}

// WithTrace gives the layers below a place to tell what they did.
func WithTrace(ctx context.Context, t *Trace) context.Context {
	return context.WithValue(ctx, traceKey{}, t)
}

// TraceFrom returns the call's trace; who was called without one writes to nobody.
func TraceFrom(ctx context.Context) *Trace {
	if t, ok := ctx.Value(traceKey{}).(*Trace); ok {
		return t
	}
	return &Trace{}
}
