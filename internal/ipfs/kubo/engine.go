package kubo

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ipfs/go-cid"

	"github.com/nodegate/nodegate"
)

// Config says which nodes there are and how they are used.
type Config struct {
	Endpoints []Endpoint
	Copies    int           // on how many nodes uploads and pins are kept; 1 if 0
	Fetch     bool          // nodes may fetch from the network what none of them has
	Timeout   time.Duration // of such a fetch; 30 s if 0
	Undo      time.Duration // how long content stays that is unpinned or was never pinned
	Pins      nodegate.PinStore

	// Links lists what a block refers to, for carrying content from node to node.
	Links func(c cid.Cid, data []byte) ([]cid.Cid, error)
	Log   *slog.Logger

	// Tests set these.
	now    func() time.Time
	limits limits
}

// Endpoint is the RPC API of a node.
type Endpoint struct {
	URL     string            // without /api/v0
	Headers map[string]string // for every request; they may be secret

	Traceparent bool // send it the trace that a request is a part of
}

// limits are the waits that end, and what is kept in memory.
type limits struct {
	probeEvery time.Duration // a look at each node's health
	probe      time.Duration // the answer to it
	answer     time.Duration // a node's answer, and each further piece of it
	stall      time.Duration // an upload or a pin that does not get on
	finish     time.Duration // the end of an import
	pinning    time.Duration // all pins of one batch; claims live longer
	pause      time.Duration // of a repair, between two pieces of content
	kept       int64         // bytes of a batch that can be sent again
}

func defaultLimits() limits {
	return limits{
		probeEvery: 2 * time.Second, probe: 1500 * time.Millisecond, answer: 5 * time.Second, stall: 15 * time.Second, finish: time.Minute,
		pinning: 50 * time.Minute, pause: 20 * time.Millisecond, kept: 4 << 20,
	}
}

// claimTime is how long a claim lives when nobody ends it.
const claimTime = time.Hour

// Engine keeps blocks on nodes and pins in a store. It is safe for concurrent use.
type Engine struct {
	pinReader
	cfg        Config
	nodes      []*node
	last       atomic.Int32 // the node that answered last
	collecting sync.Mutex
	life       context.Context // ends with Close
	stop       context.CancelFunc

	state   sync.Mutex
	closed  bool
	workers sync.WaitGroup
}

// New returns an engine over nodes, and begins to watch their health. That none of
// them answers is not an error here: see Ready.
func New(c Config) *Engine {
	c = c.withDefaults()
	e := &Engine{cfg: c}
	e.life, e.stop = context.WithCancel(context.Background())
	e.pinReader = pinReader{store: c.Pins, undo: c.Undo, now: c.now, life: e.life}
	for i, p := range c.Endpoints {
		e.nodes = append(e.nodes, newNode(i+1, p, c))
	}
	var first sync.WaitGroup
	for _, n := range e.nodes {
		first.Go(func() { n.probe(e.life) })
	}
	first.Wait()
	for _, n := range e.nodes {
		e.spawn(func() { n.watch(e.life) })
	}
	return e
}

func (c Config) withDefaults() Config {
	if c.Copies == 0 {
		c.Copies = 1
	}
	if c.Timeout == 0 {
		c.Timeout = 30 * time.Second
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.now == nil {
		c.now = time.Now
	}
	if c.limits == (limits{}) {
		c.limits = defaultLimits()
	}
	return c
}

// spawn does something that Close waits for, and reports false after Close.
func (e *Engine) spawn(do func()) bool {
	e.state.Lock()
	defer e.state.Unlock()
	if !e.closed {
		e.workers.Go(do)
	}
	return !e.closed
}

// Close ends the watching and everything that is in progress at the nodes.
func (e *Engine) Close() error {
	e.state.Lock()
	e.closed = true
	e.state.Unlock()
	e.stop()
	e.workers.Wait()
	for _, n := range e.nodes {
		n.client.CloseIdleConnections()
	}
	return nil
}

// Ready is an error while no node answers.
func (e *Engine) Ready() error {
	if len(e.usable()) == 0 {
		return errAway(nil)
	}
	return nil
}

// usable are the nodes that may be asked, the one that answered last first, and those
// behind all others that sent wrong bytes lately.
func (e *Engine) usable() []*node {
	var list, doubted []*node
	last, now := int(e.last.Load()), e.cfg.now()
	for i := range e.nodes {
		n := e.nodes[(last+i)%len(e.nodes)]
		switch {
		case !n.health.usable(now):
		case n.health.doubted(now):
			doubted = append(doubted, n)
		default:
			list = append(list, n)
		}
	}
	return append(list, doubted...)
}

// Stat is what is counted of a node.
type Stat struct {
	Up       bool
	Requests int64
	Failures int64
	Wrong    int64 // blocks that were not what was asked for
}

// Stats are the counters of all nodes, in the order of the configuration.
func (e *Engine) Stats() []Stat {
	list := make([]Stat, len(e.nodes))
	for i, n := range e.nodes {
		list[i] = Stat{Up: n.health.usable(e.cfg.now()), Requests: n.requests.Load(), Failures: n.failures.Load(), Wrong: n.wrong.Load()}
	}
	return list
}
