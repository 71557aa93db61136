package ledger

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/ledger/store"
	"github.com/nodegate/nodegate/internal/rpc/upstream/verify"
)

// The follower's figures.
const (
	firstBlocks = 128                    // that a new copy begins with
	maxGap      = 1024                   // blocks that are fetched after a pause; more begin a new copy
	lookEvery   = 100 * time.Millisecond // at the head, which costs no call
	firstPause  = 250 * time.Millisecond // after an error, twice as long each time
	longestWait = 30 * time.Second
	lookForHead = time.Second // while no node reports one
	patience    = 8           // errors with one block that can't be proven, before it is passed over
)

// follower keeps the copy at the head of the chain. One goroutine does all of it.
type follower struct {
	node  *Node
	fetch fetcher
	store *store.Store
	log   *slog.Logger

	fails   int       // in a row
	stuck   uint64    // the block that can't be proven
	tries   int       // of that block
	mendAt  time.Time // when a damaged block may be fetched again
	holesAt time.Time // when to look for missing receipts
	below   uint64    // where to go on with that; 0 is at the newest block

	pruned   uint64    // the newest block when the bounds were last looked at
	shrinkAt time.Time // when blocks may be removed again because the disk is full
	unproven int       // attempts in a row to open the copy that met headers without a proof

	vouchers   vouchers
	filler     filler
	checkpoint checkpoint
	resumption resumption
}

func newFollower(n *Node) *follower {
	return &follower{
		node: n, log: n.cfg.Log, holesAt: time.Now().Add(holesEvery), vouchers: vouchers{claims: n.cfg.Claims}, checkpoint: checkpoint{want: n.cfg.Checkpoint},
		fetch: fetcher{
			source: n.cfg.Source, fix: n.cfg.Fix, check: verify.New(n.cfg.Stack), writer: n.writer, log: n.cfg.Log, counts: &n.counts,
			share: sharing{with: n.cfg.Shared, network: n.cfg.Network, wait: n.cfg.SharedWait, hash: n.cfg.Hash, counts: &n.counts, log: n.cfg.Log},
		},
	}
}

// run follows until the node is stopped.
func (f *follower) run() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { // a call in progress ends too
		select {
		case <-f.node.stopped:
			cancel()
		case <-ctx.Done():
		}
	}()
	defer f.node.setNear(false)
	for pause := time.Duration(0); f.wait(ctx, pause); {
		more, err := f.step(ctx)
		var why *off
		switch {
		case ctx.Err() != nil:
			return
		case errors.As(err, &why):
			f.node.turnOff(why)
			return
		case err != nil:
			pause = f.failed(err)
		case more:
			pause = f.fillPause()
			f.recovered()
		default:
			pause = lookEvery
			f.recovered()
		}
	}
}

// fillPause is how long to wait before the next block. Near the head, lookups wait for it.
func (f *follower) fillPause() time.Duration {
	if f.node.near.Load() {
		return 0
	}
	return f.node.cfg.FillPause
}

// wait waits for a pause, or until a lookup wants the newest block. Nobody shortens the
// pause after an error.
func (f *follower) wait(ctx context.Context, pause time.Duration) bool {
	if pause == 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	var poked <-chan struct{}
	if f.fails == 0 {
		poked = f.node.poke
	}
	select {
	case <-timer.C:
	case <-poked:
	case <-ctx.Done():
		return false
	}
	return true
}

// reportAfter is how many errors in a row are worth a line in the log.
const reportAfter = 4

// failed counts an error and returns how long to wait.
func (f *follower) failed(err error) time.Duration {
	f.node.setNear(false)
	f.fails++
	if errors.Is(err, nodegate.Damaged) {
		f.node.repairs.lose()
	}
	var away *noHead
	gone := errors.As(err, &away)
	switch {
	case f.fails != reportAfter:
	case gone:
		f.log.Warn("no node reports a block: the ledger answers from the copy as it is", "err", err)
	default:
		f.log.Warn("the ledger can't follow the chain now: its lookups are passed on to nodes", "err", err)
	}
	pause := longestWait
	if shift := f.fails - 1; shift < 7 {
		pause = min(longestWait, firstPause<<shift)
	}
	var e *nodegate.Error
	switch {
	case gone:
		pause = min(pause, lookForHead)
	case errors.As(err, &e):
		pause = max(pause, e.RetryAfter)
	}
	return pause
}

