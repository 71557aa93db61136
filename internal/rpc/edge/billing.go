package edge

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/ratelimit"
	"github.com/nodegate/nodegate/internal/accounts/requestlog"
	"github.com/nodegate/nodegate/internal/accounts/usage"
	"github.com/nodegate/nodegate/internal/method/permit"
	"github.com/nodegate/nodegate/internal/obs"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
	"github.com/nodegate/nodegate/internal/web"
)

// pricedCall is one request of a body with what it costs, before anything ran.
type pricedCall struct {
	method  methodEntry
	paid    int64
	refused error // by the key's allowlists
}

// price works out what each request of the body costs, and the sum.
func (x *exchange) price() (total int64) {
	x.calls = x.calls[:0]
	settings := &x.grant.Policy().Settings
	for i := range x.scan.Requests {
		c := x.network.priceOf(settings, &x.scan.Requests[i])
		total += c.paid
		x.calls = append(x.calls, c)
	}
	return total
}

// priceOf is a request with what it costs here.
func (n *network) priceOf(settings *nodegate.KeySettings, req *jsonrpc.Request) pricedCall {
	refused := n.costs.Refused
	if req.Err != nil {
		return pricedCall{method: methodEntry{name: obs.Other, counted: obs.Other, metrics: n.other}, paid: refused}
	}
	m := n.method(req.Method)
	if err := permit.Call(settings, m.rule, req.Params); err != nil {
		return pricedCall{method: m, paid: refused, refused: err}
	}
	return pricedCall{method: m, paid: m.cost}
}

// admit lets the whole body in or nothing of it: as one of its account's calls, and paid.
func (x *exchange) admit(ctx context.Context) error {
	total := x.price()
	err := x.enter(ctx)
	if err == nil {
		if err = x.pay(ctx, total); err == nil {
			return nil
		}
		x.leave()
	}
	x.edge.cfg.Metrics.Refused(nodegate.AsError(err).Code)
	x.recordRefused(err)
	return err
}

// enter counts a body that came over HTTP. A socket has counted its message before.
func (x *exchange) enter(ctx context.Context) error {
	if x.socket != nil {
		return nil
	}
	s := x.edge.shares.of(x.grant)
	if err := s.enter(ctx); err != nil {
		return err
	}
	x.share = s
	return nil
}

func (x *exchange) leave() {
	if x.share != nil {
		x.share.leave()
		x.share = nil
	}
}

func (x *exchange) pay(ctx context.Context, total int64) error {
	err := x.edge.cfg.Limiter.Admit(ctx, x.grant, total)
	if err == nil {
		return nil
	}
	if e := nodegate.AsError(err); e.Code == nodegate.InvalidRequest && x.scan.Batch {
		return x.tooDear(total, e)
	}
	return err
}

// recordRefused counts each call of a body that was not admitted, under its own method,
// as if it had been called and failed: what was refused is what its owner looks for.
func (x *exchange) recordRefused(err error) {
	o := executed{err: err, told: requestlog.Told(err), begun: time.Now()}
	for i := range x.calls {
		x.record(i, &o, 0, nil)
	}
}

// tooDear says how many of such requests fit into a full bucket.
func (x *exchange) tooDear(total int64, e *nodegate.Error) error {
	fits, sum := 0, int64(0)
	bucket := ratelimit.Largest(x.grant.Policy())
	for _, c := range x.calls {
		if sum += c.paid; sum > bucket {
			break
		}
		fits++
	}
	return &nodegate.Error{
		Op: e.Op, Code: nodegate.InvalidRequest, Err: e.Err,
		Msg: fmt.Sprintf("batch too large: it costs %d credits and at most %d can be spent at once; its first %d requests fit", total, bucket, fits),
	}
}

