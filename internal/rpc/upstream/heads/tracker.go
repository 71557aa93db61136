package heads

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate"
)

// Config is what a tracker works with. The functions are called while the heads are
// locked: they must not wait, nor ask the tracker for anything.
type Config struct {
	Network string
	Shared  Shared       // nil on one server
	Log     *slog.Logger // never nil
	// MaxAge is how long a head is shown when no node reports any more; 0: 30 s.
	MaxAge  time.Duration
	Changed func() // a head or a node's state may have changed
	Reset   func() // the chain was set back below what clients were told
}

// Tracker follows how far the nodes have come, and what clients may be told of it.
type Tracker struct {
	cfg    Config
	opened time.Time
	raised chan struct{}

	told   atomic.Pointer[nodegate.Head] // what clients may know; nil before the first
	open   atomic.Pointer[nodegate.Head] // what they know: the same, once other servers have it too
	alone  atomic.Bool                   // other servers can't be reached
	shared atomic.Uint64                 // what clients of other servers know
	coming coming                        // what they may know in a moment
	best   atomic.Uint64                 // the highest that is believed of any node
	heard  atomic.Int64                  // when a node last reported, in Unix nanoseconds

	mu      sync.Mutex
	nodes   []*Node
	at      point     // of what was told
	shown   Place     // the same by its hash
	past    uint64    // the highest that was told before the chain was set back
	branch  branch    // that the believed nodes are on
	sealed  Place     // the newest block that clients were told is final
	since   time.Time // since when no node reaches what was told; zero: one does
	ready   bool      // every node had a chance to report
	changed chan struct{}
}

// New makes a tracker that has no nodes yet.
func New(cfg Config) *Tracker {
	cfg.MaxAge = cmp.Or(cfg.MaxAge, usualAge)
	return &Tracker{cfg: cfg, opened: time.Now(), raised: make(chan struct{}, 1), changed: make(chan struct{})}
}

// Follow has the tracker follow these nodes in place of those before. It weighs the
// heads at the next report, or when Reconsider is called.
func (t *Tracker) Follow(nodes []*Node) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.nodes = nodes
}

// Best is the highest block that is believed of any node.
func (t *Tracker) Best() uint64 { return t.best.Load() }

// Number is the highest block that clients know of.
func (t *Tracker) Number() uint64 {
	n := t.shared.Load()
	if open := t.open.Load(); open != nil {
		n = max(n, open.Number)
	}
	return n
}

// Changes is closed at the next change of a head or of a node's state.
func (t *Tracker) Changes() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.changed
}

// Wake lets those who wait look again.
func (t *Tracker) Wake() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wakeLocked()
}

func (t *Tracker) wakeLocked() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// Report takes a node's newest block.
func (t *Tracker) Report(n *Node, head Header) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.heard.Store(time.Now().UnixNano())
	if n.claim.made && n.claim.Hash == head.Hash && !n.Doubted.Load() {
		return
	}
	n.claim.Header, n.claim.made = head, true
	n.claim.held++
	t.weigh()
}

// patience is how often a lone node must repeat a head that is hard to believe.
const patience = 3

// weigh decides again whom to believe and what clients may be told. The heads are locked.
func (t *Tracker) weigh() {
	var nodes []*Node
	var points []point
	for _, n := range t.nodes {
		if n.claim.made && n.Checked.Load() {
			nodes, points = append(nodes, n), append(points, point{n.claim.Number, n.claim.Time})
		}
	}
	yes := believed(t.at, t.told.Load() != nil, points, uint64(time.Now().Unix()))
	best, forked := uint64(0), false
	for i, n := range nodes {
		t.believe(n, yes[i] || len(nodes) == 1 && n.claim.held >= patience)
		if !n.Doubted.Load() {
			best = max(best, n.claim.Number)
			forked = t.merge(&n.claim) || forked
		}
	}
	t.best.Store(best)
	if t.ready {
		t.tell(nodes, forked)
	}
	for _, n := range nodes {
		n.Astray.Store(t.astray(&n.claim))
	}
	t.wakeLocked()
	if t.open.Load() == t.told.Load() { // else it comes with what is told
		t.cfg.Changed()
	}
}

func (t *Tracker) believe(n *Node, yes bool) {
	was := n.Doubted.Swap(!yes)
	if yes {
		n.claim.held = 0
		n.Head.Store(n.claim.Number)
		return
	}
	if !was {
		n.SetWhy("reports an implausible head")
		t.cfg.Log.Warn("node reports an implausible head: ignored", "node", n.Name, "reported", n.claim.Number, "others", t.best.Load())
	}
	n.Head.Store(0)
}

// ResetAfter is how long every node must be below what clients were told before that
// is taken back: the chain itself was set back.
const ResetAfter = 2 * time.Minute

// tell raises what clients may know of. It never sinks, unless the chain was set back.
// What may have changed comes in one store with the head that brings it: see
// nodegate.Head.
func (t *Tracker) tell(nodes []*Node, forked bool) {
	top, told := t.top(nodes), t.told.Load()
	next := nodegate.Head{Fork: 1}
	if told != nil {
		next = *told
	}
	if top != nil {
		forked = t.raiseTo(&next, top, nodes) || forked
	} else if told == nil {
		return
	}
	if forked && told != nil {
		next.Fork++
	}
	if told == nil || next != *told {
		t.told.Store(&next)
		if t.cfg.Shared == nil || t.alone.Load() {
			t.open.Store(&next)
		}
		select {
		case t.raised <- struct{}{}: // see Share
		default:
		}
	}
}

