package pool

import (
	"context"
	"errors"
	"time"

	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/upstream/client"
	"github.com/nodegate/nodegate/internal/rpc/upstream/heads"
	"github.com/nodegate/nodegate/internal/rpc/upstream/verify"
	"github.com/nodegate/nodegate/internal/tracing"
)

// asker asks nodes one thing at a time and notes how they did.
type asker struct {
	nodes   *nodeSet
	judge   judge
	timeout time.Duration
	cost    func(method string) int64 // credits of a call
	speeds  [classes]speeds
	checker *verify.Checker
}

// ask asks one node, and notes how it did.
func (a *asker) ask(ctx context.Context, n *node, q *query) outcome {
	start := time.Now()
	n.spend(q.cost, start)
	var span *tracing.Span
	if q.spans {
		ctx, span = tracing.Client(ctx, "node "+n.cfg.Name)
	}
	n.inFlight.Add(1)
	result, err := n.call(ctx, q, span)
	n.inFlight.Add(-1)
	took := time.Since(start)
	o := outcome{node: n, result: result, err: err}
	o.verdict = a.judge.of(n, q, &o)
	a.check(ctx, n, q, &o)
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		o.verdict = cancelled
	}
	label := a.note(q, &o, start, took)
	n.figures.Done(q.info.NodeLabel(), label, took, span.TraceID())
	if span != nil {
		span.Set("nodegate.node", n.cfg.Name)
		span.Set("rpc.method", q.info.NodeLabel())
		span.Outcome(label, label == "ok" || label == "cancelled")
	}
	if o.verdict == good && o.err == nil {
		a.keepUp(ctx, n, q, &o)
	}
	return o
}

// call sends a query. A read may be sent again on another connection.
func (n *node) call(ctx context.Context, q *query, span *tracing.Span) ([]byte, error) {
	conn := n.conn
	if span != nil && n.cfg.Traceparent {
		conn = naming(conn, span.Traceparent())
	}
	if q.info.Kind == method.Read {
		return conn.CallSafe(ctx, q.method, q.params)
	}
	return conn.Call(ctx, q.method, q.params)
}

// naming is a way to a node that tells it which trace a call is a part of. WebSockets have no
// place for that.
func naming(conn caller, traceparent string) caller {
	if c, ok := conn.(*client.Client); ok {
		return c.Naming(traceparent)
	}
	return conn
}

// note draws the conclusions about the node. label is what the request counts as.
func (a *asker) note(q *query, o *outcome, start time.Time, took time.Duration) (label string) {
	n := o.node
	label = "ok"
	switch o.verdict {
	case cancelled:
		label = "cancelled"
		if float64(took) > n.slow.value() { // it would have taken longer still
			n.slow.add(float64(took), slowWeight)
		}
	case broken:
		label = "fault"
		switch late := errors.Is(o.err, context.DeadlineExceeded); {
		case late && took < shortRest:
			n.slow.add(float64(took), slowWeight) // it was given little time
		case late && n.answeredSince(start):
			n.noteFailure(o.err) // it is there: this one call was lost
		default:
			a.nodes.failed(n, o.err)
		}
	case limited:
		label = "limited"
		a.rest(n, o.err)
	case faulty, capped:
		label = "error" // a quick failure is no quick answer; what another node says decides the rest
	case lying:
		label = "fault" // what becomes of the node is decided with what another one says
		n.slow.add(float64(took), slowWeight)
	case stale, oversize:
		label = "error"
		n.slow.add(float64(took), slowWeight) // good or bad? What another node says will tell
	default:
		if o.err != nil {
			label = "error"
		}
		n.noteSuccess(start, took)
		n.history.works(q.method)
		a.speeds[q.class].add(took)
	}
	return label
}

// rest leaves a node alone that asked for it.
func (a *asker) rest(n *node, err error) {
	if errors.Is(err, client.ErrBusy) {
		return // it has not said so; we have too much for it
	}
	var d time.Duration
	var f *client.Fault
	if errors.As(err, &f) {
		d = f.RetryAfter
	}
	n.credits.rest(d, time.Now())
	n.setWhy("rate limited by the node")
}

// look asks a node something for ourselves. It costs credits and is never refused.
func (a *asker) look(ctx context.Context, n *node, name, params string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, min(lookTimeout, a.timeout))
	defer cancel()
	start := time.Now()
	n.spend(a.cost(name), start)
	var raw []byte
	if params != "" {
		raw = []byte(params)
	}
	n.inFlight.Add(1)
	result, err := n.conn.CallSafe(ctx, name, raw)
	n.inFlight.Add(-1)
	took, label := time.Since(start), "ok"
	switch {
	case err == nil:
		n.slow.add(float64(took), slowWeight)
		n.failing.blend(0, failingWeight)
	case refused(err):
		label = "error"
	default:
		label = "fault"
	}
	n.figures.Done(method.Of(name).NodeLabel(), label, took, "")
	return result, err
}

// refused tells whether the node itself answered with an error.
func refused(err error) bool {
	var call *client.CallError
	return errors.As(err, &call)
}

var errRemoved = errors.New("the node was removed")

// lookAt asks a node that the tracker of heads means for a block.
func (a *asker) lookAt(ctx context.Context, followed *heads.Node, name, params string) ([]byte, error) {
	n := a.nodes.find(followed)
	if n == nil {
		return nil, errRemoved
	}
	raw, err := a.look(ctx, n, name, params)
	if err != nil || string(raw) == "null" {
		return raw, err
	}
	return raw, a.vouch(n, name, raw)
}
