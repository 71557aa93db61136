package pool

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/obs"
	"github.com/nodegate/nodegate/internal/rpc/upstream/feed"
	"github.com/nodegate/nodegate/internal/rpc/upstream/heads"
	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
)

// Pool is a network's remote nodes as one node.
type Pool struct {
	cfg     Config
	log     *slog.Logger
	dial    dialer
	figures *obs.Nodes
	opened  time.Time

	nodes    atomic.Pointer[[]*node]
	waiting  atomic.Int32 // nodes of the start that were not looked at yet
	identity identity
	heads    *heads.Tracker

	retries, hedges, opinions budget
	speeds                    [classes]speeds
	delays                    [classes]atomic.Int64 // after which a second node is asked
	ejecting                  sync.Mutex

	sending chan struct{}
	sent    recent
	filters filters
	feed    *feed.Feed

	replacing sync.Mutex
	ctx       context.Context
	stop      context.CancelFunc
	running   sync.WaitGroup
}

// Open starts a pool. It does not wait for the nodes and never fails because they
// are away: see Ready.
func Open(cfg Config) *Pool {
	cfg = cfg.withDefaults()
	return open(cfg, wireDialer(cfg))
}

func open(cfg Config, dial dialer) *Pool {
	p := &Pool{
		cfg: cfg, log: cfg.Log.With("network", cfg.Network), dial: dial, opened: time.Now(),
		sending: make(chan struct{}, maxSending), identity: identity{chain: cfg.ChainID},
	}
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.heads = p.newTracker()
	p.feed = p.newFeed()
	p.fillBudgets()
	if cfg.Metrics != nil {
		p.figures = cfg.Metrics.Nodes()
	}
	p.nodes.Store(new([]*node))
	p.waiting.Store(int32(len(cfg.Nodes)))
	p.Replace(cfg.Nodes)
	p.running.Go(func() { p.tidy(p.ctx) })
	p.running.Go(func() { p.heads.Share(p.ctx) })
	return p
}

func (p *Pool) newTracker() *heads.Tracker {
	return heads.New(heads.Config{
		Network: p.cfg.Network, Shared: p.cfg.Shared, Log: p.log,
		Changed: func() { p.feed.Poke() }, Reset: func() { p.feed.Reset() },
	})
}

// all are the nodes at this moment. The list is never written to.
func (p *Pool) all() []*node { return *p.nodes.Load() }

// Replace puts other nodes in place of those that are there. Nodes that stay the same
// are not disturbed; calls that are with a removed one finish.
func (p *Pool) Replace(nodes []Node) {
	p.replacing.Lock()
	defer p.replacing.Unlock()
	if p.ctx.Err() != nil {
		return
	}
	before := p.all()
	next := make([]*node, 0, len(nodes))
	var fresh []*node
	for _, cfg := range nodes {
		i := slices.IndexFunc(before, func(n *node) bool { return n.cfg.equal(cfg) && !slices.Contains(next, n) })
		if i >= 0 {
			next = append(next, before[i])
			continue
		}
		n := p.newNode(cfg)
		next, fresh = append(next, n), append(fresh, n)
	}
	p.set(next)
	for _, n := range fresh {
		p.start(n)
	}
	for _, n := range before {
		if !slices.Contains(next, n) {
			p.retire(n, next)
		}
	}
	p.heads.Reconsider()
}

// set makes these the pool's nodes.
func (p *Pool) set(nodes []*node) {
	followed := make([]*heads.Node, len(nodes))
	for i, n := range nodes {
		followed[i] = &n.Node
	}
	p.nodes.Store(&nodes)
	p.heads.Follow(followed)
}

func (p *Pool) newNode(cfg Node) *node {
	n := bareNode(cfg)
	n.credits.rate = cfg.CreditsPerSecond
	if p.figures != nil {
		n.figures = p.figures.Node(p.cfg.Network, cfg.Name)
	}
	if cfg.WS != "" {
		n.link = new(link)
	}
	if cfg.URL == "" && cfg.WS != "" {
		n.conn = overLink{n.link}
		return n
	}
	var err error
	if n.conn, err = p.dial.client(cfg); err != nil {
		n.conn = noWay{err}
	}
	return n
}

