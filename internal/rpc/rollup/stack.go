package rollup

import (
	"context"
	"fmt"
	"math/big"
)

// The stacks whose fees are known.
const (
	Linea    = "linea"
	OP       = "op"
	Arbitrum = "arbitrum"
	ZkSync   = "zksync"
	Scroll   = "scroll"
)

// stacks lists the values of Config.Stack.
func stacks() []string { return []string{Linea, OP, Arbitrum, ZkSync, Scroll} }

// model answers one request in the way of a stack.
type model func(ctx context.Context, n *Node, req *request) (*quote, error)

func (c Config) model() model {
	switch {
	case c.Stack == OP:
		return opEstimate
	case c.Stack == Arbitrum:
		return arbitrumEstimate
	case c.Stack == ZkSync:
		return zksyncEstimate
	case c.Stack == Scroll:
		return scrollEstimate
	case c.Remote:
		return lineaEstimate
	}
	return estimate
}

// quote is what a transaction takes.
type quote struct {
	gas                  int64
	baseFee, priorityFee *big.Int
	dataFee              *big.Int // taken beside the gas; nil where there is no such fee
}

func (q *quote) answer() []byte {
	out := fmt.Appendf(nil, `{"gasLimit":"%#x","baseFeePerGas":"%#x","priorityFeePerGas":"%#x"`, q.gas, q.baseFee, q.priorityFee)
	if q.dataFee != nil {
		out = fmt.Appendf(out, `,"l1DataFee":"%#x"`, q.dataFee)
	}
	return append(out, '}')
}

// settled is how far a number may be from the head and still mean the newest
// block: a layer above ties `latest` to a number, and the head moves on meanwhile.
const settled = 2

// onlyNow refuses a block in the past, for networks whose own estimate takes none.
func (n *Node) onlyNow(ctx context.Context, b block) error {
	if b.pending || string(b.arg) == `"latest"` {
		return nil
	}
	if b.number != nil {
		head, err := n.next.Head(ctx)
		if err != nil {
			return err
		}
		if number := uint64(*b.number); number+settled >= head.Number && number <= head.Number+settled {
			return nil
		}
	}
	return badArgument(1, fmt.Errorf("%s estimates for its next block only: use latest, or leave the block out", n.cfg.Stack))
}
