package pool

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/obs"
	"github.com/nodegate/nodegate/internal/rpc/upstream/feed"
	"github.com/nodegate/nodegate/internal/rpc/upstream/heads"
	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
	"github.com/nodegate/nodegate/internal/rpc/upstream/verify"
)

// Pool is a network's remote nodes as one node.
type Pool struct {
	cfg     Config
	log     *slog.Logger
	dial    dialer
	figures *obs.Nodes

	heads   *heads.Tracker // where the chain is
	nodes   *nodeSet       // whom to ask
	ask     *asker         // asks one node
	health  *health        // looks after the nodes
	reader  *reader        // answers reads
	logs    *logReader     // answers log queries
	sender  *sender        // sends transactions
	filters *filters       // keeps a filter's calls with its node
	feed    *feed.Feed     // makes subscriptions' events

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
	p := assemble(cfg, dial)
	p.health.waiting.Store(int32(len(cfg.Nodes)))
	p.Replace(cfg.Nodes)
	p.running.Go(func() { p.tidy(p.ctx) })
	p.running.Go(func() { p.heads.Share(p.ctx) })
	return p
}

// assemble makes a pool that has no nodes and does nothing yet.
func assemble(cfg Config, dial dialer) *Pool {
	p := &Pool{cfg: cfg, log: cfg.Log.With("network", cfg.Network), dial: dial}
	p.ctx, p.stop = context.WithCancel(context.Background())
	if cfg.Metrics != nil {
		p.figures = cfg.Metrics.Nodes()
	}
	is := &identity{chain: cfg.ChainID}
	p.heads = p.newTracker()
	p.nodes = newNodeSet(cfg, p.log, p.heads)
	p.ask = &asker{nodes: p.nodes, judge: judge{heads: p.heads, identity: is}, timeout: cfg.Timeout, cost: cfg.Cost, checker: verify.New(cfg.Stack)}
	p.health = &health{nodes: p.nodes, ask: p.ask, heads: p.heads, identity: is, dial: dial, pace: pace{set: cfg.Poll}, log: p.log}
	p.reader = &reader{nodes: p.nodes, ask: p.ask, timeout: cfg.Timeout, tries: cfg.Retry.Attempts, form: cfg.Form, proven: cfg.Proven}
	p.reader.fillBudgets(cfg.Retry, cfg.Hedge)
	p.setHedgeDelays()
	p.logs = &logReader{nodes: p.nodes, reader: p.reader, heads: p.heads, timeout: cfg.Timeout, maxAnswer: cfg.MaxAnswer}
	p.sender = &sender{nodes: p.nodes, ask: p.ask, reader: p.reader, timeout: cfg.Timeout, ctx: p.ctx, slots: make(chan struct{}, maxSending)}
	p.filters = &filters{nodes: p.nodes, ask: p.ask, timeout: cfg.Timeout, tries: cfg.Retry.Attempts}
	p.feed = p.newFeed()
	return p
}

func (p *Pool) newTracker() *heads.Tracker {
	return heads.New(heads.Config{
		Network: p.cfg.Network, Shared: p.cfg.Shared, Log: p.log, MaxAge: p.cfg.MaxHeadAge,
		Changed: func() { p.feed.Poke() }, Reset: func() { p.feed.Reset() },
	})
}

