package edge

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"sync"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
	"github.com/nodegate/nodegate/internal/rpc/ws"
)

// subscriptions are those of one socket.
type subscriptions struct {
	limit int

	mu   sync.Mutex
	byID map[string]*subscription
}

// subscription is one of them. The socket's queue guards what changes.
type subscription struct {
	id       string
	overhead int // bytes of a notification beside the event
	cancel   context.CancelFunc

	begun  bool     // the client knows the id
	closed bool     // nobody wants its events any more
	held   [][]byte // events that came before it had begun
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
		return nil, &nodegate.Error{Op: "edge.subscribe", Code: nodegate.MethodNotFound, Msg: "the method " + method.EthSubscribe + " does not exist/is not available"}
	}
	ctx, cancel := context.WithCancel(s.ctx)
	sub, err := s.subs.open(cancel)
	if err == nil {
		if err = s.edge.shares.openSubscription(s.share, s.grant); err != nil {
			s.subs.remove(sub.id)
		}
	}
	if err != nil {
		cancel()
		return nil, err
	}
	if err := feed.Subscribe(ctx, params, func(event []byte, end nodegate.End) { s.take(sub, event, end) }); err != nil {
		s.unsubscribe(sub.id)
		return nil, err
	}
	x.after = append(x.after, func() { s.events.begin(sub) })
	return []byte(`"` + sub.id + `"`), nil
}

// unsubscribe ends a subscription of this socket.
func (x *exchange) unsubscribe(params []byte) ([]byte, error) {
	if x.socket == nil {
		return nil, &nodegate.Error{Op: "edge.unsubscribe", Code: nodegate.MethodNotFound, Msg: "notifications not supported"}
	}
	list, over, ok := jsonrpc.FirstElements(nil, params, 1)
	switch {
	case over:
		return nil, &nodegate.Error{Op: "edge.unsubscribe", Code: nodegate.InvalidParams, Msg: "too many arguments, want at most 1"}
	case !ok || len(list) == 0:
		return nil, &nodegate.Error{Op: "edge.unsubscribe", Code: nodegate.InvalidParams, Msg: "missing value for required argument 0"}
	}
	id, ok := jsonrpc.String(list[0])
	if !ok {
		return nil, &nodegate.Error{Op: "edge.unsubscribe", Code: nodegate.InvalidParams, Msg: "invalid argument 0: want a subscription id"}
	}
	if !x.socket.unsubscribe(string(id)) {
		return nil, &nodegate.Error{Op: "edge.unsubscribe", Code: nodegate.ExecutionFailed, Msg: "subscription not found"}
	}
	return []byte("true"), nil
}

// take queues an event. A feed that ends while its events are wanted closes the socket:
// one that lost events would leave a gap, and one that was closed brings no more.
func (s *socket) take(sub *subscription, event []byte, end nodegate.End) {
	switch end {
	case nodegate.NotEnded:
		s.events.put(sub, event)
	case nodegate.Closed:
		s.events.lose(sub, func() { s.active.Go(func() { s.close(ws.ServiceRestart, saysGone) }) })
	default:
		s.events.lose(sub, func() { s.active.Go(func() { s.close(ws.PolicyViolation, saysLost) }) })
	}
}

// unsubscribe ends a subscription and reports whether there was one.
func (s *socket) unsubscribe(id string) bool {
	sub := s.subs.remove(id)
	if sub == nil {
		return false
	}
	s.events.drop(sub) // first, or the feed's end looks like a loss
	sub.cancel()
	s.edge.shares.closeSubscriptions(s.share, 1)
	return true
}

// open reserves an id.
func (l *subscriptions) open(cancel context.CancelFunc) (*subscription, error) {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	sub := &subscription{id: "0x" + hex.EncodeToString(b[:]), cancel: cancel}
	sub.overhead = len(jsonrpc.AppendNotification(nil, method.EthSubscription, sub.id, []byte("0"))) - 1
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.byID) >= l.limit {
		return nil, &nodegate.Error{Op: "edge.subscribe", Code: nodegate.ExecutionFailed, Msg: "too many subscriptions on this connection: at most " + strconv.Itoa(l.limit)}
	}
	if l.byID == nil {
		l.byID = map[string]*subscription{}
	}
	l.byID[sub.id] = sub
	return sub, nil
}

// remove takes a subscription out; nil when there is none.
func (l *subscriptions) remove(id string) *subscription {
	l.mu.Lock()
	defer l.mu.Unlock()
	sub := l.byID[id]
	delete(l.byID, id)
	return sub
}

// count is how many there are.
func (l *subscriptions) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.byID)
}
