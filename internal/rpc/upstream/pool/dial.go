package pool

import (
	"context"

	"github.com/nodegate/nodegate/internal/rpc/upstream/client"
)

// caller is a way to a node: wire's client, its socket, or what a test puts there.
type caller interface {
	Call(ctx context.Context, method string, params []byte) (result []byte, err error)
	// CallSafe is Call for what may be executed twice.
	CallSafe(ctx context.Context, method string, params []byte) (result []byte, err error)
	Close()
}

// socket is a connection that can also subscribe.
type socket interface {
	Call(ctx context.Context, method string, params []byte) (result []byte, err error)
	Close()
	Subscribe(ctx context.Context, params []byte) (*client.Subscription, error)
}

// dialer makes the ways to a node.
type dialer struct {
	client func(Node) (caller, error)
	socket func(context.Context, Node) (socket, error)
}

// maxConns is how many connections a node gets, and maxInFlight how many calls may
// be with it at once: those beyond go to another node, or are told to come later.
const (
	maxConns    = 256
	maxInFlight = 512
)

func wireDialer(cfg Config) dialer {
	settings := func(n Node, url string) client.Config {
		return client.Config{URL: url, Headers: n.Headers, MaxConns: maxConns, MaxAnswer: cfg.MaxAnswer, Timeout: cfg.Timeout, Transport: n.Transport}
	}
	return dialer{
		client: func(n Node) (caller, error) {
			c, err := client.NewClient(settings(n, n.URL))
			if err != nil {
				return nil, err
			}
			return c, nil
		},
		socket: func(ctx context.Context, n Node) (socket, error) {
			s, err := client.DialSocket(ctx, settings(n, n.WS))
			if err != nil {
				return nil, err
			}
			return s, nil
		},
	}
}

// noWay is the way to a node whose address can't be used.
type noWay struct{ err error }

// Call fails.
func (b noWay) Call(context.Context, string, []byte) ([]byte, error) {
	return nil, &client.Fault{Err: b.err}
}

// CallSafe is Call.
func (b noWay) CallSafe(ctx context.Context, method string, params []byte) ([]byte, error) {
	return b.Call(ctx, method, params)
}

// Close has nothing to close.
func (noWay) Close() {}