// settle corrects what a call has paid once its outcome is known: failures of the
// service are free, and a method that doesn't exist has its own price.
func (x *exchange) settle(c *pricedCall, err error) (credits int64) {
	due := c.paid
	switch code := codeOf(err); {
	case c.refused != nil: // the price of a refusal, whatever was called
	case err != nil && free(code):
		due = 0
	case err != nil && code == nodegate.MethodNotFound:
		due = x.network.costs.Unknown
	case c.method.counted == obs.Other:
		due = x.network.costs.Of(c.method.rule, true)
	}
	if due < c.paid {
		x.edge.cfg.Limiter.Refund(x.grant, c.paid-due)
	}
	if due > c.paid {
		x.edge.cfg.Limiter.Charge(x.grant, due-c.paid)
	}
	return due
}

// free tells whether a failure costs nothing: it is the service's own (5xx), or the account
// has used what it may (429, 402).
func free(code nodegate.Code) bool {
	status := web.Status(code)
	return status >= http.StatusInternalServerError || status == http.StatusTooManyRequests || status == http.StatusPaymentRequired
}

func codeOf(err error) nodegate.Code {
	if err == nil {
		return 0
	}
	return nodegate.AsError(err).Code
}

// record counts one request of the body and adds it to the key's request log.
func (x *exchange) record(i int, o *executed, credits int64, out []byte) {
	outcome := nodegate.OutcomeOK
	if o.err != nil {
		outcome = nodegate.AsError(o.err).Code.String()
	}
	x.cost += credits
	in := 0
	if i == 0 {
		in = len(x.body) // a batch's bytes are counted with its first request
	}
	x.edge.cfg.Usage.Record(x.grant, usage.Event{
		Network: x.network.Name, Method: x.calls[i].method.counted, Outcome: outcome,
		Credits: credits, BytesIn: int64(in), BytesOut: int64(len(out)), Took: o.took,
	})
	if x.edge.cfg.RequestLog != nil {
		x.remember(i, o, outcome, credits, out)
	}
}

func (x *exchange) remember(i int, o *executed, outcome string, credits int64, out []byte) {
	if x.id == "" { // a message of a WebSocket has none
		x.id = x.edge.ids.New()
	}
	e := requestlog.Entry{
		ID: x.id, Place: i, Reply: out,
		At: o.begun, Network: x.network.Name, Method: x.calls[i].method.shown(), Outcome: outcome,
		Took: o.took, Credits: credits, Params: x.scan.Requests[i].Params,
	}
	if len(x.traces) > 0 {
		t := &x.traces[i]
		e.Node, e.Cache, e.Level, e.Waited = t.Node, t.Cache, t.Verified, t.Waited
	}
	if o.err != nil {
		e.Error, e.Number = o.told, number(nodegate.AsError(o.err))
		if e.Error == "" {
			e.Error = requestlog.Told(o.err)
		}
	}
	x.edge.cfg.RequestLog.Record(x.grant, &e)
}

// fine charges a request that is refused before its calls are looked at, and returns the
// error to answer. The key is known, so it pays as for a call: an account that can't pay is
// refused for that instead, so that floods of bad requests meet its limits. 429, 402 and
// the service's own failures are free.
func (e *Edge) fine(ctx context.Context, n *network, grant *nodegate.Grant, id string, err error) error {
	if grant == nil {
		return err
	}
	credits := n.costs.Refused
	if free(nodegate.AsError(err).Code) {
		credits = 0
	} else if limit := e.cfg.Limiter.Admit(ctx, grant, credits); limit != nil {
		e.cfg.Metrics.Refused(nodegate.AsError(limit).Code)
		err, credits = limit, 0
	}
	e.recordOther(n, grant, id, err, credits)
	return err
}

// recordOther counts a request without calls.
func (e *Edge) recordOther(n *network, grant *nodegate.Grant, id string, err error, credits int64) {
	code := nodegate.AsError(err).Code
	e.cfg.Usage.Record(grant, usage.Event{Network: n.Name, Method: obs.Other, Outcome: code.String(), Credits: credits})
	if e.cfg.RequestLog == nil {
		return
	}
	if id == "" {
		id = e.ids.New()
	}
	e.cfg.RequestLog.Record(grant, &requestlog.Entry{
		ID: id, Network: n.Name, Method: obs.Other, Outcome: code.String(), Error: requestlog.Told(err), Number: number(nodegate.AsError(err)), Credits: credits,
	})
}
