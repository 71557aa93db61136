package pool

import (
	"context"
	"errors"
	"github.com/nodegate/nodegate/internal/method"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate/internal/rpc/upstream/client"
	"github.com/nodegate/nodegate/internal/rpc/upstream/heads"
	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
)

// How a node is looked after.
const (
	lookTimeout  = 2 * time.Second
	slowEvery    = 5 * time.Second  // between rounds that ask for what changes rarely
	linkTrust    = 5 * time.Second  // how long, at least, a head over the WebSocket saves asking for it
	silentLink   = 30 * time.Second // and at most
	restPause    = 30 * time.Second // at most, before a node without credits is looked at again
	foreignPause = 30 * time.Second // before a node of another chain is looked at again
	longestPause = 10 * time.Second // before a node that is away is looked at again
)

// health looks after the nodes: that each is of the right chain, where its head is, and
// when one that was ejected may come back.
type health struct {
	nodes    *nodeSet
	ask      *asker
	heads    *heads.Tracker
	identity *identity
	dial     dialer
	pace     pace
	log      *slog.Logger
	waiting  atomic.Int32 // nodes of the start that were not looked at yet
}

// watch looks after a node until it is removed.
func (h *health) watch(ctx context.Context, n *node) {
	w := watcher{health: h, node: n}
	for ctx.Err() == nil {
		pause := w.round(ctx)
		if w.rounds == 1 {
			h.firstRound()
		}
		select {
		case <-ctx.Done():
		case <-time.After(client.Jitter(pause)):
		}
	}
}

// watcher is the state of one node's watch.
type watcher struct {
	health *health
	node   *node
	rounds int
	slowAt time.Time // the last round that asked for everything
	away   int       // rounds in a row in which the node could not be checked
	other  bool      // it was last found to be of another chain
}

// round looks at the node once and returns when to look again.
func (w *watcher) round(ctx context.Context) time.Duration {
	h, n := w.health, w.node
	w.rounds++
	if left := n.quota.left(time.Now()); left > 0 {
		return min(left, restPause) // a look costs credits too
	}
	aside := n.breaker.open()
	if left := n.breaker.left(time.Now()); left > 0 && h.nodes.somebodyWell(n) {
		return min(left, h.pace.again())
	}
	if aside || !n.Checked.Load() {
		if err := h.identify(ctx, n); err != nil {
			return w.refuse(ctx, err)
		}
		n.history.forget()
		n.logs.forget()
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
		h.log.Info("node is healthy again", "node", n.cfg.Name)
		h.heads.Reconsider()
	}
	return h.pace.poll()
}

// refuse is for a node whose chain could not be checked, or is another.
func (w *watcher) refuse(ctx context.Context, err error) time.Duration {
	h, n := w.health, w.node
	if ctx.Err() != nil {
		return 0
	}
	n.noteFailure(err)
	var wrong foreign
	if errors.As(err, &wrong) {
		n.Checked.Store(false)
		if !w.other {
			h.log.Error("node not used: it serves another chain; check its URL", "node", n.cfg.Name, "reason", string(wrong))
		}
		w.other = true
		h.heads.Reconsider()
		return foreignPause
	}
	if n.breaker.open() {
		n.breaker.stay(time.Now())
		return h.pace.again()
	}
	w.away++
	if w.away == 1 {
		h.log.Warn("node unreachable", "node", n.cfg.Name, "err", n.clean(err))
	}
	return min(h.pace.again()*time.Duration(w.away), longestPause)
}

// fail is for a node that did not say where its head is.
func (w *watcher) fail(ctx context.Context, err error, aside bool) time.Duration {
	h, n := w.health, w.node
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
		h.nodes.tooMany(n, err)
	}
	return h.pace.again()
}

// look asks for the head, and now and then for more.
func (w *watcher) look(ctx context.Context) error {
	h, n := w.health, w.node
	slow := w.slowDue(time.Now())
	if slow || n.breaker.open() {
		if err := w.lookSlow(ctx); err != nil {
			return err
		}
	}
	if n.link.fresh(h.pace.trust()) && !slow {
		return nil
	}
	head, err := h.block(ctx, n, "latest")
	if err != nil {
		return err
	}
	h.heads.Report(&n.Node, head)
	return nil
}

// slowDue tells whether the round asks for everything. The round that is nearest to the
// time does: pauses are never exact.
func (w *watcher) slowDue(now time.Time) bool {
	if now.Sub(w.slowAt) < slowEvery-min(w.health.pace.poll()/2, slowEvery/2) {
		return false
	}
	w.slowAt = now
	return true
}

// lookSlow asks whether the node syncs, is still of the chain, and what is final.
func (w *watcher) lookSlow(ctx context.Context) error {
	h, n := w.health, w.node
	chain, err := h.chainID(ctx, n)
	if err != nil {
		return err
	}
	if !h.identity.is(chain) {
		return foreign("its chain ID has changed")
	}
	raw, err := h.ask.look(ctx, n, method.EthSyncing, "")
	if err == nil {
		n.Syncing.Store(string(raw) != "false")
	} else if !refused(err) {
		return err
	}
	safe, err := h.block(ctx, n, "safe")
	if err != nil && !refused(err) && !errors.Is(err, errNoBlock) {
		return err
	}
	final, err := h.block(ctx, n, "finalized")
	if err != nil && !refused(err) && !errors.Is(err, errNoBlock) {
		return err
	}
	shown, err := h.atSeal(ctx, n, final.Place())
	if err != nil {
		return err
	}
	h.heads.ReportFinal(&n.Node, safe.Number, final.Place(), shown)
	return nil
}

// block asks a node for a block by its tag.
func (h *health) block(ctx context.Context, n *node, tag string) (heads.Header, error) {
	raw, err := h.ask.look(ctx, n, method.EthGetBlockByNumber, `["`+tag+`",false]`)
	if err != nil {
		return heads.Header{}, err
	}
	block, ok := heads.Read(raw)
	if !ok {
		return heads.Header{}, errNoBlock
	}
	return block, h.ask.vouch(n, method.EthGetBlockByNumber, raw)
}

// atSeal is the block that a node has where the one is that clients were told is final;
// none if it has none. The node is asked only if its own final block is not at that number.
func (h *health) atSeal(ctx context.Context, n *node, final heads.Place) (heads.Place, error) {
	sealed := h.heads.Sealed()
	if sealed.Hash == "" || final.Hash != "" && final.Number == sealed.Number {
		return final, nil
	}
	raw := hexjson.Number(sealed.Number)
	shown, err := h.block(ctx, n, raw[1:len(raw)-1])
	if refused(err) || errors.Is(err, errNoBlock) {
		return heads.Place{}, nil
	}
	return shown.Place(), err
}

// firstRound counts a node that was looked at for the first time. When all were, or
// soon anyway, clients are told of heads.
func (h *health) firstRound() {
	if h.waiting.Add(-1) == 0 {
		h.heads.Settled()
	}
}
