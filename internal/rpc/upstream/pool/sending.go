package pool

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate"
)

// sending is one transaction on its way out.
type sending struct {
	sender *sender
	query  query
	hash   []byte
	nodes  []*node // of this wave

	rest sync.WaitGroup // those that are still being asked

	taken   *outcome // by the first that took it
	refused *outcome // by the first that refused it
	failed  *outcome // the last that failed
	unsure  bool     // some node may have got it and did not answer
}

// take notes one node's outcome.
func (s *sending) take(o outcome) {
	switch {
	case o.err == nil:
		s.taken = &o
	case o.verdict < limited && o.verdict != faulty:
		if s.refused == nil {
			s.refused = &o
		}
	default:
		s.failed = &o
		s.unsure = s.unsure || o.verdict == broken && sent(o.err)
	}
}

// final tells whether it is over: more nodes are asked only when none has got it.
func (s *sending) final() bool { return s.taken != nil || s.refused != nil || s.unsure }

// answer is what the client is told.
func (s *sending) answer(ctx context.Context, trace *nodegate.Trace) ([]byte, error) {
	o := s.taken
	if o == nil {
		o = s.refused
	}
	if o == nil {
		o = s.failed
	}
	switch {
	case o == nil && s.unsure:
		return nil, nodegate.ErrTimeout("upstream.send", ctx.Err())
	case o == nil:
		return nil, noNode(ctx, s.sender.nodes.pick(&s.query, nil))
	}
	trace.Node = o.node.cfg.Name
	if err := clientError(context.WithoutCancel(ctx), o); err != nil {
		return nil, err
	}
	return o.result, nil
}

// The bounds of what is remembered of transactions.
const (
	sentFor = 2 * time.Minute
	maxSent = 10_000
)

// recent remembers for a while which nodes have taken a transaction, so that a read
// of it finds it.
type recent struct {
	any    atomic.Int32
	mu     sync.Mutex
	byHash map[string]*taken
	order  []string // the oldest first
	last   *node    // that took one
	lastAt time.Time
}

type taken struct {
	at    time.Time
	nodes []*node
}

func (r *recent) add(hash []byte, n *node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byHash == nil {
		r.byHash = map[string]*taken{}
	}
	key := string(lower(hash))
	t := r.byHash[key]
	if t == nil {
		t = &taken{at: time.Now()}
		r.byHash[key], r.order = t, append(r.order, key)
	}
	if len(t.nodes) < sendNodes*mostTries {
		t.nodes = append(t.nodes[:len(t.nodes):len(t.nodes)], n)
	}
	r.last, r.lastAt = n, time.Now()
	r.sweep(r.lastAt)
}

// taker is the node that took a transaction last, if that was a short while ago.
func (r *recent) taker() []*node {
	if r.any.Load() == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil || time.Since(r.lastAt) > sentFor {
		return nil
	}
	return []*node{r.last}
}

// sweep forgets what is too old or too much.
func (r *recent) sweep(now time.Time) {
	for len(r.order) > 0 {
		if t := r.byHash[r.order[0]]; len(r.order) <= maxSent && now.Sub(t.at) < sentFor {
			break
		}
		delete(r.byHash, r.order[0])
		r.order = r.order[1:]
	}
	r.any.Store(int32(len(r.order)))
}

// takers are the nodes that took a transaction a short while ago.
func (r *recent) takers(hash []byte) []*node {
	if r.any.Load() == 0 || hash == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.byHash[string(lower(hash))]; t != nil && time.Since(t.at) < sentFor {
		return t.nodes
	}
	return nil
}

func lower(hash []byte) []byte {
	out := make([]byte, len(hash))
	for i, c := range hash {
		if 'A' <= c && c <= 'F' {
			c += 'a' - 'A'
		}
		out[i] = c
	}
	return out
}

// prefer sends reads of what was just sent to the nodes that have it.
func (d *sender) prefer(q *query) {
	if q.only = d.sent.takers(q.hash); q.only == nil && q.pending {
		q.only = d.sent.taker()
	}
}
