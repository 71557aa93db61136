package edge

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"sync"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/jsonrpc"
)

// subscriptions are those of one socket.
type subscriptions struct {
	limit int

	mu      sync.Mutex
	byID    map[string]context.CancelFunc
	running sync.WaitGroup
}

// subscribe starts a subscription and answers its id. Its events flow only after
// that answer was written. HTTP has no way to send events.
func (x *exchange) subscribe(params []byte) ([]byte, error) {
	s := x.socket
	if s == nil {
		return nil, &nodegate.Error{Op: "edge.subscribe", Code: nodegate.MethodNotFound, Msg: "notifications not supported"}
	}
	feed, ok := x.network.Node.(nodegate.Feed)
	if !ok {
		return nil, &nodegate.Error{Op: "edge.subscribe", Code: nodegate.MethodNotFound, Msg: "the method eth_subscribe does not exist/is not available"}
	}
	id, ctx, err := s.subs.open(s.ctx)
	if err != nil {
		return nil, err
	}
	events, err := feed.Subscribe(ctx, params)
	if err != nil {
		s.subs.close(id)
		return nil, err
	}
	x.after = append(x.after, func() { s.follow(ctx, id, events) })
	return []byte(`"` + id + `"`), nil
}

// unsubscribe ends a subscription of this socket.
func (x *exchange) unsubscribe(params []byte) ([]byte, error) {
	if x.socket == nil {
		return nil, &nodegate.Error{Op: "edge.unsubscribe", Code: nodegate.MethodNotFound, Msg: "notifications not supported"}
	}
	list, ok := jsonrpc.Elements(nil, params)
	switch {
	case !ok || len(list) == 0:
		return nil, &nodegate.Error{Op: "edge.unsubscribe", Code: nodegate.InvalidParams, Msg: "missing value for required argument 0"}
	case len(list) > 1:
		return nil, &nodegate.Error{Op: "edge.unsubscribe", Code: nodegate.InvalidParams, Msg: "too many arguments, want at most 1"}
	}
	id, ok := jsonrpc.String(list[0])
	if !ok {
		return nil, &nodegate.Error{Op: "edge.unsubscribe", Code: nodegate.InvalidParams, Msg: "invalid argument 0: want a subscription id"}
	}
	if !x.socket.subs.close(string(id)) {
		return nil, &nodegate.Error{Op: "edge.unsubscribe", Code: nodegate.ExecutionFailed, Msg: "subscription not found"}
	}
	return []byte("true"), nil
}

// follow queues the events of one subscription. A feed that ends by itself has
// lost events, so the socket is closed rather than left with a gap.
func (s *socket) follow(ctx context.Context, id string, events <-chan []byte) {
	for {
		select {
		case <-ctx.Done():
			return
		case ev, open := <-events:
			if !open {
				if ctx.Err() == nil {
					s.close(policyViolation, "reading too slowly for this subscription")
				}
				return
			}
			if !s.events.put(jsonrpc.AppendNotification(nil, "eth_subscription", id, ev)) {
				return
			}
		}
	}
}

// open reserves an id.
func (l *subscriptions) open(parent context.Context) (string, context.Context, error) {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	id := "0x" + hex.EncodeToString(b[:])
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.byID) >= l.limit {
		return "", nil, &nodegate.Error{Op: "edge.subscribe", Code: nodegate.ExecutionFailed, Msg: "too many subscriptions on this connection: at most " + strconv.Itoa(l.limit)}
	}
	if l.byID == nil {
		l.byID = map[string]context.CancelFunc{}
	}
	ctx, cancel := context.WithCancel(parent)
	l.byID[id] = cancel
	return id, ctx, nil
}

// close ends a subscription and reports whether there was one.
func (l *subscriptions) close(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	cancel, ok := l.byID[id]
	if ok {
		cancel()
		delete(l.byID, id)
	}
	return ok
}

func (l *subscriptions) wait() { l.running.Wait() }
