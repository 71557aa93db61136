package ledger

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/background"
	"github.com/nodegate/nodegate/internal/fairshare"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc"
	"github.com/nodegate/nodegate/internal/rpc/ledger/form"
	"github.com/nodegate/nodegate/internal/rpc/ledger/store"
	"github.com/nodegate/nodegate/internal/tracing"
)

// Config is what a ledger works with.
type Config struct {
	Stack  string // layer-2 stack, or ""
	Blocks uint64 // how many of the newest blocks are kept, at least 1
	Disk   int64  // bytes that they may take of the disk
	// Answers keeps finished answers in memory; nil keeps none.
	Answers *Answers
	// MinBlockTime is the shortest time between blocks of a network that is followed; 0 is any.
	MinBlockTime time.Duration
	// Usual is true if nobody asked for the ledger: it is off where headers can't be proven.
	Usual bool
	// FillPause is how long the nodes are left in peace after each block while the copy is far
	// behind the head.
	FillPause time.Duration
	// Backfill is how many blocks a second are fetched before the copy's first one, until it has
	// Blocks of them; 0 is none: it grows with the chain alone.
	Backfill int
	// MaxAnswer is how many bytes an answer with logs may have; 0 is no bound. Other
	// answers are as large as a block.
	MaxAnswer int
	// SearchTime is how long a search for logs may take; 0 is no bound.
	SearchTime time.Duration
	Source     nodegate.Node // the nodes, below every cache
	// Last is the newest block that the nodes reported, however long ago, and how long none
	// has reported one; not ok before the first. Nil is never known.
	Last func() (head nodegate.Head, age time.Duration, ok bool)
	// ShowAge is after how long without a report answers tell the age of the head; 0 is never.
	ShowAge time.Duration
	// Hash is the hash of one of the newest blocks, as the nodes reported it. Nil is never known.
	Hash func(number uint64) (hash [32]byte, ok bool)
	// Shared has the blocks that other servers of the network fetched; nil on one server.
	// SharedWait is how long a server is waited for that fetches a block.
	Shared     Shared
	SharedWait time.Duration
	Network    string // its name there
	// Claims are the newest blocks that each node reported. Nil is not known.
	Claims func() []Claim
	// Agree is how many nodes must have given the hash of a block that is answered from.
	Agree int
	// Checkpoint is a block that the chain must have; nil is none.
	Checkpoint *Checkpoint
	Fix        Forms
	// Open opens the copy of the chain with a genesis block. Somebody else may use it too.
	// It is asked again after an error. It may take minutes, and gives up when the context ends.
	Open func(ctx context.Context, genesis [32]byte) (*store.Store, error)
	// Existing opens the copy that is there, of whichever chain; nil is never. Origin says which
	// nodes it has to be of.
	Existing func(ctx context.Context) (*store.Store, error)
	Origin   [32]byte
	// Release is called once when the copy is not used any more, if it was opened.
	Release func()
	Log     *slog.Logger
}

// Forms put answers of nodes into the form that go-ethereum gives them: blocks with whole
// transactions, and lists of receipts. Not ok is what can't be one.
type Forms struct {
	Block, Receipts func(raw []byte) ([]byte, bool)
}

// Node answers from the copy what it can, and passes on everything else.
type Node struct {
	next   nodegate.Node
	cfg    Config
	writer *form.Writer
	heads  readHeads
	kept   kept
	long   *fairshare.Pool // long searches, one of an account

	counts  counts
	repairs repairs

	store  atomic.Pointer[store.Store] // nil until the nodes said which chain it is
	view   atomic.Pointer[view]        // nil while nothing is known to be on the chain
	epoch  atomic.Uint64               // of the next view
	near   atomic.Bool                 // the follower is at the head, or about to be
	off    atomic.Pointer[off]         // why the chain is not followed; nil if it is
	poke   chan struct{}
	mu     sync.Mutex
	change chan struct{} // closed with the next view

	start, stop sync.Once
	cancel      context.CancelFunc
	stopped     <-chan struct{}
	running     sync.WaitGroup
}

var _ nodegate.Feed = (*Node)(nil)

// New puts a ledger over a network's node. It does nothing before Start.
func New(next nodegate.Node, cfg Config) *Node {
	ctx, cancel := context.WithCancel(context.Background())
	return &Node{
		next: next, cfg: cfg, writer: form.New(), kept: newKept(cfg.Answers), long: fairshare.New(max(1, background.Cores()-1), 1), poke: make(chan struct{}, 1), change: make(chan struct{}),
		cancel: cancel, stopped: ctx.Done(),
	}
}

// Start begins to follow the chain.
func (n *Node) Start() {
	n.start.Do(func() {
		f := newFollower(n)
		n.running.Go(f.run)
	})
}

// Stop ends following, and waits until nothing is fetched or written any more. Lookups
// are still answered, for as long as the chain is the one that was followed.
func (n *Node) Stop() {
	n.start.Do(func() {}) // or it would start after the end
	n.cancel()
	n.running.Wait()
}

// Close ends following and lets go of the copy. All lookups are passed on from then on.
func (n *Node) Close() {
	n.Stop()
	n.stop.Do(func() {
		n.view.Store(nil)
		if n.store.Swap(nil) != nil {
			n.cfg.Release()
		}
	})
}

// Call answers a lookup from the copy, or passes the call on.
func (n *Node) Call(ctx context.Context, name string, params []byte) ([]byte, error) {
	if result, ok, err := n.own(ctx, name, params); ok || err != nil {
		return result, err
	}
	return n.next.Call(ctx, name, params)
}

