package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// The time between blocks is measured over paceBlocks. Fewer than paceLeast say nothing.
const (
	paceBlocks = 128
	paceLeast  = 16
)

// off is the error of a network that isn't followed, and why.
type off struct{ why string }

func (o *off) Error() string { return "off: " + o.why }

// tooFast is why a network that nobody wanted a ledger for has none: two calls for each of
// its blocks would be many.
func tooFast(between, least time.Duration) error {
	return &off{fmt.Sprintf("the network has a block every %s, and ledger.min_block_time is %s", between.Round(time.Millisecond), least)}
}

// turnOff ends following. It is worth a warning where the operator set what only a ledger
// checks.
func (n *Node) turnOff(why *off) {
	n.off.Store(why)
	cfg := &n.cfg
	if cfg.Agree > 1 || cfg.Checkpoint != nil {
		cfg.Log.Warn("the network has no ledger, so agree and checkpoint are not enforced. Set ledger.blocks, and leave out ledger.min_block_time, to enforce them", "why", why.why)
		return
	}
	cfg.Log.Info("the network has no ledger. Set ledger.blocks to have one", "why", why.why)
}

// identify asks the nodes which chain it is.
func (f *fetcher) identify(ctx context.Context, least time.Duration) (genesis [32]byte, err error) {
	if err := f.checkPace(ctx, least); err != nil {
		return genesis, err
	}
	return f.hashOf(ctx, 0)
}

// doubt gives up on a network whose headers can't be proven, however often they are asked
// for, unless the operator asked for a ledger.
func (f *follower) doubt(err error) error {
	var u *unproven
	if !errors.As(err, &u) {
		f.unproven = 0
		return err
	}
	if f.unproven++; f.node.cfg.Usual && f.unproven >= patience {
		return &off{"the network's headers can't be proven: " + u.what}
	}
	return err
}

// checkPace returns off if blocks come faster than they may. It goes by the time that
// headers tell: ours says nothing about blocks that came before the start.
func (f *fetcher) checkPace(ctx context.Context, least time.Duration) error {
	if least == 0 {
		return nil
	}
	head, err := f.source.Head(ctx)
	if err != nil {
		return &noHead{err}
	}
	blocks := min(head.Number, paceBlocks)
	if blocks < paceLeast {
		return nil
	}
	from, err := f.timeOf(ctx, head.Number-blocks)
	if err != nil {
		return err
	}
	to, err := f.timeOf(ctx, head.Number)
	if err != nil {
		return err
	}
	between := time.Duration(max(to, from)-from) * time.Second / time.Duration(blocks)
	if between < least {
		return tooFast(between, least)
	}
	f.tellCalls(between)
	return nil
}

// tellCalls says what a ledger that nobody asked for takes of the nodes: they may be paid for
// by the call, and nobody may have set a budget.
func (f *fetcher) tellCalls(between time.Duration) {
	if f.calls || between == 0 {
		return
	}
	f.calls = true
	f.log.Info("the ledger fetches each block with two calls; ledger.blocks: 0 turns it off", "block_time", between, "calls_a_day", 2*int64(24*time.Hour/between))
}

// timeOf is the time of the block of a height, in seconds.
func (f *fetcher) timeOf(ctx context.Context, number uint64) (uint64, error) {
	_, raw, err := f.header(ctx, number)
	if err != nil {
		return 0, err
	}
	said, ok := members(nil, raw)
	if !ok {
		return 0, &unproven{"the block can't be read"}
	}
	seconds, ok := quantity(find(said, "timestamp"))
	if !ok || seconds > 1<<32 {
		return 0, &unproven{"the block has no time"}
	}
	return seconds, nil
}
