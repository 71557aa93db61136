package feed

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
	"github.com/nodegate/nodegate/internal/rpc/upstream/client"
	"github.com/nodegate/nodegate/internal/rpc/upstream/heads"
)

// The bounds of subscriptions.
const (
	maxStreams = 1024     // different subscriptions
	maxFilter  = 64 << 10 // bytes of a log filter
)

// Config is what a feed works with: the heads to follow, and ways to ask the nodes.
type Config struct {
	Heads *heads.Tracker
	// Ask asks one node for something that is not a client's call.
	Ask func(ctx context.Context, n *heads.Node, method, params string) ([]byte, error)
	// Logs asks for the logs of a block, of a node if that is not nil and can be asked,
	// or of any that has the block.
	Logs func(ctx context.Context, from *heads.Node, block uint64, params string) ([]byte, error)
	// Receipts does the same for the receipts of a block.
	Receipts func(ctx context.Context, from *heads.Node, block uint64, params string) ([]byte, error)
	// Proven asks a verified copy of the chain for a block. The copy also answers Logs and
	// Receipts then, readers are told of a block when the copy has it, and there are no events
	// that it can't verify. nil: readers are told of a block when a node reports it.
	Proven func(ctx context.Context, params string) ([]byte, error)
	// HasLink tells whether any node has a WebSocket address.
	HasLink func() bool
	// Link is the open WebSocket of the best node that has one; nil while none is open.
	Link       func() Subscriber
	FixHead    func(raw []byte) []byte // brings a header to the form that subscribers get
	FixLog     func(raw []byte) []byte // the same for a log
	FixReceipt func(raw []byte) []byte // and for a receipt
	Log        *slog.Logger
}

// Subscriber is a connection to a node that can subscribe.
type Subscriber interface {
	Subscribe(ctx context.Context, params []byte) (*client.Subscription, error)
}

// Feed makes the events of a network's subscriptions. Each kind, and each different log
// filter, is one stream however many readers it has. Heads come from the reports that
// the tracker of heads gets, so that a stream goes on from any node; logs and receipts are
// asked for once for each new block; pending transactions are subscribed to on one node.
type Feed struct {
	cfg    Config
	ctx    context.Context // ends what runs
	poked  chan struct{}   // a head has changed
	follow follower

	mu      sync.Mutex
	closed  bool
	streams map[string]*stream
	step    uint64             // counts the steps of the chain that were followed
	dropped []string           // the newest blocks that the chain dropped
	stop    context.CancelFunc // ends the follower; nil while nobody needs it
	running sync.WaitGroup
}

// stream is one kind of events and who reads them.
type stream struct {
	key     string
	kind    string
	params  []byte     // of pending transactions
	filter  *logFilter // of logs
	hashes  []string   // of receipts: lower-case JSON tokens, sorted; none: any
	readers map[*reader]struct{}
	stop    context.CancelFunc // of a stream with a goroutine of its own
}

// reader is one subscription of a client.
type reader struct {
	take nodegate.Take
	from uint64 // the step after which it began
}

// New makes a feed without subscriptions. What it starts ends with ctx, and Close waits
// for that.
func New(ctx context.Context, cfg Config) *Feed {
	return &Feed{cfg: cfg, ctx: ctx, poked: make(chan struct{}, 1), streams: map[string]*stream{}}
}

// Poke has the follower look at the heads.
func (f *Feed) Poke() {
	select {
	case f.poked <- struct{}{}:
	default:
	}
}

// The kinds of subscriptions.
const (
	kindHeads    = "newHeads"
	kindLogs     = "logs"
	kindPending  = "newPendingTransactions"
	kindReceipts = "transactionReceipts"
)

// following are the kinds that follow the chain.
var following = []string{kindHeads, kindLogs, kindReceipts}

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
	var option []byte
	if len(list) > 1 {
		option = list[1]
	}
	kind, _ := jsonrpc.String(list[0])
	s := &stream{kind: string(kind), readers: map[*reader]struct{}{}}
	s.key = s.kind
	switch s.kind {
	case kindHeads:
		return s, nil
	case kindPending:
		s.params = []byte(`["newPendingTransactions"]`)
		if string(option) == "true" {
			s.params = []byte(`["newPendingTransactions",true]`)
			s.key += " whole"
		}
		return s, nil
	case kindLogs:
		filter, err := readFilter(option)
		if err != nil {
			return nil, err
		}
		s.filter = filter
		s.key += " " + filter.canonical
		return s, nil
	case kindReceipts:
		hashes, err := readHashes(option)
		s.hashes = hashes
		s.key += " " + strings.Join(hashes, ",")
		return s, err
	}
	return nil, badSubscription("no \"" + client.Printable(s.kind, 64) + "\" subscription in eth namespace")
}

