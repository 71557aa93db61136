package pool

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/upstream/client"
	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
	"github.com/nodegate/nodegate/internal/rpc/upstream/verify"
)

// reader answers reads: it asks a node, another where that makes sense, and a second one
// when the first takes unusually long.
type reader struct {
	nodes   *nodeSet
	ask     *asker
	timeout time.Duration // of a call, all attempts together
	tries   int           // nodes that one call is sent to, one after the other

	// form brings answers to the form in which they are compared.
	form func(row *method.Row, result []byte) ([]byte, bool)

	// copied has blocks of the chain without a node, for subscriptions; nil is none.
	copied atomic.Pointer[nodegate.Node]
	proven bool // subscriptions get nothing else

	retries, hedges, opinions budget

	// firsts is for the failures of one node while another one has none: clients are not to see
	// them before it is put aside, however few calls there were.
	firsts budget
	delays [classes]atomic.Int64 // after which a second node is asked
}

// mostTries bounds the setting of how many nodes one call is sent to.
const mostTries = 5

// read asks a node, and others when it lacks something or fails.
func (r *reader) read(ctx context.Context, q *query) ([]byte, error) {
	o, err := r.try(ctx, q)
	return o.result, err
}

// try is read with what came of it, beside the error for the client.
func (r *reader) try(ctx context.Context, q *query) (outcome, error) {
	if q.agree > 1 {
		return r.agreed(ctx, q)
	}
	trace, start := nodegate.TraceFrom(ctx), time.Now()
	deadline := r.begin(ctx, start)
	defer func() { trace.Waited += time.Since(start) }()

	var room [2 * mostTries]*node
	tried := room[:0]
	last, doubted := outcome{verdict: cancelled + 1}, outcome{} // nothing is worse
	for len(tried) < r.tries {
		c := r.nodes.choose(ctx, q, tried)
		if c.node == nil {
			if last.node == nil {
				return outcome{}, noNode(ctx, c)
			}
			break
		}
		if last.node != nil && c.node.allows(q) {
			c.node.figures.Extra(reasons[last.verdict])
		}
		o := r.attempt(ctx, c, q, tried, deadline)
		tried = append(tried, o.node)
		if o.also != nil {
			tried = append(tried, o.also)
		}
		r.weigh(q, &doubted, &o)
		if o.verdict == good {
			r.learn(q, &last, &o)
		}
		if o.verdict < last.verdict || last.node == nil {
			last = o
		}
		if last.verdict == good || !r.again(ctx, q, &o, tried, deadline) {
			break
		}
	}
	r.release(q, &doubted, &last)
	trace.Node = last.node.cfg.Name
	trace.Verified, trace.Agreed = nodegate.LevelNone, 0
	if last.showsHeader(q) {
		trace.Verified, trace.Agreed = nodegate.LevelHeader, 1
	}
	return last, clientError(ctx, &last)
}

// begin counts a call, and says when it must have ended.
func (r *reader) begin(ctx context.Context, start time.Time) time.Time {
	r.retries.earn()
	r.hedges.earn()
	r.opinions.earn()
	deadline := start.Add(r.timeout)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		return d
	}
	return deadline
}

// showsHeader tells whether the answer is a block with a header that hashes to its hash.
func (o *outcome) showsHeader(q *query) bool {
	return o.verdict == good && o.err == nil && o.held.Has(verify.HeaderHash) && q.info.ShowsHeader()
}

// reasons name why another node is asked, for the metrics.
var reasons = [...]string{
	capped: "range", missing: "null", stale: "stale", pruned: "history", lacking: "method", faulty: "error", oversize: "size", limited: "limit", broken: "retry",
	lying: "false", cancelled: "retry",
}

