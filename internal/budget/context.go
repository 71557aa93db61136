package budget

import "context"

// contextKey is the key of a Hold in a context.
type contextKey struct{}

// WithHold attaches a request's hold, for layers that buffer on its behalf.
func WithHold(ctx context.Context, h *Hold) context.Context {
	return context.WithValue(ctx, contextKey{}, h)
}

// From returns the hold of a request, or nil, which refuses nothing.
func From(ctx context.Context) *Hold {
	h, _ := ctx.Value(contextKey{}).(*Hold)
	return h
}