// noHead is the error while no node reports a head. Looking for one costs no call, so the
// follower is there soon after the nodes are.
type noHead struct{ error }

func (n *noHead) Unwrap() error { return n.error }

// recovered is called after every step that worked.
func (f *follower) recovered() {
	if f.fails >= reportAfter {
		f.log.Info("the ledger follows the chain again")
	}
	f.fails = 0
}

// step brings the copy one block further. More is true if there is another one to fetch.
func (f *follower) step(ctx context.Context) (more bool, err error) {
	if _, _, lost := f.node.repairs.next(); f.store != nil && (lost || store.Broken(f.store)) {
		f.restart()
	}
	if f.store == nil {
		if err := f.open(ctx); err != nil {
			f.resumption.begin(ctx, f)
			return false, err
		}
	}
	head, err := f.fetch.source.Head(ctx)
	if err != nil {
		return false, &noHead{err}
	}
	if v := f.node.view.Load(); v != nil && v.head.Lost != head.Lost {
		if err := f.reset("final blocks were taken back"); err != nil {
			return false, err
		}
	}
	if err := f.checkpoint.ask(ctx, &f.fetch, head); err != nil {
		if errors.Is(err, errCheckpoint) {
			f.node.show(nil)
		}
		return false, err
	}
	more, err = f.toward(ctx, head)
	switch {
	case err == nil:
		f.tries = 0
		f.prune()
	case errors.Is(err, nodegate.InsufficientStorage):
		f.shrink(time.Now())
	}
	if err == nil && !more {
		more = f.mend(ctx) || f.filler.step(ctx, f)
	}
	return more, err
}

// open opens the copy. Which chain it is of, the nodes say.
func (f *follower) open(ctx context.Context) error {
	genesis, err := f.fetch.identify(ctx, f.node.cfg.MinBlockTime)
	if err != nil {
		if _, none := f.fetch.source.Head(ctx); none != nil {
			err = &noHead{err}
		}
		return f.doubt(err)
	}
	f.unproven = 0
	s, err := f.resumption.end(ctx, f.node, genesis)
	if err != nil {
		return err
	}
	f.store, f.vouchers.canonical = s, s.Canonical
	f.node.store.Store(s)
	return nil
}

// reset empties the copy: the chain was recreated.
func (f *follower) reset(why string) error {
	f.node.show(nil)
	f.node.repairs.clear()
	f.vouchers.forget()
	f.log.Warn("the ledger starts with an empty copy", "why", why)
	return f.store.Reset()
}

// toward takes one step to a head.
func (f *follower) toward(ctx context.Context, head nodegate.Head) (more bool, err error) {
	first, tip, ok := f.store.Tip()
	v := f.node.view.Load()
	switch {
	case !ok || head.Number > tip.Number+maxGap || head.Number < first.Number:
		return true, f.begin(ctx, head, f.start(head))
	case tip.Number < head.Number:
		f.node.setNear(v != nil && head.Number-tip.Number <= 2)
		more = tip.Number+1 < head.Number
		return more, f.advance(ctx, head, tip)
	case v == nil || v.last != head.Number || v.head.Fork != head.Fork:
		return false, f.confirm(ctx, head, tip)
	}
	f.node.setNear(true)
	if v.head.Finalized != head.Finalized || !slices.Equal(v.vouched, f.vouchers.newest(v)) {
		f.show(at(v.last, v.hash, head))
	}
	return false, nil
}

// start is where a new copy begins.
func (f *follower) start(head nodegate.Head) uint64 {
	return firstOf(head.Number, min(firstBlocks, f.node.cfg.Blocks))
}