// start begins to look after a node.
func (p *Pool) start(n *node) {
	ctx, stop := context.WithCancel(p.ctx)
	n.stop = stop
	p.running.Go(func() { p.watch(ctx, n) })
	if n.link != nil {
		p.running.Go(func() { p.tend(ctx, n) })
	}
}

// retire ends a node that was removed. Its connections finish what they are doing.
func (p *Pool) retire(n *node, left []*node) {
	n.stop()
	n.conn.Close()
	if !slices.ContainsFunc(left, func(o *node) bool { return o.cfg.Name == n.cfg.Name }) {
		n.figures.Forget()
	}
}

// Close ends the pool. Subscriptions end; calls under way finish, but no new one gets
// a connection.
func (p *Pool) Close() {
	p.replacing.Lock()
	defer p.replacing.Unlock()
	if p.ctx.Err() != nil {
		return
	}
	p.stop()
	for _, n := range p.all() {
		n.conn.Close()
	}
	p.heads.Wake()
	p.running.Wait()
	p.feed.Close()
	for range maxSending {
		p.sending <- struct{}{} // transactions on their way have been let go
	}
}

// Call asks the right node; see nodegate.Node.
func (p *Pool) Call(ctx context.Context, name string, params []byte) ([]byte, error) {
	if name == method.EthBlockNumber {
		head, err := p.Head(ctx) // a node by itself could go backwards
		if err != nil {
			return nil, err
		}
		return []byte(hexjson.Number(head.Number)), nil
	}
	var q query
	q.read(name, params, p.heads.Number())
	q.cost = p.cfg.Cost(name)
	switch q.info.Kind {
	case method.Send:
		return p.send(ctx, &q)
	case method.Sticky:
		return p.sticky(ctx, &q)
	}
	p.prefer(&q)
	return p.read(ctx, &q)
}

// Head is the highest block that clients may know of; see nodegate.Node. It never
// goes backwards, also not over several servers that share it.
func (p *Pool) Head(ctx context.Context) (nodegate.Head, error) {
	head, ok := p.heads.Head(ctx)
	if !ok {
		return nodegate.Head{}, noNode(ctx, choice{})
	}
	return head, nil
}

// prefer sends reads of what was just sent to the nodes that have it.
func (p *Pool) prefer(q *query) {
	if q.only = p.sent.takers(q.hash); q.only == nil && q.pending {
		q.only = p.sent.taker()
	}
}

// firstRound counts a node that was looked at for the first time. When all were, or
// soon anyway, clients are told of heads.
func (p *Pool) firstRound() {
	if p.waiting.Add(-1) == 0 {
		p.heads.Settled()
	}
}

// The times of tidying up.
const (
	tidyEvery   = time.Second
	firstHeads  = 1500 * time.Millisecond // for all nodes to report, at the start
	forgetEvery = 10                      // rounds
)

// tidy keeps what is remembered small and recent.
func (p *Pool) tidy(ctx context.Context) {
	settle := time.AfterFunc(firstHeads, p.heads.Settled)
	defer settle.Stop()
	tick := time.NewTicker(tidyEvery)
	defer tick.Stop()
	for round := 1; ; round++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for c := range p.speeds {
			p.delays[c].Store(int64(hedgeDelay(&p.speeds[c])))
		}
		if round%forgetEvery == 0 {
			p.forget(time.Now())
		}
		p.show()
	}
}

func (p *Pool) forget(now time.Time) {
	for c := range p.speeds {
		p.speeds[c].forget()
	}
	for _, n := range p.all() {
		n.speeds.forget()
	}
	p.retries.recover()
	p.opinions.recover()
	p.filters.sweep(now)
	p.sent.mu.Lock()
	p.sent.sweep(now)
	p.sent.mu.Unlock()
}

// The pool is a node that can push events.
var (
	_ nodegate.Node = (*Pool)(nil)
	_ nodegate.Feed = (*Pool)(nil)
)
