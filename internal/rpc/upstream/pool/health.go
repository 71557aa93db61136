package pool

import (
	"context"
	"errors"
	"time"

	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/upstream/client"
	"github.com/nodegate/nodegate/internal/rpc/upstream/heads"
	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
)

// How a node is looked after.
const (
	lookTimeout  = 2 * time.Second
	slowRound    = 5                // every which round asks for what changes rarely
	linkTrust    = 5 * time.Second  // how long a head over the WebSocket saves asking for it
	foreignPause = 30 * time.Second // before a node of another chain is looked at again
	longestPause = 10 * time.Second // before a node that is away is looked at again
)

// watch looks after a node until it is removed.
func (p *Pool) watch(ctx context.Context, n *node) {
	w := watcher{pool: p, node: n}
	for ctx.Err() == nil {
		pause := w.round(ctx)
		if w.rounds == 1 {
			p.firstRound()
		}
		select {
		case <-ctx.Done():
		case <-time.After(client.Jitter(pause)):
		}
	}
}

// watcher is the state of one node's watch.
type watcher struct {
	pool   *Pool
	node   *node
	rounds int
	away   int  // rounds in a row in which the node could not be checked
	other  bool // it was last found to be of another chain
}

// round looks at the node once and returns when to look again.
func (w *watcher) round(ctx context.Context) time.Duration {
	p, n := w.pool, w.node
	w.rounds++
	aside := n.breaker.open()
	if left := n.breaker.left(time.Now()); left > 0 && p.somebodyWell(n) {
		return min(left, p.cfg.Poll)
	}
	if aside || !n.Checked.Load() {
		if err := p.identify(ctx, n); err != nil {
			return w.refuse(ctx, err)
		}
		n.history.forget()
		n.Checked.Store(true)
		w.away, w.other = 0, false
	}
	if err := w.look(ctx); err != nil {
		return w.fail(ctx, err, aside)
	}
	n.Silent.Store(0)
	if aside {
		n.breaker.readmit(time.Now())
		n.failing.bits.Store(0)
		n.setWhy("")
		p.log.Info("node is healthy again", "node", n.cfg.Name)
		p.heads.Reconsider()
	}
	return p.cfg.Poll
}

// refuse is for a node whose chain could not be checked, or is another.
func (w *watcher) refuse(ctx context.Context, err error) time.Duration {
	p, n := w.pool, w.node
	if ctx.Err() != nil {
		return 0
	}
	n.noteFailure(err)
	var wrong foreign
	if errors.As(err, &wrong) {
		n.Checked.Store(false)
		if !w.other {
			p.log.Error("node not used: it serves another chain; check its URL", "node", n.cfg.Name, "why", string(wrong))
		}
		w.other = true
		p.heads.Reconsider()
		return foreignPause
	}
	if n.breaker.open() {
		n.breaker.stay(time.Now())
		return p.cfg.Poll
	}
	w.away++
	if w.away == 1 {
		p.log.Warn("node unreachable", "node", n.cfg.Name, "err", n.clean(err))
	}
	return min(p.cfg.Poll*time.Duration(w.away), longestPause)
}

// fail is for a node that did not say where its head is.
func (w *watcher) fail(ctx context.Context, err error, aside bool) time.Duration {
	p, n := w.pool, w.node
	if ctx.Err() != nil {
		return 0
	}
	var wrong foreign
	if errors.As(err, &wrong) {
		return w.refuse(ctx, err)
	}
	n.noteFailure(err)
	if aside {
		n.breaker.stay(time.Now())
	} else {
		n.Silent.Add(1)
		p.tooMany(n, err)
	}
	return p.cfg.Poll
}

// look asks for the head, and now and then for more.
func (w *watcher) look(ctx context.Context) error {
	p, n := w.pool, w.node
	if w.rounds%slowRound == 1 || n.breaker.open() {
		if err := w.lookSlow(ctx); err != nil {
			return err
		}
	}
	if n.link.fresh(linkTrust) && w.rounds%slowRound != 1 {
		return nil
	}
	head, err := p.block(ctx, n, "latest")
	if err != nil {
		return err
	}
	p.heads.Report(&n.Node, head)
	return nil
}

// lookSlow asks whether the node syncs, is still of the chain, and what is final.
func (w *watcher) lookSlow(ctx context.Context) error {
	p, n := w.pool, w.node
	chain, err := p.chainID(ctx, n)
	if err != nil {
		return err
	}
	if !p.identity.is(chain) {
		return foreign("it was of the network's and is no more")
	}
	raw, err := p.look(ctx, n, method.EthSyncing, "")
	if err == nil {
		n.Syncing.Store(string(raw) != "false")
	} else if !refused(err) {
		return err
	}
	safe, err := p.block(ctx, n, "safe")
	if err != nil && !refused(err) && !errors.Is(err, errNoBlock) {
		return err
	}
	final, err := p.block(ctx, n, "finalized")
	if err != nil && !refused(err) && !errors.Is(err, errNoBlock) {
		return err
	}
	shown, err := p.atSeal(ctx, n, final.Place())
	if err != nil {
		return err
	}
	p.heads.ReportFinal(&n.Node, safe.Number, final.Place(), shown)
	return nil
}

// refused tells whether the node itself answered with an error.
func refused(err error) bool {
	var call *client.CallError
	return errors.As(err, &call)
}

// block asks a node for a block by its tag.
func (p *Pool) block(ctx context.Context, n *node, tag string) (heads.Header, error) {
	raw, err := p.look(ctx, n, method.EthGetBlockByNumber, `["`+tag+`",false]`)
	if err != nil {
		return heads.Header{}, err
	}
	h, ok := heads.Read(raw)
	if !ok {
		return heads.Header{}, errNoBlock
	}
	return h, nil
}

// look asks a node something for ourselves. It costs credits and is never refused.
func (p *Pool) look(ctx context.Context, n *node, name, params string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, min(lookTimeout, p.cfg.Timeout))
	defer cancel()
	start := time.Now()
	n.credits.take(p.cfg.Cost(name), start)
	var raw []byte
	if params != "" {
		raw = []byte(params)
	}
	n.inFlight.Add(1)
	result, err := n.conn.CallSafe(ctx, name, raw)
	n.inFlight.Add(-1)
	took, label := time.Since(start), "ok"
	switch {
	case err == nil:
		n.slow.add(float64(took), slowWeight)
		n.failing.blend(0, failingWeight)
	case refused(err):
		label = "error"
	default:
		label = "fault"
	}
	n.figures.Done(method.Of(name).NodeLabel(), label, took)
	return result, err
}

// somebodyWell tells whether another node is well. While none is, those that were put
// aside are looked at all the time.
func (p *Pool) somebodyWell(n *node) bool {
	for _, other := range p.all() {
		if other != n && p.grade(other) == well && other.breaker.failures.Load() < failuresInARow {
			return true
		}
	}
	return false
}

// atSeal is the block that a node has where the one is that clients were told is final;
// none if it has none. The node is asked only if its own final block is not at that number.
func (p *Pool) atSeal(ctx context.Context, n *node, final heads.Place) (heads.Place, error) {
	sealed := p.heads.Sealed()
	if sealed.Hash == "" || final.Number == sealed.Number {
		return final, nil
	}
	raw := hexjson.Number(sealed.Number)
	shown, err := p.block(ctx, n, raw[1:len(raw)-1])
	if refused(err) || errors.Is(err, errNoBlock) {
		return heads.Place{}, nil
	}
	return shown.Place(), err
}
