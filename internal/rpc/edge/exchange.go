package edge

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
	"github.com/nodegate/nodegate/internal/tracing"
)

// exchange is one body and its answer. It is pooled: its buffers are reused.
type exchange struct {
	body   []byte
	scan   jsonrpc.Body
	calls  []pricedCall
	answer []byte
	after  []func()         // what begins once the answer is sent
	traces []nodegate.Trace // of each call, where the network's layers tell
	ahead  []executed       // of calls of a batch that ran before their turn
	took   time.Duration    // by the calls
	ended  time.Time        // when they were over; zero if there was none
	failed int              // calls that were answered with an error
	cost   int64            // credits of all calls together

	id      string        // as the client has it; "" until somebody needs it
	span    *tracing.Span // nil if the request is not traced
	edge    *Edge
	network *network
	grant   *nodegate.Grant
	socket  *socket // nil on HTTP
	share   *share  // whose calls it is one of; nil on a socket, which counts its own

	memory memory // that it holds
}

// keepBuffer is the largest buffer worth keeping for the next request.
const keepBuffer = 64 << 10

func (e *Edge) newExchange(n *network, g *nodegate.Grant, s *socket) *exchange {
	x := e.bodies.Get().(*exchange)
	x.edge, x.network, x.grant, x.socket = e, n, g, s
	x.memory.hold = e.cfg.Memory.Hold(g.AccountID)
	return x
}

func (x *exchange) release() {
	e := x.edge
	if cap(x.body) > keepBuffer {
		x.body = nil
	}
	if cap(x.answer) > keepBuffer {
		x.answer = nil
	}
	x.body, x.answer, x.after = x.body[:0], x.answer[:0], nil
	clear(x.calls)
	x.calls = x.calls[:0]
	clear(x.ahead)
	x.ahead, x.traces, x.took, x.ended, x.failed, x.cost = x.ahead[:0], x.traces[:0], 0, time.Time{}, 0, 0
	x.id, x.span, x.edge, x.network, x.grant, x.socket, x.share = "", nil, nil, nil, nil, nil, nil
	x.memory.release()
	e.bodies.Put(x)
}

// respond reads the body and writes the whole answer to the end of x.answer; nothing
// is added when there is nothing to say. The error is that of a single call, or of
// a body that was not admitted, and decides the HTTP status; it stands in the
// answer already.
func (x *exchange) respond(ctx context.Context) error {
	x.edge.bodyPace.whole(x)
	fault, err := x.scanBody(ctx)
	if err != nil {
		return x.refused(err)
	}
	if err := x.edge.bodyPace.pace(ctx, x, fault); err != nil {
		return x.refused(err)
	}
	if fault != nil {
		return x.unreadable(ctx, fault)
	}
	if x.socket != nil {
		if err := x.socket.welcome(ctx); err != nil {
			x.notAdmitted(err)
			return err
		}
	}
	if err := x.memory.holdParams(x.body); err != nil {
		return x.refused(err)
	}
	_, step := x.span.Step(ctx, "limits")
	err = x.admit(ctx)
	step.End(err)
	if err != nil {
		x.notAdmitted(err)
		return err
	}
	defer x.leave()
	if x.network.Traced {
		x.traces = append(x.traces[:0], make([]nodegate.Trace, len(x.scan.Requests))...)
	}
	if x.scan.Batch {
		start := time.Now()
		x.batch(ctx)
		x.took = time.Since(start)
		x.ended = start.Add(x.took)
		return nil
	}
	return x.one(ctx, 0)
}

// unreadable answers a body that is not JSON-RPC.
func (x *exchange) unreadable(ctx context.Context, fault *jsonrpc.Fault) error {
	x.failed = 1
	refusal := &nodegate.Error{Op: "edge.scan", Code: nodegate.InvalidRequest, Msg: fault.Message}
	if err := x.edge.fine(ctx, x.network, x.grant, x.id, refusal); !errors.Is(err, nodegate.InvalidRequest) {
		x.answer = x.edge.appendError(x.answer, nil, err)
		return err
	}
	x.answer = jsonrpc.AppendError(x.answer, nil, fault.Code, fault.Message, nil)
	return nil
}

// notAdmitted answers a body that is not executed: one error object, whatever it holds.
func (x *exchange) notAdmitted(err error) {
	x.failed = 1
	var id []byte
	if !x.scan.Batch && len(x.scan.Requests) > 0 { // there is none if the body is no JSON
		id = x.scan.Requests[0].ID
	}
	if id == nil && !x.scan.Batch && x.socket != nil && len(x.scan.Requests) > 0 {
		return // a notification has nobody to tell, and a socket no status
	}
	x.answer = x.edge.appendError(x.answer, id, err)
}

// batch answers each element in order. Past the limit of the whole answer the
// rest is refused, but notifications are still executed.
func (x *exchange) batch(ctx context.Context) {
	start := len(x.answer)
	x.answer = append(x.answer, '[')
	if x.network.Parallel > 1 {
		x.ahead = append(x.ahead[:0], make([]executed, len(x.scan.Requests))...)
	}
	for i := range x.scan.Requests {
		before := len(x.answer)
		if before > start+1 {
			x.answer = append(x.answer, ',')
		}
		mark := len(x.answer)
		req := &x.scan.Requests[i]
		if before-start > x.edge.cfg.ResponseBytes && req.ID != nil {
			x.failed++
			x.answer = x.edge.appendError(x.answer, req.ID, errResponseTooLarge)
			x.record(i, &executed{err: errResponseTooLarge}, x.calls[i].paid+paidAhead(x, i), x.answer[mark:])
			continue
		}
		if len(x.ahead) > 0 && !x.ahead[i].done {
			x.runAhead(ctx, i)
		}
		_ = x.one(ctx, i) // each element has its own outcome; the status stays 200
		if len(x.answer) == mark {
			x.answer = x.answer[:before]
		}
	}
	if len(x.answer) == start+1 {
		x.answer = x.answer[:start] // nothing but notifications
		return
	}
	x.answer = append(x.answer, ']')
}