// Replace puts other nodes in place of those that are there. Nodes that stay the same
// are not disturbed; calls that are with a removed one finish.
func (p *Pool) Replace(nodes []Node) {
	p.replacing.Lock()
	defer p.replacing.Unlock()
	if p.ctx.Err() != nil {
		return
	}
	before := p.nodes.all()
	next := make([]*node, 0, len(nodes))
	var fresh []*node
	for _, cfg := range nodes {
		i := slices.IndexFunc(before, func(n *node) bool { return n.cfg.equal(cfg) && !slices.Contains(next, n) })
		if i >= 0 {
			next = append(next, before[i])
			continue
		}
		n := p.newNode(cfg)
		if old := named(before, cfg.Name); old != nil {
			n.cordoned.Store(old.cordoned.Load())
			n.quota.begin(old.quota.now(time.Now()), time.Now())
		}
		next, fresh = append(next, n), append(fresh, n)
	}
	p.nodes.set(next)
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
	p.running.Go(func() { p.health.watch(ctx, n) })
	if n.link != nil {
		p.running.Go(func() { p.health.tend(ctx, n) })
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

// Close ends the pool. Subscriptions end; calls in progress finish, but no new one gets
// a connection.
func (p *Pool) Close() {
	p.replacing.Lock()
	defer p.replacing.Unlock()
	if p.ctx.Err() != nil {
		return
	}
	p.stop()
	for _, n := range p.nodes.all() {
		n.conn.Close()
	}
	p.heads.Wake()
	p.running.Wait()
	p.feed.Close()
	for range maxSending {
		p.sender.slots <- struct{}{} // transactions on their way have been let go
	}
}

// Call asks the right node; see nodegate.Node.
func (p *Pool) Call(ctx context.Context, name string, params []byte) ([]byte, error) {
	return p.call(ctx, name, params, 1)
}

// call has so many nodes agree on an answer about blocks or state.
func (p *Pool) call(ctx context.Context, name string, params []byte, agree int) ([]byte, error) {
	if name == method.EthBlockNumber {
		head, err := p.Head(ctx) // a node by itself could go backwards
		if err != nil {
			return nil, err
		}
		return []byte(hexjson.Number(head.Number)), nil
	}
	if !p.nodes.serve(name) {
		return nil, notServed(name)
	}
	var q query
	q.read(name, params, p.heads.Number())
	trace := nodegate.TraceFrom(ctx)
	q.must(trace.Want)
	q.spans = trace.Spans
	q.cost = p.cfg.Cost(name)
	if q.info.Kind == method.Read && q.info.Needs != method.Nothing {
		q.agree = agree
	}
	switch q.info.Kind {
	case method.Send:
		return p.sender.send(ctx, &q)
	case method.Sticky:
		return p.filters.call(ctx, &q)
	}
	p.sender.prefer(&q)
	if q.class == logs {
		return p.logs.read(ctx, &q)
	}
	return p.reader.read(ctx, &q)
}

// Head is the highest block that clients may know of; see nodegate.Node. It never
// goes backwards, also not over several servers that share it.
func (p *Pool) Head(ctx context.Context) (nodegate.Head, error) {
	head, ok := p.heads.Head(ctx)
	if !ok {
		return nodegate.Head{}, p.noHead(ctx)
	}
	return head, nil
}

// Last is the newest block that clients were told of, however long ago, and how long no
// node has reported one; not ok before the first.
func (p *Pool) Last() (head nodegate.Head, age time.Duration, ok bool) { return p.heads.Last() }

// Claims are the newest blocks that each node reported.
func (p *Pool) Claims() []heads.Claim { return heads.Claims(p.heads) }

// noHead is the error while no node says what the newest block is.
func (p *Pool) noHead(ctx context.Context) error {
	_, age, ok := p.heads.Last()
	if !ok || ctx.Err() != nil {
		return noNode(ctx, choice{})
	}
	return &nodegate.Error{Op: "upstream.head", Code: nodegate.NoNode, Msg: fmt.Sprintf(
		"no node available: none has reported its newest block for %d seconds, so latest is not known. Name a block by its number or hash", int(age.Seconds()))}
}

// Status says how each node is.
func (p *Pool) Status() []Status { return p.nodes.status() }

// Ready tells whether the network can be used: nil when a node can be asked and the
// head is known.
//
// Returns NoNode, with what is wrong with each node.
func (p *Pool) Ready() error { return p.nodes.ready() }

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
		p.setHedgeDelays()
		p.health.pace.saw(p.heads.Number(), time.Now())
		if round%forgetEvery == 0 {
			p.forget(time.Now())
		}
		if p.figures != nil {
			p.nodes.show()
		}
	}
}

func (p *Pool) forget(now time.Time) {
	for c := range p.ask.speeds {
		p.ask.speeds[c].forget()
	}
	for _, n := range p.nodes.all() {
		n.speeds.forget()
	}
	p.reader.retries.recover()
	p.reader.hedges.recover()
	p.reader.opinions.recover()
	p.reader.firsts.recover()
	p.filters.sweep(now)
	p.sender.sent.mu.Lock()
	p.sender.sent.sweep(now)
	p.sender.sent.mu.Unlock()
}

// The pool is a node that can push events.
var (
	_ nodegate.Node = (*Pool)(nil)
	_ nodegate.Feed = (*Pool)(nil)
)