// firstOf is the first of the last blocks up to a height.
func firstOf(last, blocks uint64) uint64 { return last - min(last, blocks-1) }

// begin begins a new copy at a height. What was stored before stays beside it until it is
// pruned: the branch that a copy is may have no holes.
func (f *follower) begin(ctx context.Context, head nodegate.Head, number uint64) error {
	b, err := f.fetch.next(ctx, number)
	if err != nil {
		return f.judge(ctx, head, number, err)
	}
	f.log.Info("the ledger starts a copy of the chain", "block", number, "head", head.Number)
	if _, _, ok := f.store.Tip(); ok {
		f.node.show(nil)
		return f.put(b)
	}
	return f.store.Append(b)
}

// put stores a block and begins a branch with it.
func (f *follower) put(b *store.Block) error {
	if err := f.store.Put(b); err != nil {
		return err
	}
	place, ok, err := f.store.ByHash(b.Hash)
	if err == nil && !ok {
		err = errAway
	}
	if err != nil {
		return err
	}
	return move(f, []store.Place{place})
}

// move makes a branch the chain. Blocks may leave it, which ends the epoch of views.
func move(f *follower, branch []store.Place) error {
	f.node.epoch.Add(1)
	return f.store.Move(branch)
}

// advance fetches the block behind the newest one.
func (f *follower) advance(ctx context.Context, head nodegate.Head, tip store.Place) error {
	b, err := f.fetch.next(ctx, tip.Number+1)
	if err != nil {
		return f.judge(ctx, head, tip.Number+1, err)
	}
	if b.Parent != tip.Hash {
		if err := f.reorg(ctx, b); err != nil {
			return err
		}
	} else if err := f.store.Append(b); err != nil {
		return err
	}
	return f.agree(ctx, head, b.Number, b.Hash)
}

// judge passes over a block that can't be proven, however often it is asked for: the copy
// begins again behind it.
func (f *follower) judge(ctx context.Context, head nodegate.Head, number uint64, err error) error {
	var u *unproven
	if !errors.As(err, &u) {
		return err
	}
	f.node.counts.refused.Add(1)
	if f.stuck != number {
		f.stuck, f.tries = number, 0
	}
	if f.tries++; f.tries < patience || number >= head.Number {
		return err
	}
	f.log.Warn("the ledger skips a block that it can't prove", "block", number, "err", err)
	f.stuck, f.tries = 0, 0
	return f.begin(ctx, head, max(number+1, f.start(head)))
}

// agree makes the blocks up to one those that lookups are answered from, unless the
// chain took another fork while they were fetched.
func (f *follower) agree(ctx context.Context, head nodegate.Head, number uint64, hash [32]byte) error {
	now, err := f.fetch.source.Head(ctx)
	if err != nil {
		return err
	}
	if err := f.keepCheckpoint(); err != nil {
		return err
	}
	if now.Fork == head.Fork && now.Lost == head.Lost {
		f.show(at(number, hash, head))
		f.node.setNear(now.Number <= number+1)
	}
	return nil
}

// confirm asks which block is at the head's height, after a start and after a fork.
func (f *follower) confirm(ctx context.Context, head nodegate.Head, tip store.Place) error {
	hash, err := f.fetch.hashOf(ctx, head.Number)
	if err != nil {
		return err
	}
	m, ok, err := f.store.Canonical(head.Number)
	switch {
	case err != nil:
		return err
	case !ok || m.Hash != hash:
		b, err := f.fetch.linked(ctx, head.Number, hash)
		if err != nil {
			return f.judge(ctx, head, head.Number, err)
		}
		if err := f.reorg(ctx, b); err != nil {
			return err
		}
	case tip.Number > head.Number: // what is above may be of another branch
		if err := move(f, []store.Place{m.Place}); err != nil {
			return err
		}
	}
	return f.agree(ctx, head, head.Number, hash)
}
