package pool

import (
	"context"
	"encoding/hex"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/upstream/client"
	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
	"github.com/nodegate/nodegate/internal/rpc/upstream/verify"
)

// doubt is an answer that failed a check. It is held back until another node has spoken.
type doubt struct {
	finding *verify.Finding
	ask     verify.Ask
	result  []byte
}

// check holds an answer against what it shows of itself; see internal/rpc/upstream/verify.
func (a *asker) check(ctx context.Context, n *node, q *query, o *outcome) {
	if o.verdict != good || o.err != nil || q.info.Kind != method.Read || string(o.result) == "null" {
		return
	}
	if q.want != nil {
		a.prove(n, q, o)
		return
	}
	ask := verify.Ask{Row: q.info, Params: q.params, Hash: q.hash, Number: q.block, Exact: q.exact(), Pending: q.pending}
	if form := q.info.Answer; form == method.ReceiptsAnswer || form == method.ProofAnswer {
		f := &fetcher{ctx: ctx, asker: a, node: n}
		ask.ByHash, ask.ByNumber = f.byHash, f.byNumber
	}
	held, f := a.checker.Check(&ask, o.result)
	if f != nil && n.honest.forget() { // its block may have been replaced since it was asked for
		held, f = a.checker.Check(&ask, o.result)
	}
	n.honest.passed(held)
	o.held = held
	if f == nil {
		return
	}
	o.doubt = &doubt{finding: f, ask: ask, result: o.result}
	o.result, o.err, o.verdict = nil, &client.Fault{Sent: true, Err: f}, lying
	if f.Kind == verify.Identity { // on no chain is this an answer
		a.nodes.accuse(n, q.info.Name, f)
	}
}

// prove holds an answer against what whoever asks knows of it. There are no exceptions: an
// answer that doesn't hold is never given out.
func (a *asker) prove(n *node, q *query, o *outcome) {
	err := q.want.Holds(o.result)
	if err == nil {
		o.held = verify.Of(verify.Proof)
		n.honest.passed(o.held)
		return
	}
	f := &verify.Finding{Kind: verify.Proof, What: err.Error()}
	o.doubt = &doubt{finding: f, result: o.result}
	o.result, o.err, o.verdict = nil, &client.Fault{Sent: true, Err: f}, lying
}

// fetcher asks for the headers that an answer is checked against: first the node that gave
// the answer, so that a fork is not taken for a lie, and then another one, so that a node
// can't avoid a check by not showing its header.
type fetcher struct {
	ctx   context.Context
	asker *asker
	node  *node
}

func (f *fetcher) byHash(hash [32]byte) *verify.Header {
	params := `["0x` + hex.EncodeToString(hash[:]) + `",false]`
	for _, n := range [...]*node{f.node, f.asker.nodes.another(f.node)} {
		if h := f.ask(n, method.EthGetBlockByHash, params); h != nil && h.Hash == hash {
			return h
		}
	}
	return nil
}

func (f *fetcher) byNumber(number uint64) *verify.Header {
	if h := f.node.honest.header(number); h != nil {
		return h
	}
	params := `[` + hexjson.Number(number) + `,false]`
	h := f.ask(f.node, method.EthGetBlockByNumber, params)
	if h == nil || h.Number != number {
		head, ok := f.asker.judge.heads.Head(f.ctx)
		if !ok || number > head.Finalized {
			return nil // another node may be on another branch
		}
		if h = f.ask(f.asker.nodes.another(f.node), method.EthGetBlockByNumber, params); h == nil || h.Number != number {
			return nil
		}
	}
	f.node.honest.keep(h)
	return h
}

func (f *fetcher) ask(n *node, name, params string) *verify.Header {
	if n == nil {
		return nil
	}
	raw, err := f.asker.look(f.ctx, n, name, params)
	if err != nil {
		return nil
	}
	h, _ := f.asker.checker.Read(raw)
	return h
}

// another is a node that can be asked beside one, or nil.
func (ns *nodeSet) another(n *node) *node {
	for _, other := range ns.all() {
		if other != n && ns.grade(other) == well {
			return other
		}
	}
	return nil
}

// honest is what speaks for a node: the checks that its answers have passed. It also keeps
// the header that it was asked for last, for proofs of the same block.
type honest struct {
	kinds atomic.Uint32

	mu    sync.Mutex
	last  *verify.Header
	until time.Time
	doubt *verify.Finding // about its newest block
}

func (h *honest) passed(k verify.Kinds) {
	if now := h.kinds.Load(); now|uint32(k) != now {
		h.kinds.Or(uint32(k))
	}
}

func (h *honest) has(k verify.Kind) bool { return verify.Kinds(h.kinds.Load()).Has(k) }

// headerFor is how long a node's header of a block number is taken to be still there.
const headerFor = time.Second

func (h *honest) header(number uint64) *verify.Header {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.last == nil || h.last.Number != number || time.Now().After(h.until) {
		return nil
	}
	return h.last
}

func (h *honest) keep(header *verify.Header) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last, h.until = header, time.Now().Add(headerFor)
}

// forget drops the header, and tells whether there was one.
func (h *honest) forget() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	was := h.last != nil
	h.last = nil
	return was
}