var errResponseTooLarge = &nodegate.Error{Op: "edge.batch", Code: nodegate.ResponseTooLarge, Msg: "response too large"}

// one executes a request, appends its answer and settles the bill.
func (x *exchange) one(ctx context.Context, i int) error {
	req, c, mark := &x.scan.Requests[i], &x.calls[i], len(x.answer)
	if req.Err != nil {
		x.failed++
		if req.ID != nil { // a notification with bad params has nobody to tell
			x.answer = jsonrpc.AppendError(x.answer, req.ID, req.Err.Code, req.Err.Message, nil)
		}
		x.record(i, &executed{err: errNotARequest, told: req.Err.Message}, c.paid, x.answer[mark:])
		return nil
	}
	var o executed
	if len(x.ahead) > 0 && x.ahead[i].done {
		o = x.ahead[i]
		x.ahead[i].result = nil // from here on it is a part of the answer
	} else {
		o = x.execute(ctx, i)
	}
	if o.err != nil {
		x.failed++
	}
	x.took, x.ended = o.took, o.begun.Add(o.took)
	answered := x.append(ctx, req, c.method.name, &o)
	x.record(i, &o, x.settle(c, o.billed())+o.more, x.answer[mark:])
	return answered
}

// executed is what came of a call.
type executed struct {
	result []byte
	err    error
	told   string // what the client sees of err, once it is answered
	begun  time.Time
	took   time.Duration
	done   bool

	dropped bool  // the account had no memory for the result, or no credits
	more    int64 // credits that it paid beyond the price of the call
}

// execute runs a request and counts it. It touches nothing of the exchange but what
// belongs to this request, so that several may run at once.
func (x *exchange) execute(ctx context.Context, i int) (o executed) {
	req, c := &x.scan.Requests[i], &x.calls[i]
	o.err, o.begun, o.done = c.refused, time.Now(), true
	var span *tracing.Span
	if x.span != nil && i < tracedCalls {
		ctx, span = beginCall(ctx, x, i)
	}
	if o.err == nil {
		if len(x.traces) > 0 {
			ctx = nodegate.WithTrace(ctx, &x.traces[i])
		}
		if c.method.draws && len(x.traces) > 0 {
			var d *drawing
			o.result, d, o.err = callDrawing(ctx, x, i)
			o.dropped, o.more = d.dropped, d.paid
		} else {
			o.result, o.err = x.call(ctx, c.method.name, req.Params)
		}
	}
	if len(o.result) > x.edge.cfg.ResponseBytes {
		o.result, o.err = nil, errResponseTooLarge
	}
	if err := x.memory.holdResult(o.result, x.scan.Batch); err != nil {
		o.result, o.err, o.dropped = nil, err, true
	}
	o.took = time.Since(o.begun)
	if span != nil {
		endCall(span, x, i, &o)
	} else {
		c.method.metrics.Done(o.err, o.took)
	}
	if len(x.traces) > 0 {
		c.method.metrics.Cached(x.traces[i].Cache)
		if t := &x.traces[i]; o.err == nil && (t.Node != "" || t.Cache != nodegate.CacheNone) {
			c.method.metrics.Verified(t.Verified)
		}
	}
	return o
}

var errNotARequest = &nodegate.Error{Op: "edge", Code: nodegate.InvalidRequest}

// append writes the answer of a call. The error is what the client sees.
func (x *exchange) append(ctx context.Context, req *jsonrpc.Request, method string, o *executed) error {
	defer x.memory.dropResult(o.result, x.scan.Batch)
	if req.ID != nil && o.err == nil {
		if o.err = x.makeRoom(len(o.result) + len(req.ID) + envelopeRoom); o.err != nil {
			o.dropped = true
			x.failed++
		}
	}
	switch {
	case req.ID == nil: // a notification is executed and not answered
		if o.err != nil && nodegate.AsError(o.err).Code == nodegate.Internal {
			x.edge.cfg.Log.Error("internal error", "method", method, "err", o.err)
		}
	case o.err != nil:
		x.answer, o.told = x.edge.appendFault(x.answer, req.ID, o.err)
		return o.err
	default:
		x.appendResult(ctx, req.ID, o.result)
	}
	return nil
}

// call runs a method. A panic below is this request's error and nobody else's.
func (x *exchange) call(ctx context.Context, name string, params []byte) (result []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &nodegate.Error{Op: "edge.call", Code: nodegate.Internal, Err: fmt.Errorf("panic in %s: %v\n%s", name, p, debug.Stack())}
		}
	}()
	switch name {
	case method.EthSubscribe:
		return x.subscribe(params)
	case method.EthUnsubscribe:
		return x.unsubscribe(params)
	}
	return x.network.Node.Call(ctx, name, params)
}
