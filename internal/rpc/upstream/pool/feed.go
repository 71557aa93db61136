package pool

import (
	"context"
	"errors"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/upstream/feed"
	"github.com/nodegate/nodegate/internal/rpc/upstream/heads"
)

// newFeed makes the feed of the pool's subscriptions.
func (p *Pool) newFeed() *feed.Feed {
	cfg := feed.Config{
		Heads: p.heads, Ask: p.ask.lookAt, Logs: p.reader.blockLogs, Receipts: p.reader.blockReceipts, HasLink: p.nodes.anyLink, Link: p.nodes.bestLink,
		FixHead: p.cfg.FixHead, FixLog: p.cfg.FixLog, FixReceipt: p.cfg.FixReceipt, Log: p.log,
	}
	if p.cfg.Proven {
		cfg.Proven = p.reader.provenBlock
	}
	return feed.New(p.ctx, cfg)
}

// Subscribe starts a subscription; see nodegate.Feed. The kinds are newHeads, logs,
// transactionReceipts and newPendingTransactions.
func (p *Pool) Subscribe(ctx context.Context, params []byte, take nodegate.Take) error {
	return p.feed.Subscribe(ctx, params, take)
}

// blockLogs asks for the logs of a block, of a node if it can be asked, or of any that
// has the block.
func (r *reader) blockLogs(ctx context.Context, from *heads.Node, block uint64, params string) ([]byte, error) {
	return r.ofBlock(ctx, from, method.EthGetLogs, block, params)
}

// blockReceipts is the same for receipts.
func (r *reader) blockReceipts(ctx context.Context, from *heads.Node, block uint64, params string) ([]byte, error) {
	return r.ofBlock(ctx, from, method.EthGetBlockReceipts, block, params)
}

// LookUpIn has what subscriptions need of a new block looked up in a verified copy of the chain
// before a node is asked. The copy returns an error for what it doesn't have.
func (p *Pool) LookUpIn(copied nodegate.Node) { p.reader.copied.Store(&copied) }

// provenBlock looks a block up in the copy.
func (r *reader) provenBlock(ctx context.Context, params string) ([]byte, error) {
	return r.lookUp(ctx, method.EthGetBlockByHash, params)
}

// lookUp asks the copy.
func (r *reader) lookUp(ctx context.Context, name, params string) ([]byte, error) {
	copied := r.copied.Load()
	if copied == nil {
		return nil, errNoCopy
	}
	return (*copied).Call(ctx, name, []byte(params))
}

var errNoCopy = errors.New("there is no verified copy of the chain")

func (r *reader) ofBlock(ctx context.Context, from *heads.Node, name string, block uint64, params string) ([]byte, error) {
	if raw, err := r.lookUp(ctx, name, params); err == nil || r.proven {
		return raw, err
	}
	row := method.Of(name)
	q := query{method: name, params: []byte(params), info: row, class: classOf(name, row), cost: r.ask.cost(name), block: block, numbered: true}
	if n := r.nodes.find(from); n != nil {
		q.only = []*node{n}
	}
	return r.read(ctx, &q)
}