// own answers what the copy has the answer to.
func (n *Node) own(ctx context.Context, name string, params []byte) (result []byte, ok bool, err error) {
	trace := nodegate.TraceFrom(ctx)
	if !trace.Spans {
		return n.find(ctx, trace, name, params)
	}
	ctx, span := tracing.Start(ctx, "ledger")
	result, ok, err = n.find(ctx, trace, name, params)
	span.Set("nodegate.ledger", map[bool]string{true: "answered", false: "passed"}[ok])
	span.End(err)
	return result, ok, err
}

// find is own without a span.
func (n *Node) find(ctx context.Context, trace *nodegate.Trace, name string, params []byte) (result []byte, ok bool, err error) {
	var q query
	var a answer
	understood := q.read(method.Of(name), params)
	if understood {
		if q.logs != nil {
			a, ok, err = n.findLogs(ctx, q.logs, trace.MostLogs)
		} else {
			a, ok = n.lookUp(ctx, &q)
		}
	}
	if !ok {
		if understood {
			n.counts.passed.Add(1)
		}
		trace.Verified, trace.Agreed, trace.Checkpoint, trace.Formed = nodegate.LevelNone, 0, false, false
		return nil, false, err
	}
	n.counts.answered.Add(1)
	trace.Cache, trace.Reason = nodegate.CacheLedger, ""
	trace.Verified, trace.Agreed, trace.Checkpoint, trace.Formed = a.level, a.agreed, a.linked, true
	if age := n.oldHead(); age > 0 {
		trace.HeadAge = age
	}
	return a.result, true, nil
}

// Only is the ledger without the node below: it answers what the copy has the answer to.
// Returns NotFound for everything else.
func (n *Node) Only() nodegate.Node { return only{n} }

type only struct{ *Node }

func (o only) Call(ctx context.Context, name string, params []byte) ([]byte, error) {
	result, ok, err := o.own(ctx, name, params)
	if !ok && err == nil {
		err = &nodegate.Error{Op: "ledger.only", Code: nodegate.NotFound, Msg: "not in the ledger"}
	}
	return result, err
}

// Head is the network's: the ledger never holds it back. What is answered by a head that no
// node reports any more shows its age.
func (n *Node) Head(ctx context.Context) (nodegate.Head, error) {
	head, err := n.next.Head(ctx)
	if err == nil {
		if age := n.oldHead(); age > 0 {
			nodegate.TraceFrom(ctx).HeadAge = age
		}
	}
	return head, err
}

// oldHead is how long no node has reported the head, if that is long enough to show; 0 if not.
func (n *Node) oldHead() time.Duration {
	if age, ok := n.headAge(); ok && n.cfg.ShowAge > 0 && age >= n.cfg.ShowAge {
		return age
	}
	return 0
}

// headAge is how long no node has reported the head; not ok if none ever did.
func (n *Node) headAge() (age time.Duration, ok bool) {
	if n.cfg.Last != nil {
		if _, age, ok := n.cfg.Last(); ok {
			return age, true
		}
	}
	if v := n.view.Load(); v != nil && v.resumed {
		return time.Since(v.seen), true
	}
	return 0, false
}

// now is the head that lookups go by. It is fresh if nodes report it. While none does, it is
// the last that one reported: what the copy has is on the chain as of then. If that is not
// known either, it is the view's, and only what is final is on the chain.
func (n *Node) now(ctx context.Context, v *view) (head nodegate.Head, known, fresh bool) {
	head, err := n.next.Head(ctx)
	last, reported := nodegate.Head{}, err == nil
	if err != nil && n.cfg.Last != nil {
		last, _, reported = n.cfg.Last()
	}
	switch {
	case v.resumed && reported: // the chain may be another one
		return nodegate.Head{Lost: v.head.Lost + 1}, false, false
	case err == nil:
		return head, true, true
	case reported:
		return last, true, false
	}
	return v.head, v.resumed, false
}

// Subscribe passes a subscription on.
func (n *Node) Subscribe(ctx context.Context, params []byte, take nodegate.Take) error {
	return rpc.Subscribe(ctx, n.next, params, take)
}

// lookUp answers a query. If the newest block may have the answer and is being fetched, it
// waits a moment for it.
func (n *Node) lookUp(ctx context.Context, q *query) (answer, bool) {
	v := n.view.Load()
	if v == nil {
		return answer{}, false
	}
	head, known, fresh := n.now(ctx, v)
	if a, ok := n.from(v, head, known, q); ok || !fresh || !v.behind(head) {
		return a, ok
	}
	if v = n.await(ctx, head); v == nil {
		return answer{}, false
	}
	return n.from(v, head, true, q)
}

// from answers a query by a view.
func (n *Node) from(v *view, head nodegate.Head, known bool, q *query) (answer, bool) {
	s := n.store.Load()
	if s == nil || v.head.Lost != head.Lost {
		return answer{}, false
	}
	r := reader{store: s, writer: n.writer, heads: &n.heads, view: v, head: head, known: known}
	if a, ok := n.kept.find(q.lookup, &r, n.epoch.Load()); ok {
		return a, a.agreed >= n.cfg.Agree
	}
	a, ok := r.answer(q)
	if ok {
		n.kept.keep(q.lookup, &r, &a, n.epoch.Load())
	}
	ok = ok && a.agreed >= n.cfg.Agree
	switch {
	case r.lost:
		n.repairs.lose()
	case r.isTorn:
		n.repairs.add(r.torn)
	}
	return a, ok
}