// Subscribe starts a subscription; see nodegate.Feed. The kinds are newHeads, logs,
// transactionReceipts and newPendingTransactions.
func (f *Feed) Subscribe(ctx context.Context, params []byte, take nodegate.Take) error {
	s, err := newStream(params)
	if err != nil {
		return err
	}
	if err := f.offers(s.kind); err != nil {
		return err
	}
	r := &reader{take: take}
	if err := f.join(s, r); err != nil {
		return err
	}
	key := s.key // the stream itself may be one that was there before
	context.AfterFunc(ctx, func() { f.leave(key, r) })
	return nil
}

// offers tells why there are no events of a kind here; nil: there are.
func (f *Feed) offers(kind string) error {
	if f.cfg.Proven != nil && !slices.Contains(following, kind) {
		return &nodegate.Error{
			Op: "upstream.subscribe", Code: nodegate.Unverified,
			Msg: "this network only returns verified responses, and " + kind + " can't be verified. Subscribe to newHeads, logs or transactionReceipts",
		}
	}
	if kind == kindPending && !f.cfg.HasLink() {
		return &nodegate.Error{
			Op: "upstream.subscribe", Code: nodegate.MethodNotFound,
			Msg: "newPendingTransactions is not available: no node of this network has a WebSocket address",
		}
	}
	return nil
}

// join adds a reader to its stream, and starts what the stream needs.
func (f *Feed) join(s *stream, r *reader) error {
	lead, at := f.cfg.Heads.Lead(nil)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nodegate.ErrTimeout("upstream.call", f.ctx.Err())
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
func (f *Feed) leave(key string, r *reader) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.streams[key]; s != nil {
		f.drop(s, r, nodegate.Closed)
	}
}

// drop ends a reader. The feed is locked.
func (f *Feed) drop(s *stream, r *reader, why nodegate.End) {
	if _, in := s.readers[r]; !in {
		return
	}
	delete(s.readers, r)
	r.take(nil, why)
	if len(s.readers) > 0 {
		return
	}
	delete(f.streams, s.key)
	if s.stop != nil {
		s.stop()
	}
	if f.stop != nil && !slices.ContainsFunc(following, f.wants) {
		f.stop()
		f.stop = nil
	}
}

// wants tells whether somebody reads a kind. The feed is locked.
func (f *Feed) wants(kind string) bool {
	for _, s := range f.streams {
		if s.kind == kind {
			return true
		}
	}
	return false
}

// push gives an event to every reader of a stream that began before a step. The feeds
// are locked.
func (f *Feed) push(s *stream, step uint64, event []byte) {
	for r := range s.readers {
		if r.from < step {
			r.take(event, nodegate.NotEnded)
		}
	}
}

// Reset ends the subscriptions that follow the chain: it was set back, and who followed
// the old one would wait for its height.
func (f *Feed) Reset() { f.lose(f.ctx, following...) }

// lose closes all readers of some kinds, whose events were lost, unless who says so has
// been stopped: then its readers have left, and those that are there now are not its own.
func (f *Feed) lose(ctx context.Context, kinds ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ctx.Err() == nil {
		f.dropKinds(kinds...)
	}
}

// dropKinds closes all readers of some kinds. The feed is locked. Who follows the chain
// for them ends with the last one, and the next reader begins where the chain is then.
func (f *Feed) dropKinds(kinds ...string) {
	for _, s := range f.streams {
		if !slices.Contains(kinds, s.kind) {
			continue
		}
		for r := range s.readers {
			f.drop(s, r, nodegate.EventsLost)
		}
	}
}

// Close ends all subscriptions. The feed's context has ended by then.
func (f *Feed) Close() {
	f.mu.Lock()
	f.closed = true
	for _, s := range f.streams {
		for r := range s.readers {
			f.drop(s, r, nodegate.Closed)
		}
	}
	f.mu.Unlock()
	f.running.Wait()
}
