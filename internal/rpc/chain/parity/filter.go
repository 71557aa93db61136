package parity

import (
	"context"
	"errors"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/nodegate/nodegate/internal/rpc/chain/replay"
)

// intersection is the mode in which both the sender and the recipient have to match.
const intersection = "intersection"

// FilterArgs is the filter of trace_filter.
type FilterArgs struct {
	FromBlock   *rpc.BlockNumber `json:"fromBlock"`
	ToBlock     *rpc.BlockNumber `json:"toBlock"`
	FromAddress []common.Address `json:"fromAddress"`
	ToAddress   []common.Address `json:"toAddress"`
	Mode        string           `json:"mode"`
	After       *uint64          `json:"after"`
	Count       *uint64          `json:"count"`
}

// Filter answers trace_filter: the traces of a range of blocks that fit. There is no index,
// so every transaction of the range is executed again until the count is reached.
func (a *API) Filter(ctx context.Context, args FilterArgs, _ *bool, s *Settings) ([]*Trace, error) {
	first, last, err := a.rangeOf(args)
	if err != nil {
		return nil, err
	}
	list := &matches{args: args, traces: []*Trace{}}
	for number := first; number <= last && !list.full(); number++ {
		block := a.chain.GetBlockByNumber(number)
		if block == nil {
			break // beyond the newest one
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		err := a.chain.Block(ctx, block, len(block.Transactions())-1, false, func(i int, o *replay.Outcome) error {
			if !list.add(mined(o, block, i, s.precompiles())) {
				o.Drop()
			}
			return list.end()
		})
		if err != nil && !errors.Is(err, errFull) {
			return nil, err
		}
		list.add(a.rewards(block))
	}
	return list.traces, nil
}

// rangeOf are the blocks of a filter: by default all of them.
func (a *API) rangeOf(args FilterArgs) (first, last uint64, err error) {
	last = a.chain.CurrentBlock().Number.Uint64()
	if args.FromBlock != nil {
		first = a.chain.Number(*args.FromBlock)
	}
	if args.ToBlock != nil {
		last = a.chain.Number(*args.ToBlock)
	}
	switch {
	case args.Mode != "" && args.Mode != "union" && args.Mode != intersection:
		return 0, 0, invalid("invalid argument 0: mode must be union or intersection")
	case first > last:
		return 0, 0, invalid("invalid parameters: fromBlock cannot be greater than toBlock")
	case last-first >= a.limit.Blocks:
		return 0, 0, invalid("query spans more than %d blocks: try fromBlock %#x, toBlock %#x", a.limit.Blocks, first, first+a.limit.Blocks-1)
	}
	return first, last, nil
}

// errFull ends the execution of a block in which enough was found.
var errFull = errors.New("enough traces")

// matches are the traces that fit a filter.
type matches struct {
	args   FilterArgs
	seen   uint64
	traces []*Trace
}

func (m *matches) full() bool { return m.args.Count != nil && uint64(len(m.traces)) >= *m.args.Count }

func (m *matches) end() error {
	if m.full() {
		return errFull
	}
	return nil
}

// add takes the traces that fit, and tells whether there are any.
func (m *matches) add(traces []*Trace) (kept bool) {
	for _, t := range traces {
		if !m.fits(t) {
			continue
		}
		if m.seen++; (m.args.After == nil || m.seen > *m.args.After) && !m.full() {
			m.traces, kept = append(m.traces, t), true
		}
	}
	return kept
}

// fits compares a trace with the addresses of the filter. A creation that failed made none.
func (m *matches) fits(t *Trace) bool {
	if len(m.args.FromAddress) == 0 && len(m.args.ToAddress) == 0 {
		return true
	}
	from := slices.Contains(m.args.FromAddress, t.from)
	to := slices.Contains(m.args.ToAddress, t.to) && (t.Type != typeCreate || t.Result != nil)
	switch {
	case t.Type == typeReward: // it has no sender
		return to
	case m.args.Mode == intersection:
		return from && to
	}
	return from || to
}
