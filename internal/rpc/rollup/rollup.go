// Package rollup prices transactions of a layer-2 network.
//
// A rollup pays the base layer for publishing its transactions, and its senders
// pay for that in one of three ways, by the stack it is built on:
//
//   - linea: through the priority fee. The more bytes a transaction leaves after
//     compression, the more a unit of its gas must bring.
//   - arbitrum, zksync: through the amount of gas.
//   - op, scroll: by a fee of its own, taken from the balance beside the gas. It
//     is told as l1DataFee and never put into a price per gas, or a client that
//     signs with that price pays it twice.
//
// Node is a node over a node that adds the one method which knows this,
// layer2_estimateGas, and passes everything else on.
//
// Reading order: stack.go chooses the model; params.go and block.go are what goes
// in. An embedded network is priced here, as Linea does it: estimate.go has the
// steps, price.go the formulas, tx.go and size.go the bytes that are priced, lzss.go
// and match.go how many of them compression leaves. A remote network's own node
// knows its prices: linea.go, zksync.go and arbitrum.go ask for all of it at once;
// op.go and scroll.go put it together by datafee.go from contracts of the network,
// which abi.go talks to. opfee.go is what op.go does where its contract can't.
package rollup

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/background"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc"
)

// What a zero in Config stands for.
const (
	defaultMargin       = 1.2
	defaultMultiplier   = 1.2
	defaultFixedCost    = 30_000_000
	defaultVariableCost = 1_000_000_000
	defaultConcurrency  = 2
)

// Bounds of the configuration. Costs end where extra data ends, which keeps the
// formula's product inside 64 bits; a factor beyond maxFactor is a typing mistake.
const (
	maxCostWei = math.MaxUint32 * weiPerKwei
	maxFactor  = 1000
	maxDict    = 4 << 20
)

// Config holds the settings of a rollup's fee model. A zero number stands for
// its default. All but Stack and Remote are for an embedded network, and for a Linea
// whose nodes lack its method.
type Config struct {
	// Stack is one of stacks; "" is linea.
	Stack string

	// Remote says that the nodes below are those of a real network: one of Linea's
	// is then asked for its own estimate.
	Remote bool

	// Dictionary is what the network's compressor knows beforehand. Sizes agree
	// with the network's only with the network's own dictionary.
	Dictionary []byte

	// Margin is what the estimate puts on top of the cost. Default 1.2.
	Margin float64

	// FixedCostWei and VariableCostWei price a block whose extra data has no
	// prices. Defaults 30,000,000 and 1,000,000,000.
	FixedCostWei, VariableCostWei int64

	// CompatibilityMode prices by Multiplier and the minimum gas price instead
	// of by size. Multiplier's default is 1.2.
	CompatibilityMode bool
	Multiplier        float64

	// MinGasPriceWei is the network's minimum gas price. Zero takes the gas
	// price of the block's extra data.
	MinGasPriceWei uint64

	// Concurrency is how many transactions are compressed at once. Default 2.
	Concurrency int
}

// Node adds layer2_estimateGas to a node. It is safe for concurrent use.
type Node struct {
	next  nodegate.Node
	cfg   Config
	model model
	sizer *sizer
}

var (
	_ nodegate.Node = (*Node)(nil)
	_ nodegate.Feed = (*Node)(nil)
)

// New returns a Node over next.
//
// Returns BadConfig when a setting is out of its range.
func New(next nodegate.Node, cfg Config) (*Node, error) {
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return nil, &nodegate.Error{Op: "rollup.new", Code: nodegate.BadConfig, Msg: err.Error()}
	}
	return &Node{next: next, cfg: cfg, model: cfg.model(), sizer: newSizer(cfg.Dictionary, cfg.Concurrency)}, nil
}

// Call answers layer2_estimateGas, refuses blob transactions on an embedded network, and
// passes everything else on.
func (n *Node) Call(ctx context.Context, name string, params []byte) ([]byte, error) {
	if err := n.takes(name, params); err != nil {
		return nil, err
	}
	if name != method.Layer2EstimateGas {
		return n.next.Call(ctx, name, params)
	}
	var req *request
	var err error
	background.RunLarge(len(params), func() { req, err = parseRequest(params) })
	if err != nil {
		return nil, err
	}
	q, err := n.model(ctx, n, req)
	if err != nil {
		return nil, err
	}
	return q.answer(), nil
}

// Head describes the newest block of the node below.
func (n *Node) Head(ctx context.Context) (nodegate.Head, error) { return n.next.Head(ctx) }

// Subscribe keeps the ability of the node below to push events.
//
// Returns MethodNotFound when that node has none.
func (n *Node) Subscribe(ctx context.Context, params []byte, take nodegate.Take) error {
	return rpc.Subscribe(ctx, n.next, params, take)
}

func (c Config) withDefaults() Config {
	c.Stack = orDefault(c.Stack, Linea)
	c.Margin = orDefault(c.Margin, defaultMargin)
	c.Multiplier = orDefault(c.Multiplier, defaultMultiplier)
	c.FixedCostWei = orDefault(c.FixedCostWei, defaultFixedCost)
	c.VariableCostWei = orDefault(c.VariableCostWei, defaultVariableCost)
	c.Concurrency = orDefault(c.Concurrency, defaultConcurrency)
	return c
}

func orDefault[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

func (c Config) check() error {
	switch {
	case !slices.Contains(stacks(), c.Stack):
		return fmt.Errorf("rollup: no stack %q: it is one of %s", c.Stack, strings.Join(stacks(), ", "))
	case !validFactor(c.Margin):
		return fmt.Errorf("rollup: margin %v is not between 0 and %d", c.Margin, maxFactor)
	case !validFactor(c.Multiplier):
		return fmt.Errorf("rollup: multiplier %v is not between 0 and %d", c.Multiplier, maxFactor)
	case c.FixedCostWei < 0 || c.FixedCostWei > maxCostWei:
		return fmt.Errorf("rollup: fixed cost %d wei is not between 0 and %d", c.FixedCostWei, int64(maxCostWei))
	case c.VariableCostWei < 0 || c.VariableCostWei > maxCostWei:
		return fmt.Errorf("rollup: variable cost %d wei is not between 0 and %d", c.VariableCostWei, int64(maxCostWei))
	case c.Concurrency < 0:
		return fmt.Errorf("rollup: concurrency %d is negative", c.Concurrency)
	case len(c.Dictionary) > maxDict:
		return fmt.Errorf("rollup: dictionary of %d bytes is larger than %d", len(c.Dictionary), maxDict)
	}
	return nil
}

// validFactor is written so that NaN fails it.
func validFactor(f float64) bool { return f > 0 && f <= maxFactor }
