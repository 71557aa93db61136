package pool

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
	"github.com/nodegate/nodegate/internal/rpc/upstream/heads"
)

// The bounds of subscriptions.
const (
	maxStreams = 1024     // different subscriptions
	maxFilter  = 64 << 10 // bytes of a log filter
)

// feeds are the network's subscriptions. Each kind, and each different log filter, is
// one stream however many readers it has. Heads come from the reports that the
// watches make, so that a stream goes on from any node; logs are asked for once for
// each new block; pending transactions are subscribed to on one node.
type feeds struct {
	pool   *Pool
	poked  chan struct{} // a head has changed
	follow follower

	mu      sync.Mutex
	closed  bool
	streams map[string]*stream
	step    uint64             // counts the steps of the chain that were followed
	stop    context.CancelFunc // ends the follower; nil while nobody needs it
	running sync.WaitGroup
}

// stream is one kind of events and who reads them.
type stream struct {
	key     string
	kind    string
	params  []byte     // of pending transactions
	filter  *logFilter // of logs
	readers map[*reader]struct{}
	stop    context.CancelFunc // of a stream with a goroutine of its own
}

// reader is one subscription of a client.
type reader struct {
	take func(event []byte) // nil is the last
	from uint64             // the step after which it began
}

func (f *feeds) open(p *Pool) {
	f.pool, f.poked, f.streams = p, make(chan struct{}, 1), map[string]*stream{}
}

// poke has the follower look.
func (f *feeds) poke() {
	select {
	case f.poked <- struct{}{}:
	default:
	}
}

// The kinds of subscriptions.
const (
	kindHeads   = "newHeads"
	kindLogs    = "logs"
	kindPending = "newPendingTransactions"
)

func badSubscription(msg string) error {
	return &nodegate.Error{Op: "upstream.subscribe", Code: nodegate.InvalidParams, Msg: msg}
}

// newStream reads the parameters of eth_subscribe.
func newStream(params []byte) (*stream, error) {
	var room [4][]byte
	list, ok := jsonrpc.Elements(room[:0], params)
	if !ok || len(list) == 0 {
		return nil, badSubscription("missing value for required argument 0")
	}
	if len(list) > 2 {
		return nil, badSubscription("too many arguments, want at most 2")
	}
	kind, _ := jsonrpc.String(list[0])
	s := &stream{kind: string(kind), readers: map[*reader]struct{}{}}
	s.key = s.kind
	switch s.kind {
	case kindHeads:
		return s, nil
	case kindPending:
		s.params = []byte(`["newPendingTransactions"]`)
		if len(list) > 1 && string(list[1]) == "true" {
			s.params = []byte(`["newPendingTransactions",true]`)
			s.key += " whole"
		}
		return s, nil
	case kindLogs:
		var filter []byte
		if len(list) > 1 {
			filter = list[1]
		}
		var err error
		if s.filter, err = readFilter(filter); err != nil {
			return nil, err
		}
		s.key += " " + s.filter.canonical
		return s, nil
	}
	return nil, badSubscription("no \"" + printable(s.kind, 64) + "\" subscription in eth namespace")
}

// Subscribe starts a subscription; see nodegate.Feed. The kinds are newHeads, logs
// and newPendingTransactions.
func (p *Pool) Subscribe(ctx context.Context, params []byte, take func(event []byte)) error {
	s, err := newStream(params)
	if err != nil {
		return err
	}
	if s.kind == kindPending && !p.anyLink() {
		return &nodegate.Error{
			Op: "upstream.subscribe", Code: nodegate.MethodNotFound,
			Msg: "newPendingTransactions is not available: no node of this network has a WebSocket address",
		}
	}
	r := &reader{take: take}
	if err := p.feeds.join(s, r); err != nil {
		return err
	}
	key := s.key // the stream itself may be one that was there before
	context.AfterFunc(ctx, func() { p.feeds.leave(key, r) })
	return nil
}

func (p *Pool) anyLink() bool {
	for _, n := range p.all() {
		if n.link != nil {
			return true
		}
	}
	return false
}

// join adds a reader to its stream, and starts what the stream needs.
func (f *feeds) join(s *stream, r *reader) error {
	lead, at := f.pool.heads.Lead(nil)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return noNode(f.pool.ctx, choice{})
	}
	if known := f.streams[s.key]; known != nil {
		s = known
	} else if len(f.streams) >= maxStreams {
		return &nodegate.Error{Op: "upstream.subscribe", Code: nodegate.Busy, Msg: "server busy: too many different subscriptions"}
	}
	f.streams[s.key] = s
	r.from = f.step
	s.readers[r] = struct{}{}
	switch {
	case s.kind == kindPending:
		f.startPending(s)
	case f.stop == nil:
		f.follow.begin(f, lead, at)
		f.startFollower()
	}
	return nil
}

// leave takes a reader out and ends what nobody needs any more.
func (f *feeds) leave(key string, r *reader) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.streams[key]; s != nil {
		f.drop(s, r)
	}
}

// drop closes a reader. The feeds are locked.
func (f *feeds) drop(s *stream, r *reader) {
	if _, in := s.readers[r]; !in {
		return
	}
	delete(s.readers, r)
	r.take(nil)
	if len(s.readers) > 0 {
		return
	}
	delete(f.streams, s.key)
	if s.stop != nil {
		s.stop()
	}
	if f.stop != nil && !f.wants(kindHeads) && !f.wants(kindLogs) {
		f.stop()
		f.stop = nil
	}
}

// wants tells whether somebody reads a kind. The feeds are locked.
func (f *feeds) wants(kind string) bool {
	for _, s := range f.streams {
		if s.kind == kind {
			return true
		}
	}
	return false
}

// push gives an event to every reader of a stream that began before a step. The feeds
// are locked.
func (f *feeds) push(s *stream, step uint64, event []byte) {
	for r := range s.readers {
		if r.from < step {
			r.take(event)
		}
	}
}

// lose closes all readers of some kinds, whose events were lost, unless who says so has
// been stopped: then its readers have left, and those that are there now are not its own.
func (f *feeds) lose(ctx context.Context, kinds ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ctx.Err() == nil {
		f.dropKinds(kinds...)
	}
}

// dropKinds closes all readers of some kinds. The feeds are locked. Who follows the chain
// for them ends with the last one, and the next reader begins where the chain is then.
func (f *feeds) dropKinds(kinds ...string) {
	for _, s := range f.streams {
		if !slices.Contains(kinds, s.kind) {
			continue
		}
		for r := range s.readers {
			f.drop(s, r)
		}
	}
}

// close ends all subscriptions.
func (f *feeds) close() {
	f.mu.Lock()
	f.closed = true
	for _, s := range f.streams {
		for r := range s.readers {
			f.drop(s, r)
		}
	}
	f.mu.Unlock()
	f.running.Wait()
}

// find is the node that the tracker of heads means; nil when it was removed.
func (p *Pool) find(followed *heads.Node) *node {
	for _, n := range p.all() {
		if &n.Node == followed {
			return n
		}
	}
	return nil
}

var errRemoved = errors.New("the node was removed")

// lookAt is look for a node that the tracker of heads means.
func (p *Pool) lookAt(ctx context.Context, followed *heads.Node, name, params string) ([]byte, error) {
	n := p.find(followed)
	if n == nil {
		return nil, errRemoved
	}
	return p.look(ctx, n, name, params)
}
