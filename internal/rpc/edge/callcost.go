package edge

import (
	"context"
	"fmt"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
)

// draws tells whether a method may take more of its account while it is executed: memory for
// what grows, and credits for the proofs that it needs.
func draws(name string) bool {
	row := method.Of(name)
	switch row.Answer {
	case method.LogsAnswer, method.ReturnAnswer, method.GasAnswer:
		return true
	}
	return row.Part == method.SlotsPart
}

// drawing is what such a call takes. It is apart from what came of the call, which would else
// be on the heap for every other one too.
type drawing struct {
	x       *exchange
	ctx     context.Context
	held    int64 // bytes
	paid    int64 // credits
	dropped bool  // the account had no more
}

// callDrawing executes such a call. The memory is given back when the call has returned: its
// result is reserved as any other. The credits are not, since the work was done.
func callDrawing(ctx context.Context, x *exchange, i int) (result []byte, d *drawing, err error) {
	d = &drawing{x: x, ctx: ctx}
	trace := &x.traces[i]
	trace.Hold, trace.Pay = d.hold, d.pay
	defer func() {
		trace.Hold, trace.Pay = nil, nil
		x.memory.hold.Shrink(d.held)
	}()
	result, err = x.call(ctx, x.calls[i].method.name, x.scan.Requests[i].Params)
	d.dropped = d.dropped && err != nil
	return result, d, err
}

func (d *drawing) hold(bytes int64) error {
	if err := d.x.memory.hold.Grow(bytes); err != nil {
		d.dropped = true
		return err
	}
	d.held += bytes
	return nil
}

func (d *drawing) pay(name string, calls int) error {
	credits := int64(calls) * d.x.network.costs.Of(name, true)
	if err := payMore(d.ctx, d.x, name, calls, credits); err != nil {
		d.dropped = true
		return err
	}
	d.paid += credits
	return nil
}

// paidAhead is what a call of a batch that has run before its turn paid beyond its price.
func paidAhead(x *exchange, i int) int64 {
	if len(x.ahead) == 0 {
		return 0
	}
	return x.ahead[i].more
}

// payMore pays for calls to nodes that the price of a call doesn't include.
func payMore(ctx context.Context, x *exchange, name string, calls int, credits int64) error {
	err := x.edge.cfg.Limiter.Admit(ctx, x.grant, credits)
	if err == nil {
		return nil
	}
	e := *nodegate.AsError(err)
	x.edge.cfg.Metrics.Refused(e.Code)
	e.Msg = fmt.Sprintf("%s; this call needs %d more %s from nodes, which cost %d credits. Split it into smaller calls", e.Msg, calls, name, credits)
	return &e
}

// billed is the error that decides what a call costs. One that ended because its account has
// no more memory or credits was worked for, so it costs what any call does; else an account
// could have work done for nothing.
func (o *executed) billed() error {
	if !o.dropped {
		return o.err
	}
	switch nodegate.AsError(o.err).Code {
	case nodegate.AccountBusy, nodegate.RateLimited, nodegate.CreditsSpent:
		return nil
	}
	return o.err
}
