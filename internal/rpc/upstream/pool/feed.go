package pool

import (
	"context"
	"errors"

	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/upstream/feed"
	"github.com/nodegate/nodegate/internal/rpc/upstream/heads"
)

// newFeed makes the feed of the pool's subscriptions.
func (p *Pool) newFeed() *feed.Feed {
	return feed.New(p.ctx, feed.Config{
		Heads: p.heads, Ask: p.lookAt, Logs: p.blockLogs, HasLink: p.anyLink, Link: p.bestLink,
		FixHead: p.cfg.FixHead, FixLog: p.cfg.FixLog, Log: p.log,
	})
}

// Subscribe starts a subscription; see nodegate.Feed. The kinds are newHeads, logs
// and newPendingTransactions.
func (p *Pool) Subscribe(ctx context.Context, params []byte, take func(event []byte)) error {
	return p.feed.Subscribe(ctx, params, take)
}

// find is the node that the tracker of heads means; nil when it was removed.
func (p *Pool) find(followed *heads.Node) *node {
	for _, n := range p.all() {
		if &n.Node == followed {
			return n
		}
	}
	return nil
}

var errRemoved = errors.New("the node was removed")

// lookAt is look for a node that the tracker of heads means.
func (p *Pool) lookAt(ctx context.Context, followed *heads.Node, name, params string) ([]byte, error) {
	n := p.find(followed)
	if n == nil {
		return nil, errRemoved
	}
	return p.look(ctx, n, name, params)
}

// blockLogs asks for the logs of a block, of a node if it can be asked, or of any that
// has the block.
func (p *Pool) blockLogs(ctx context.Context, from *heads.Node, block uint64, params string) ([]byte, error) {
	q := query{
		method: method.EthGetLogs, params: []byte(params), info: method.Of(method.EthGetLogs), class: logs, cost: p.cfg.Cost(method.EthGetLogs),
		block: block, numbered: true,
	}
	if n := p.find(from); n != nil {
		q.only = []*node{n}
	}
	return p.read(ctx, &q)
}

func (p *Pool) anyLink() bool {
	for _, n := range p.all() {
		if n.link != nil {
			return true
		}
	}
	return false
}

// bestLink is the open socket of the best node that has one.
func (p *Pool) bestLink() feed.Subscriber {
	var best feed.Subscriber
	grade := unusable
	for _, n := range p.all() {
		if s := n.link.current(); s != nil && n.Checked.Load() && p.grade(n) < grade {
			best, grade = s, p.grade(n)
		}
	}
	return best
}