// again tells whether another node is to be asked after an outcome.
func (r *reader) again(ctx context.Context, q *query, o *outcome, tried []*node, deadline time.Time) bool {
	limit := againstLacking
	if o.verdict >= oversize {
		limit = againstAside
	}
	if ctx.Err() != nil || !time.Now().Before(deadline) || !r.nodes.spare(q, tried, limit) {
		return false
	}
	read := q.info.Kind == method.Read
	switch o.verdict {
	case missing:
		// Who has just taken a transaction knows it; nodes that never saw it needn't be asked.
		if q.only != nil && q.info.Answer == method.TransactionAnswer {
			return slices.ContainsFunc(q.only, func(n *node) bool { return !slices.Contains(tried, n) })
		}
		if r.known(q) {
			return read
		}
		return read && len(tried) == 1 && (q.only != nil || r.opinions.spend())
	case capped:
		return read // whether it can be answered at all is what the others say
	case stale, pruned, faulty, oversize:
		return read && r.retries.spend()
	case lacking:
		return r.retries.spend()
	case lying:
		return read
	case limited, broken:
		if !sent(o.err) {
			return true // the node was not even burdened
		}
		return read && (r.retries.spend() || r.nodes.spotless(q, tried) && r.firsts.spend())
	}
	return false
}

// sent tells whether a node may have got the call.
func sent(err error) bool {
	var f *client.Fault
	return !errors.As(err, &f) || f.Sent
}

var (
	errStale   = errors.New("the node lacks a block that it reported")
	errHuge    = errors.New("the node's answer is too large, and another node's is not")
	errTooWide = errors.New("the node allows fewer blocks in one log query")
)

// learn remembers of a node that did not know the answer that another one did.
func (r *reader) learn(q *query, first, second *outcome) {
	if first.node == nil || second.result == nil || string(second.result) == "null" {
		return
	}
	switch first.verdict {
	case stale:
		r.nodes.failed(first.node, errStale)
	case oversize:
		r.nodes.failed(first.node, errHuge)
	case faulty:
		first.node.history.faulted(q.method, time.Now())
		r.nodes.failed(first.node, first.err)
	case missing:
		r.learnHistory(first, second)
	case lacking, pruned:
		first.learnUnsure(q)
	}
}

// learnUnsure remembers what a text says that may have been the caller's: it was the node's, as
// another node has answered. A program can answer on one node and not on another.
func (o *outcome) learnUnsure(q *query) {
	switch history := &o.node.history; {
	case !o.unsure || q.hasProgram():
	case o.verdict == lacking:
		history.without(q.method)
	case q.numbered:
		history.gone(q.info, q.block, o.node.Head.Load())
	}
}

// learnHistory is for a node that said null.
func (r *reader) learnHistory(first, second *outcome) {
	at, ok := hexjson.Quantity(member(second.result, "blockNumber"))
	if !ok {
		at, ok = hexjson.Quantity(member(second.result, "number"))
	}
	if head := first.node.Head.Load(); ok && head > at+longAgo {
		first.node.history.goneBlock(at)
	}
}

// noNode is the error of a call that nobody could be asked for.
func noNode(ctx context.Context, c choice) error {
	if ctx.Err() != nil {
		return nodegate.ErrTimeout("upstream.call", ctx.Err())
	}
	if c.busy > 0 {
		return busy(c.busy)
	}
	return &nodegate.Error{Op: "upstream.call", Code: nodegate.NoNode, Msg: "no node available"}
}

func busy(wait time.Duration) error {
	return &nodegate.Error{Op: "upstream.call", Code: nodegate.Busy, Msg: "server busy", RetryAfter: max(wait, time.Second)}
}

func tooLarge() error {
	return &nodegate.Error{Op: "upstream.call", Code: nodegate.ResponseTooLarge, Msg: "response too large: ask for less at once"}
}

// clientError is what the caller is told of the last outcome: nil with a result.
func clientError(ctx context.Context, o *outcome) error {
	var call *client.CallError
	switch {
	case o.err == nil:
		return nil
	case ctx.Err() != nil:
		return nodegate.ErrTimeout("upstream.call", ctx.Err())
	case o.verdict == limited:
		return busy(o.node.credits.wait(1, time.Now()))
	case errors.As(o.err, &call):
		return callerError(call)
	case o.verdict == oversize:
		return tooLarge()
	case errors.Is(o.err, context.DeadlineExceeded):
		return nodegate.ErrTimeout("upstream.call", context.DeadlineExceeded)
	}
	return &nodegate.Error{
		Op: "upstream.call", Code: nodegate.NoNode, Msg: "no node available",
		Err: errors.New("node " + o.node.cfg.Name + ": " + o.node.clean(o.err)),
	}
}
