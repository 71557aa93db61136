package pool

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// The bounds of following the chain.
const (
	keptBlocks  = 256  // of the newest blocks that were followed
	maxGap      = 1024 // missed blocks that are fetched
	followPause = 300 * time.Millisecond
)

// follower turns the heads that nodes report into a chain without gaps and repeats.
// It follows one node at a time, and any other when that one falls behind or dies.
type follower struct {
	feeds *feeds
	lead  *node
	chain []header // the newest blocks, the oldest first
	logs  *logKeeper
}

// begin starts at a node's head: what comes after it is news.
func (w *follower) begin(f *feeds, lead *node, at header) {
	*w = follower{feeds: f, lead: lead, logs: newLogKeeper(f)}
	if lead != nil {
		w.chain = []header{at}
	}
}

// startFollower runs it. The feeds are locked.
func (f *feeds) startFollower() {
	ctx, stop := context.WithCancel(f.pool.ctx)
	f.stop = stop
	w := f.follow
	f.running.Go(func() { w.run(ctx) })
	f.running.Go(func() { w.logs.run(ctx) })
}

func (w *follower) run(ctx context.Context) {
	again := time.NewTicker(followPause)
	defer again.Stop()
	failed := w.advance(ctx) != nil
	for {
		select {
		case <-ctx.Done():
			return
		case <-again.C:
			if !failed {
				continue
			}
		case <-w.feeds.poked:
			if ctx.Err() != nil {
				w.feeds.poke() // it was meant for the follower after this one
				return
			}
		}
		failed = w.advance(ctx) != nil
	}
}

// advance goes to the newest head that there is.
func (w *follower) advance(ctx context.Context) error {
	lead, head := w.feeds.pool.lead(w.lead)
	if lead == nil || w.find(head.hash) >= 0 || len(w.chain) > 0 && head.number < w.chain[len(w.chain)-1].number {
		return nil
	}
	w.lead = lead
	added, fork, err := w.path(ctx, head)
	if errors.Is(err, errTooFar) {
		w.feeds.pool.log.Warn("too many blocks were missed or replaced: subscriptions to heads and logs end", "from", w.chain[len(w.chain)-1].number, "to", head.number)
		w.feeds.lose(ctx, kindHeads, kindLogs)
		return nil
	}
	if err != nil {
		return err
	}
	dropped := slices.Clone(w.chain[fork:])
	w.chain = append(w.chain[:fork], added...)
	if extra := len(w.chain) - keptBlocks; extra > 0 {
		w.chain = slices.Delete(w.chain, 0, extra)
	}
	slices.Reverse(dropped)
	w.tell(ctx, dropped, added)
	return nil
}

func (w *follower) find(hash string) int {
	return slices.IndexFunc(w.chain, func(h header) bool { return h.hash == hash })
}

var (
	errGap    = errors.New("the missed blocks can't be fetched")
	errTooFar = errors.New("what was followed and the new head are too far apart")
)

// path fetches the blocks between what was followed and a new head, and finds where
// the two part: the number of blocks of the old chain that stay. It returns errTooFar
// where only a stream with a gap could go on.
func (w *follower) path(ctx context.Context, head header) (added []header, fork int, err error) {
	added = []header{head}
	if len(w.chain) == 0 {
		return added, 0, nil
	}
	for at := head; ; added = append(added, at) {
		if i := w.find(at.parent); i >= 0 {
			slices.Reverse(added)
			return added, i + 1, nil
		}
		if at.parent == w.chain[0].parent { // the block below is known by its hash alone
			slices.Reverse(added)
			return added, 0, nil
		}
		if at.number <= w.chain[0].number || len(added) > maxGap {
			return nil, 0, errTooFar
		}
		parent := at.parent
		raw, err := w.feeds.pool.look(ctx, w.lead, method.EthGetBlockByHash, "["+parent+",false]")
		if err != nil {
			return nil, 0, err
		}
		below, ok := readHeader(raw)
		if !ok || !strings.EqualFold(below.hash, parent) || below.number+1 != at.number {
			return nil, 0, errGap
		}
		at = below
	}
}

// tell brings the steps to the readers. A follower that was stopped has none: those that
// are there now have one of their own.
func (w *follower) tell(ctx context.Context, dropped, added []header) {
	f := w.feeds
	f.mu.Lock()
	defer f.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	for _, h := range dropped {
		f.step++
		w.logs.put(logStep{header: h, step: f.step, removed: true})
	}
	for _, h := range added {
		f.step++
		if s := f.streams[kindHeads]; s != nil {
			f.push(s, f.step, f.pool.cfg.FixHead(headEvent(h.raw)))
		}
		w.logs.put(logStep{header: h, step: f.step, lead: w.lead})
	}
}

// lead is the node whose head is followed, and that head: the highest, of a primary
// node if there is one; the current one when there are several.
func (p *Pool) lead(current *node) (*node, header) {
	p.heads.mu.Lock()
	defer p.heads.mu.Unlock()
	var nodes []*node
	for _, n := range p.all() {
		if n.claim.made && n.checked.Load() && n.silent.Load() < 2 {
			nodes = append(nodes, n)
		}
	}
	top := p.top(nodes)
	if top == nil {
		return nil, header{}
	}
	if current != nil && slices.Contains(nodes, current) && !current.doubted.Load() && !current.breaker.open() &&
		current.claim.number == top.claim.number && current.cfg.Backup == top.cfg.Backup {
		top = current
	}
	return top, top.claim.header
}

// headEvent is a header as newHeads shows it: a block without what is in it.
func headEvent(raw []byte) []byte {
	out := make([]byte, 0, len(raw))
	jsonrpc.Fields(raw, func(name, value []byte) bool {
		switch string(name) {
		case "transactions", "uncles", "withdrawals", "size", "totalDifficulty":
			return true
		}
		out = appendMember(out, name, value)
		return true
	})
	return append(out, '}')
}

// appendMember appends a member to an object that is being written.
func appendMember(out, name, value []byte) []byte {
	if len(out) == 0 {
		out = append(out, '{')
	} else {
		out = append(out, ',')
	}
	out = jsonrpc.AppendString(out, string(name))
	out = append(out, ':')
	return append(out, value...)
}