// raiseTo brings what was told to the newest block. It tells whether that one may not
// descend from the block that was told before.
func (t *Tracker) raiseTo(next *nodegate.Head, top *Node, nodes []*Node) (forked bool) {
	forked = t.takeBack(next, nodes)
	for _, n := range nodes {
		if !n.Doubted.Load() && n.claim.stance != differs {
			next.Safe, next.Finalized = max(next.Safe, n.claim.safe), max(next.Finalized, n.claim.finalized)
		}
	}
	switch {
	case top.claim.Number >= next.Number:
		t.since = time.Time{}
	case t.since.IsZero():
		t.since = time.Now()
	case time.Since(t.since) >= ResetAfter:
		t.cfg.Log.Error("every node is behind the head that clients have seen: the chain was rolled back", "head", top.claim.Number, "was", next.Number)
		t.since, t.shown, forked = time.Time{}, Place{}, true
		t.branch.restart(top.claim.Header)
		t.past = t.Number()
		t.shared.Store(0)
		if next.Finalized > top.claim.finalized {
			next.Lost++
		}
		next.Number = 0
		t.unseal(next, top, nodes)
		t.cfg.Reset() // who followed the old chain would wait for its height
	}
	if top.claim.Number >= next.Number {
		next.Number, next.GasLimit = top.claim.Number, top.claim.GasLimit
		t.at = point{top.claim.Number, top.claim.Time}
		forked = t.show(&top.claim) || forked
	}
	next.Safe, next.Finalized = min(next.Safe, next.Number), min(next.Finalized, next.Number)
	t.seal(next.Finalized, nodes)
	return forked
}

// top is the node with the highest head that is told of, among those of the smallest rank.
func (t *Tracker) top(nodes []*Node) *Node {
	var top *Node
	for _, n := range nodes {
		if n.Doubted.Load() || n.Syncing.Load() || n.Aside() {
			continue
		}
		if top == nil || n.Rank < top.Rank || n.Rank == top.Rank && n.claim.Number > top.claim.Number {
			top = n
		}
	}
	return top
}

// Settled begins to tell clients: every node has reported or failed to, or has had
// its time.
func (t *Tracker) Settled() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ready {
		t.ready = true
		t.weigh()
	}
}

// usualAge is how long a head is shown when no node reports any more.
const usualAge = 30 * time.Second

// Head is the highest block that clients may know of; not ok when no node says. It never
// goes backwards, also not over several servers that share it.
func (t *Tracker) Head(ctx context.Context) (head nodegate.Head, ok bool) {
	open := t.open.Load()
	if open == nil {
		open = t.firstHead(ctx)
	}
	if open == nil || since(&t.heard) > t.cfg.MaxAge {
		return nodegate.Head{}, false
	}
	if t.coming.number.Load() > t.Number() {
		t.coming.await(ctx, t)
		open = t.open.Load()
	}
	head = *open
	head.Number = max(head.Number, t.shared.Load())
	return head, true
}

// since is how long ago a time was, in Unix nanoseconds.
func since(at *atomic.Int64) time.Duration { return time.Since(time.Unix(0, at.Load())) }

// Last is the newest block that clients were told of, however long ago, and how long no
// node has reported one; not ok before the first.
func (t *Tracker) Last() (head nodegate.Head, age time.Duration, ok bool) {
	open := t.open.Load()
	if open == nil {
		return nodegate.Head{}, 0, false
	}
	head = *open
	head.Number = max(head.Number, t.shared.Load())
	return head, since(&t.heard), true
}

// StartWait is how long a call waits for the first node, in the first moments.
const StartWait = 3 * time.Second

// firstHead waits for it, in the first moments.
func (t *Tracker) firstHead(ctx context.Context) *nodegate.Head {
	timer := time.NewTimer(max(StartWait-time.Since(t.opened), 0))
	defer timer.Stop()
	for {
		changed := t.Changes()
		if open := t.open.Load(); open != nil {
			return open
		}
		select {
		case <-changed:
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// Reconsider weighs the heads again after a node has come or gone.
func (t *Tracker) Reconsider() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.weigh()
}

// Lead is the node whose head is followed, and that head: the highest, of a primary
// node if there is one; the current one when there are several.
func (t *Tracker) Lead(current *Node) (*Node, Header) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var nodes []*Node
	for _, n := range t.nodes {
		if n.claim.made && n.Checked.Load() && n.Silent.Load() < 2 {
			nodes = append(nodes, n)
		}
	}
	top := t.top(nodes)
	if top == nil {
		return nil, Header{}
	}
	if current != nil && slices.Contains(nodes, current) && !current.Doubted.Load() && !current.Aside() &&
		current.claim.Number == top.claim.Number && current.Rank == top.Rank {
		top = current
	}
	return top, top.claim.Header
}
