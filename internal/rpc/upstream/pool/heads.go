package pool

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// header is what is read of a block.
type header struct {
	number, time, gasLimit uint64
	hash, parent           string // as JSON tokens
	raw                    []byte // the whole object
}

// claim is a node's newest block and how it was taken.
type claim struct {
	header
	made            bool
	safe, finalized uint64
	root            place  // the final one by its hash, as the node says
	stance          stance // on the block that clients were told is final
	held            int    // how often it was repeated without being believed
	merged          place  // the last one that was believed and compared with the branch
}

func (h *header) place() place { return place{h.number, h.hash} }

// heads follows how far the nodes have come, and what clients may be told of it.
type heads struct {
	told   atomic.Pointer[nodegate.Head] // what clients know; nil before the first
	shared atomic.Uint64                 // what clients of other servers know
	best   atomic.Uint64                 // the highest that is believed of any node
	heard  atomic.Int64                  // when a node last reported, in Unix nanoseconds

	mu      sync.Mutex
	at      point     // of what was told
	shown   place     // the same by its hash
	past    uint64    // the highest that was told before the chain was set back
	branch  branch    // that the believed nodes are on
	sealed  place     // the newest block that clients were told is final
	since   time.Time // since when no node reaches what was told; zero: one does
	ready   bool      // every node had a chance to report
	changed chan struct{}
}

// number is the highest block that clients know of.
func (h *heads) number() uint64 {
	n := h.shared.Load()
	if t := h.told.Load(); t != nil {
		n = max(n, t.Number)
	}
	return n
}

// changes is closed at the next change of a head or of a node's state.
func (h *heads) changes() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.changed
}

// wake lets those who wait look again.
func (h *heads) wake() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wakeLocked()
}

func (h *heads) wakeLocked() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// report takes a node's newest block.
func (p *Pool) report(n *node, head header) {
	h := &p.heads
	h.mu.Lock()
	defer h.mu.Unlock()
	h.heard.Store(time.Now().UnixNano())
	if n.claim.made && n.claim.hash == head.hash && !n.doubted.Load() {
		return
	}
	n.claim.header, n.claim.made = head, true
	n.claim.held++
	p.weigh()
}

// patience is how often a lone node must repeat a head that is hard to believe.
const patience = 3

// weigh decides anew whom to believe and what clients may be told. The heads are locked.
func (p *Pool) weigh() {
	h := &p.heads
	var nodes []*node
	var points []point
	for _, n := range p.all() {
		if n.claim.made && n.checked.Load() {
			nodes, points = append(nodes, n), append(points, point{n.claim.number, n.claim.time})
		}
	}
	yes := believed(h.at, h.told.Load() != nil, points, uint64(time.Now().Unix()))
	best, forked := uint64(0), false
	for i, n := range nodes {
		p.believe(n, yes[i] || len(nodes) == 1 && n.claim.held >= patience)
		if !n.doubted.Load() {
			best = max(best, n.claim.number)
			forked = h.merge(&n.claim) || forked
		}
	}
	h.best.Store(best)
	if h.ready {
		p.tell(nodes, forked)
	}
	for _, n := range nodes {
		n.astray.Store(h.astray(&n.claim))
	}
	h.wakeLocked()
	p.feeds.poke()
}

func (p *Pool) believe(n *node, yes bool) {
	was := n.doubted.Swap(!yes)
	if yes {
		n.claim.held = 0
		n.head.Store(n.claim.number)
		return
	}
	if !was {
		n.setWhy("claims a block far beyond what the others have")
		p.log.Warn("node reports an implausible head: ignored", "node", n.cfg.Name, "reported", n.claim.number, "others", p.heads.best.Load())
	}
	n.head.Store(0)
}

// resetAfter is how long every node must be below what clients were told before that
// is taken back: the chain itself was set back.
const resetAfter = 2 * time.Minute

// tell raises what clients may know of. It never sinks, unless the chain was set back.
// What may have changed comes in one store with the head that brings it: see
// nodegate.Head.
func (p *Pool) tell(nodes []*node, forked bool) {
	h, top, told := &p.heads, p.top(nodes), p.heads.told.Load()
	next := nodegate.Head{Fork: 1}
	if told != nil {
		next = *told
	}
	if top != nil {
		forked = p.raiseTo(&next, top, nodes) || forked
	} else if told == nil {
		return
	}
	if forked && told != nil {
		next.Fork++
	}
	if told == nil || next != *told {
		h.told.Store(&next)
		p.raise()
	}
}

