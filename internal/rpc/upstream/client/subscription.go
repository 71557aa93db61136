package client

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// Bounds of subscriptions.
const (
	maxQueued      = 4096     // events that wait for a reader
	maxQueuedBytes = 16 << 20 // of them in all; a single event may have more
	maxEarly       = 256      // events that came before the answer to their eth_subscribe
	maxEarlyBytes  = 1 << 20
	maxRetired     = 32 // ended subscriptions of which late events are expected
	maxSubID       = 256
	askTime        = 10 * time.Second // for a node to begin or to end a subscription
)

// Subscription is a stream of events. It lasts until its context ends, its socket
// ends, or its reader falls behind.
type Subscription struct {
	// C carries the events: each one JSON value in a slice of its own, in the node's
	// order, without a gap. It is closed at the end; Err says why.
	C <-chan []byte

	out    chan []byte
	ctx    context.Context
	cancel context.CancelFunc
	id     string        // the token that names it; set before anybody else sees the subscription
	wake   chan struct{} // has room for one: there is something in the queue
	over   chan struct{} // closed with err

	mu    sync.Mutex
	queue [][]byte
	size  int // bytes in the queue
	err   error
}

// Subscribe begins a subscription with the parameters of eth_subscribe. When the
// context ends, so does it, and the node is told.
//
// Every error is a *CallError or a *Fault.
func (s *Socket) Subscribe(ctx context.Context, params []byte) (*Subscription, error) {
	sub := &Subscription{out: make(chan []byte), wake: make(chan struct{}, 1), over: make(chan struct{})}
	sub.C = sub.out
	sub.ctx, sub.cancel = context.WithCancel(ctx)
	s.expect(+1)
	_, err := s.call(sub.ctx, min(askTime, s.end.Timeout), method.EthSubscribe, params, sub)
	s.expect(-1)
	if err != nil {
		sub.cancel() // should the node begin it all the same, it ends at once
		return nil, err
	}
	return sub, nil
}

// Err says why the subscription ended: the context's error, ErrBehind or the socket's
// Fault. It is nil before.
func (sub *Subscription) Err() error {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	return sub.err
}

// early keeps events of subscriptions whose ids are not known yet: some nodes send
// the first before they answer. It keeps them only while an answer is due.
type early struct {
	asked  int // calls of eth_subscribe in progress
	events []jsonrpc.Event
	size   int
}

func (s *Socket) expect(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.early.asked += n; s.early.asked == 0 {
		s.early = early{}
	}
}

// event hands an event to its subscription. It returns false when nobody wants it.
// The caller holds mu.
func (s *Socket) event(e jsonrpc.Event) bool {
	if sub := s.subs[string(e.Subscription)]; sub != nil {
		sub.push(bytes.Clone(e.Result))
		return true
	}
	if slices.Contains(s.retired, string(e.Subscription)) {
		return true
	}
	size := len(e.Result) + len(e.Subscription)
	if s.early.asked == 0 || len(s.early.events) >= maxEarly || s.early.size+size > maxEarlyBytes {
		return false
	}
	s.early.size += size
	s.early.events = append(s.early.events, jsonrpc.Event{Subscription: bytes.Clone(e.Subscription), Result: bytes.Clone(e.Result)})
	return true
}

// enlist begins the subscription that a call asked for, before the next message is
// read. The caller holds mu.
func (s *Socket) enlist(sub *Subscription, id []byte) error {
	named := id[0] == '"' || id[0] >= '0' && id[0] <= '9'
	if !named || len(id) > maxSubID || s.subs[string(id)] != nil {
		return &Fault{Sent: true, Err: notAnID}
	}
	sub.id = string(id)
	s.subs[sub.id] = sub
	s.retired = slices.DeleteFunc(s.retired, func(old string) bool { return old == sub.id })
	s.early.events = slices.DeleteFunc(s.early.events, func(e jsonrpc.Event) bool {
		if !bytes.Equal(e.Subscription, id) {
			return false
		}
		sub.push(e.Result)
		return true
	})
	go s.serve(sub)
	return nil
}

// serve carries events to the reader until the subscription ends, and then tells the
// node, if it is still there.
func (s *Socket) serve(sub *Subscription) {
	sub.carry()
	sub.cancel()
	_, _ = s.call(context.Background(), askTime, method.EthUnsubscribe, []byte("["+sub.id+"]"), nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.subs, sub.id)
	if s.retired = append(s.retired, sub.id); len(s.retired) > maxRetired {
		s.retired = slices.Delete(s.retired, 0, 1)
	}
}

// push queues an event, or ends the subscription if there is no room. It never waits.
func (sub *Subscription) push(event []byte) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	if sub.err != nil {
		return
	}
	if len(sub.queue) >= maxQueued || len(sub.queue) > 0 && sub.size+len(event) > maxQueuedBytes {
		sub.queue = nil
		sub.finishLocked(ErrBehind)
		return
	}
	sub.queue, sub.size = append(sub.queue, event), sub.size+len(event)
	select {
	case sub.wake <- struct{}{}:
	default:
	}
}

// pop takes the first event; ok is false when there is none and none will come.
func (sub *Subscription) pop() (event []byte, ok bool) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	if len(sub.queue) == 0 {
		return nil, sub.err == nil
	}
	event = sub.queue[0]
	sub.queue[0] = nil
	sub.queue, sub.size = sub.queue[1:], sub.size-len(event)
	return event, true
}

// finish ends the subscription. What is queued is still delivered.
func (sub *Subscription) finish(err error) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	sub.finishLocked(err)
}

func (sub *Subscription) finishLocked(err error) {
	if sub.err == nil {
		sub.err = err
		close(sub.over)
	}
}

// carry brings events to the reader, one by one.
func (sub *Subscription) carry() {
	defer close(sub.out)
	for {
		event, ok := sub.pop()
		switch {
		case !ok:
			return
		case event != nil:
			if !sub.deliver(event) {
				return
			}
			continue
		}
		select {
		case <-sub.wake:
		case <-sub.over:
		case <-sub.ctx.Done():
			sub.finish(sub.ctx.Err())
			return
		}
	}
}

// deliver waits for the reader to take one event. It returns false when there is no
// point in that any more.
func (sub *Subscription) deliver(event []byte) bool {
	over := sub.over
	for {
		select {
		case sub.out <- event:
			return true
		case <-sub.ctx.Done():
			sub.finish(sub.ctx.Err())
			return false
		case <-over:
			if errors.Is(sub.Err(), ErrBehind) {
				return false
			}
			over = nil // the socket ended: what came before is delivered
		}
	}
}
