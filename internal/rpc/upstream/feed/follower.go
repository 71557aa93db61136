package feed

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/upstream/heads"
)

// The bounds of following the chain.
const (
	keptBlocks  = 256 // of the newest blocks that were followed
	followPause = 300 * time.Millisecond
)

// MaxGap is how many missed blocks are fetched. Subscriptions end when more are missing.
const MaxGap = 1024

// follower turns the heads that nodes report into a chain without gaps and repeats.
// It follows one node at a time, and any other when that one falls behind or dies.
type follower struct {
	feed     *Feed
	lead     *heads.Node
	chain    []heads.Header // the newest blocks, the oldest first
	heads    *headKeeper    // of what is proven
	logs     *logKeeper
	receipts *receiptKeeper
}

// begin starts at a node's head: what comes after it is news.
func (w *follower) begin(f *Feed, lead *heads.Node, at heads.Header) {
	*w = follower{feed: f, lead: lead, heads: newHeadKeeper(f), logs: newLogKeeper(f), receipts: newReceiptKeeper(f)}
	if lead != nil {
		w.chain = []heads.Header{at}
	}
}

// startFollower runs it. The feed is locked.
func (f *Feed) startFollower() {
	ctx, stop := context.WithCancel(f.ctx)
	f.stop = stop
	w := f.follow
	f.running.Go(func() { w.run(ctx) })
	f.running.Go(func() { w.heads.each(ctx, w.heads.do) })
	f.running.Go(func() { w.logs.each(ctx, w.logs.do) })
	f.running.Go(func() { w.receipts.each(ctx, w.receipts.do) })
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
		case <-w.feed.poked:
			if ctx.Err() != nil {
				w.feed.Poke() // it was meant for the follower after this one
				return
			}
		}
		failed = w.advance(ctx) != nil
	}
}

// advance goes to the newest head that there is.
func (w *follower) advance(ctx context.Context) error {
	lead, head := w.feed.cfg.Heads.Lead(w.lead)
	if lead == nil || w.find(head.Hash) >= 0 || len(w.chain) > 0 && head.Number < w.chain[len(w.chain)-1].Number {
		return nil
	}
	w.lead = lead
	added, fork, err := w.path(ctx, head)
	if errors.Is(err, errTooFar) {
		w.feed.cfg.Log.Warn("too many blocks were missed or replaced: closing newHeads, logs and transactionReceipts subscriptions", "from", w.chain[len(w.chain)-1].Number, "to", head.Number)
		w.feed.lose(ctx, following...)
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
	return slices.IndexFunc(w.chain, func(h heads.Header) bool { return h.Hash == hash })
}

var (
	errGap    = errors.New("the missed blocks can't be fetched")
	errTooFar = errors.New("what was followed and the new head are too far apart")
)

// path fetches the blocks between what was followed and a new head, and finds where
// the two part: the number of blocks of the old chain that stay. It returns errTooFar
// where only a stream with a gap could go on.
func (w *follower) path(ctx context.Context, head heads.Header) (added []heads.Header, fork int, err error) {
	added = []heads.Header{head}
	if len(w.chain) == 0 {
		return added, 0, nil
	}
	for at := head; ; added = append(added, at) {
		if i := w.find(at.Parent); i >= 0 {
			slices.Reverse(added)
			return added, i + 1, nil
		}
		if at.Parent == w.chain[0].Parent { // the block below is known by its hash alone
			slices.Reverse(added)
			return added, 0, nil
		}
		if at.Number <= w.chain[0].Number || len(added) > MaxGap {
			return nil, 0, errTooFar
		}
		parent := at.Parent
		raw, err := w.feed.cfg.Ask(ctx, w.lead, method.EthGetBlockByHash, "["+parent+",false]")
		if err != nil {
			return nil, 0, err
		}
		below, ok := heads.Read(raw)
		if !ok || !strings.EqualFold(below.Hash, parent) || below.Number+1 != at.Number {
			return nil, 0, errGap
		}
		at = below
	}
}

// tell brings the steps to the readers. A follower that was stopped has none: those that
// are there now have one of their own.
func (w *follower) tell(ctx context.Context, dropped, added []heads.Header) {
	f := w.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	for _, h := range dropped {
		f.step++
		f.drops(h.Hash)
		w.logs.put(step{Header: h, at: f.step, removed: true})
	}
	for _, h := range added {
		f.step++
		f.returns(h.Hash)
		added := step{Header: h, at: f.step, lead: w.lead}
		if f.cfg.Proven != nil {
			w.heads.put(added)
		} else if s := f.streams[kindHeads]; s != nil {
			f.push(s, f.step, f.cfg.FixHead(headEvent(h.Raw)))
		}
		w.logs.put(added)
		w.receipts.put(added)
	}
}

// drops notes that the chain has dropped a block. The feed is locked.
func (f *Feed) drops(hash string) {
	f.dropped = append(f.dropped, hash)
	if extra := len(f.dropped) - keptBlocks; extra > 0 {
		f.dropped = slices.Delete(f.dropped, 0, extra)
	}
}

// returns notes that a block is on the chain, perhaps again. The feed is locked.
func (f *Feed) returns(hash string) {
	f.dropped = slices.DeleteFunc(f.dropped, func(h string) bool { return h == hash })
}

func (f *Feed) hasDropped(hash string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Contains(f.dropped, hash)
}