// raiseTo brings what was told to the newest block. It tells whether that one may not
// descend from the block that was told before.
func (p *Pool) raiseTo(next *nodegate.Head, top *node, nodes []*node) (forked bool) {
	h := &p.heads
	forked = p.takeBack(next, nodes)
	for _, n := range nodes {
		if !n.doubted.Load() && n.claim.stance != differs {
			next.Safe, next.Finalized = max(next.Safe, n.claim.safe), max(next.Finalized, n.claim.finalized)
		}
	}
	switch {
	case top.claim.number >= next.Number:
		h.since = time.Time{}
	case h.since.IsZero():
		h.since = time.Now()
	case time.Since(h.since) >= resetAfter:
		p.log.Error("every node is behind the head that clients have seen: the chain was rolled back", "head", top.claim.number, "was", next.Number)
		h.since, h.shown, forked = time.Time{}, place{}, true
		h.branch.restart(top.claim.header)
		h.past = h.number()
		h.shared.Store(0)
		if next.Finalized > top.claim.finalized {
			next.Lost++
		}
		next.Number = 0
		h.unseal(next, top, nodes)
		p.feeds.lose(p.ctx, kindHeads, kindLogs) // who followed the old chain would wait for its height
	}
	if top.claim.number >= next.Number {
		next.Number, next.GasLimit = top.claim.number, top.claim.gasLimit
		h.at = point{top.claim.number, top.claim.time}
		forked = h.show(&top.claim) || forked
	}
	next.Safe, next.Finalized = min(next.Safe, next.Number), min(next.Finalized, next.Number)
	h.seal(next.Finalized, nodes)
	return forked
}

// top is the node with the highest head that is told of: a primary one, if there is any.
func (p *Pool) top(nodes []*node) *node {
	var top [2]*node
	for _, n := range nodes {
		if n.doubted.Load() || n.syncing.Load() || n.breaker.open() {
			continue
		}
		slot := &top[0]
		if n.cfg.Backup {
			slot = &top[1]
		}
		if *slot == nil || n.claim.number > (*slot).claim.number {
			*slot = n
		}
	}
	if top[0] != nil {
		return top[0]
	}
	return top[1]
}

// settled begins to tell clients: every node has reported or failed to, or has had
// its time.
func (p *Pool) settled() {
	p.heads.mu.Lock()
	defer p.heads.mu.Unlock()
	if !p.heads.ready {
		p.heads.ready = true
		p.weigh()
	}
}

// silence is how long a head is shown when no node reports any more.
const silence = 30 * time.Second

// Head is the highest block that clients may know of; see nodegate.Node. It never
// goes backwards, also not over several servers that share it.
func (p *Pool) Head(ctx context.Context) (nodegate.Head, error) {
	told := p.heads.told.Load()
	if told == nil {
		told = p.firstHead(ctx)
	}
	if told == nil || time.Since(time.Unix(0, p.heads.heard.Load())) > silence {
		return nodegate.Head{}, noNode(ctx, choice{})
	}
	head := *told
	head.Number = max(head.Number, p.heads.shared.Load())
	return head, nil
}

// firstHead waits for it, in the first moments.
func (p *Pool) firstHead(ctx context.Context) *nodegate.Head {
	timer := time.NewTimer(max(startWait-time.Since(p.opened), 0))
	defer timer.Stop()
	for {
		changed := p.heads.changes()
		if told := p.heads.told.Load(); told != nil {
			return told
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

// readHeader reads a block or a header as nodes send it.
func readHeader(raw []byte) (h header, ok bool) {
	var number, stamp bool
	whole := jsonrpc.Fields(raw, func(name, value []byte) bool {
		switch string(name) {
		case "number":
			h.number, number = quantity(value)
		case "timestamp":
			h.time, stamp = quantity(value)
		case "gasLimit":
			h.gasLimit, _ = quantity(value)
		case "hash":
			h.hash = hashOf(value)
		case "parentHash":
			h.parent = hashOf(value)
		}
		return true
	})
	h.raw = raw
	return h, whole && number && stamp && h.hash != "" && h.parent != ""
}

func hashOf(raw []byte) string {
	if isHash(raw) {
		return strings.ToLower(string(raw))
	}
	return ""
}
