package ledger

import (
	"context"
	"fmt"
	"time"
)

// The time between blocks is measured over paceBlocks. Fewer than paceLeast say nothing.
const (
	paceBlocks = 128
	paceLeast  = 16
)

// tooFast is why a network that nobody wanted a ledger for has none: two calls for each of
// its blocks would be many.
type tooFast struct{ between, least time.Duration }

func (t *tooFast) Error() string {
	return fmt.Sprintf("off: the network has a block every %s, and ledger.min_block_time is %s", t.between.Round(time.Millisecond), t.least)
}

// checkPace returns tooFast if blocks come faster than they may. It goes by the time that
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
		return &tooFast{between, least}
	}
	return nil
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
