package pool

import (
	"context"

	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/upstream/client"
	"github.com/nodegate/nodegate/internal/rpc/upstream/heads"
	"github.com/nodegate/nodegate/internal/rpc/upstream/verify"
)

// observe learns from the blocks that nodes report as their heads: whether headers of this
// network hash as they should, or two nodes show the same one that doesn't. The finding is
// nil when the block means no harm.
func (a *asker) observe(n *node, raw []byte) (*verify.Header, *verify.Finding) {
	h, f := a.checker.Read(raw)
	if f == nil {
		n.honest.passed(verify.Of(verify.HeaderHash))
		return h, nil
	}
	if a.checker.Excepted(f) {
		return nil, nil
	}
	n.honest.setDoubt(f)
	for _, other := range a.nodes.all() {
		if other != n && other.honest.doubts(f) && a.except(f) {
			return nil, nil
		}
	}
	return nil, f
}

// against tells whether a finding about a head speaks against its node. It doesn't while too
// few others have shown that the check fits the chain, and not where nobody could say whether
// a field is the chain's own.
func (a *asker) against(n *node, f *verify.Finding) bool {
	if f.Kind == verify.Identity {
		return true
	}
	return a.nodes.proven(n, f.Kind) && (!f.Foreign || a.nodes.another(n) != nil)
}

// vouch checks a block that a node shows as a head or below one: what follows the chain
// believes it, and subscribers get its header.
func (a *asker) vouch(n *node, name string, raw []byte) error {
	if _, f := a.observe(n, raw); f != nil && a.against(n, f) {
		return a.refuse(n, name, f)
	}
	return nil
}

// refuse is for a head that is false. A node that has fields which Ethereum hasn't may be the
// first of the chain's next version: it waits for another to show the same.
func (a *asker) refuse(n *node, name string, f *verify.Finding) error {
	if f.Foreign {
		n.noteFailure(f)
	} else {
		a.nodes.accuse(n, name, f)
	}
	return &client.Fault{Sent: true, Err: f}
}

// vouchEvent checks a head that came over a node's WebSocket. Some nodes leave out fields
// there, and such a header can't be hashed: then the block itself is asked for, and takes the
// place of the event.
func (a *asker) vouchEvent(ctx context.Context, n *node, head heads.Header) (heads.Header, error) {
	h, f := a.observe(n, head.Raw)
	if h != nil {
		n.link.whole.Store(true)
	}
	if f == nil || !a.against(n, f) {
		return head, nil
	}
	raw, err := a.look(ctx, n, method.EthGetBlockByHash, "["+head.Hash+",false]")
	if err != nil {
		return head, err
	}
	block, ok := heads.Read(raw)
	switch {
	case ok && block.Hash == head.Hash && !a.checker.Contradicts(head.Raw, raw):
		return block, a.vouch(n, method.EthGetBlockByHash, raw)
	case !ok && !n.link.whole.Load(): // it may hide several nodes, of which some are behind
		return head, &client.Fault{Sent: true, Err: f}
	}
	return head, a.refuse(n, method.EthSubscribe, f)
}
