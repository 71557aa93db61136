package client

import "context"

// Naming is the client for one call that is a part of a trace.
type Naming struct {
	*Client
	more []byte
}

// Naming has the node go on with a trace. The value is ours, never a client's.
func (c *Client) Naming(traceparent string) Naming {
	return Naming{c, []byte("\r\nTraceparent: " + traceparent)}
}

// Call is Client's.
func (n Naming) Call(ctx context.Context, method string, params []byte) ([]byte, error) {
	return n.call(ctx, method, params, n.more, false)
}

// CallSafe is Client's.
func (n Naming) CallSafe(ctx context.Context, method string, params []byte) ([]byte, error) {
	return n.call(ctx, method, params, n.more, true)
}
