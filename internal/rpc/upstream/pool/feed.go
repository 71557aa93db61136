package pool

import (
	"context"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/upstream/feed"
	"github.com/nodegate/nodegate/internal/rpc/upstream/heads"
)

// newFeed makes the feed of the pool's subscriptions.
func (p *Pool) newFeed() *feed.Feed {
	return feed.New(p.ctx, feed.Config{
		Heads: p.heads, Ask: p.ask.lookAt, Logs: p.reader.blockLogs, HasLink: p.nodes.anyLink, Link: p.nodes.bestLink,
		FixHead: p.cfg.FixHead, FixLog: p.cfg.FixLog, Log: p.log,
	})
}

// Subscribe starts a subscription; see nodegate.Feed. The kinds are newHeads, logs
// and newPendingTransactions.
func (p *Pool) Subscribe(ctx context.Context, params []byte, take nodegate.Take) error {
	return p.feed.Subscribe(ctx, params, take)
}

// blockLogs asks for the logs of a block, of a node if it can be asked, or of any that
// has the block.
func (r *reader) blockLogs(ctx context.Context, from *heads.Node, block uint64, params string) ([]byte, error) {
	q := query{
		method: method.EthGetLogs, params: []byte(params), info: method.Of(method.EthGetLogs), class: logs, cost: r.ask.cost(method.EthGetLogs),
		block: block, numbered: true,
	}
	if n := r.nodes.find(from); n != nil {
		q.only = []*node{n}
	}
	return r.read(ctx, &q)
}
