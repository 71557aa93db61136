package pool

import (
	"time"

	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/upstream/verify"
)

// weigh decides about an answer that failed a check by what another node says. An answer that
// passes speaks against the one that didn't. Two nodes that make the same claim about the
// same data speak for a chain that hashes it in its own way: a lone liar can't invent a type
// of transaction or a field of a header to avoid a check. What is doubted is remembered.
func (r *reader) weigh(q *query, doubted, o *outcome) {
	if doubted.doubt == nil || doubted.doubt.finding.Kind == verify.Identity {
		*doubted = *o
		return
	}
	if o.verdict == good && o.err == nil && string(o.result) != "null" {
		r.nodes.contradicted(doubted.node, q, doubted.doubt.finding, o.held)
		return
	}
	for o.doubt != nil && doubted.doubt != nil && doubted.doubt.finding.Agrees(o.doubt.finding) && r.ask.except(o.doubt.finding) {
		r.ask.recheck(doubted)
		r.ask.recheck(o)
	}
	if doubted.doubt == nil && o.doubt != nil { // only the first one passes now
		*doubted, *o = *o, *doubted
	}
}

// except makes an exception of what two nodes agree on.
func (a *asker) except(f *verify.Finding) bool {
	if !a.checker.Except(f) {
		return false
	}
	a.nodes.log.Info("nodes agree on data that can't be checked: it is not checked on this network", "reason", f.What)
	return true
}

// recheck looks again at an answer that was held back.
func (a *asker) recheck(o *outcome) {
	held, f := a.checker.Check(&o.doubt.ask, o.doubt.result)
	o.node.honest.passed(held)
	if f != nil {
		o.doubt.finding = f
		return
	}
	o.result, o.err, o.verdict, o.doubt = o.doubt.result, nil, good, nil
}

// contradicted is for a node whose answer failed a check, and another's did not. While
// the check has not held for others, the chain may be one that it doesn't fit, and the other
// node the one that lies: then the answer is dropped, and the node stays.
func (ns *nodeSet) contradicted(n *node, q *query, f *verify.Finding, held verify.Kinds) {
	proof := held.Has(f.Kind) && (q.hash != nil && f.Kind.Proves() || ns.proven(n, verify.HeaderHash))
	if proof || ns.proven(n, f.Kind) {
		ns.accuse(n, q.info.Name, f)
		return
	}
	n.noteFailure(f)
}

// enoughNodes is how many others must have passed a check before it counts against a node.
const enoughNodes = 2

// proven tells whether a check has held on this network, for nodes other than this one if
// there are any.
func (ns *nodeSet) proven(n *node, k verify.Kind) bool {
	all := ns.all()
	if len(all) == 1 {
		return n.honest.has(k)
	}
	passed := 0
	for _, other := range all {
		if other != n && other.honest.has(k) {
			passed++
		}
	}
	return passed >= min(enoughNodes, len(all)-1)
}

// accuse ejects a node for a false answer to a method, unless nobody else would be left.
func (ns *nodeSet) accuse(n *node, name string, f *verify.Finding) {
	n.noteFailure(f)
	ns.ejecting.Lock()
	defer ns.ejecting.Unlock()
	if n.breaker.open() || !ns.othersThan(n) {
		return
	}
	n.breaker.lied.Store(true)
	window := n.breaker.eject(time.Now())
	n.figures.Ejected()
	ns.log.Warn("node ejected for a false answer", "node", n.cfg.Name, "for", window, "method", name, "reason", f.What)
}

// release gives out an answer that failed a check, where nobody could say more about it and
// it may be the chain that the check doesn't fit: it has fields that Ethereum hasn't, or no
// answer has ever passed this check.
func (r *reader) release(q *query, doubted, last *outcome) {
	if doubted.doubt == nil || last.verdict == good || q.want != nil {
		return
	}
	f := doubted.doubt.finding
	if f.Kind == verify.Identity || !f.Foreign && r.nodes.proven(doubted.node, f.Kind) {
		return
	}
	before := *last
	*last = *doubted
	last.result, last.err, last.verdict = doubted.doubt.result, nil, good
	r.learn(q, &before, last)
}

// known tells whether what was asked for is a transaction of a block that was seen, so that
// a null needs more than one node to be believed.
func (r *reader) known(q *query) bool {
	form := q.info.Answer
	return (form == method.TransactionAnswer || form == method.ReceiptAnswer) && r.ask.checker.Known(q.hash)
}

func (h *honest) setDoubt(f *verify.Finding) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.doubt = f
}

// doubts tells whether the node's newest block makes the same claim.
func (h *honest) doubts(f *verify.Finding) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.doubt != nil && h.doubt.Agrees(f)
}
