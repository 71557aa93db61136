package chain

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/background"
	"github.com/nodegate/nodegate/internal/rpc/chain/guard"
	"github.com/nodegate/nodegate/internal/rpc/chain/lane"
)

// maxTraceBytes bounds the output of a trace. While it grows it takes about four times that
// much memory, so it stays below the largest answer by default.
const maxTraceBytes = 16 << 20

// execute runs a method of go-ethereum's API that executes contracts or proves state, within the limits of
// the native path: a short time among the others, then a seat in the heavy lane, and
// everything within the call timeout. A call whose seat is taken back starts again.
//
// What can't be stopped is answered in time all the same, and keeps its seat until it
// ends: code that neither jumps nor hashes nor calls, and each run of eth_createAccessList.
func (n *Node) execute(ctx context.Context, m *apiMethod, params []byte) (result []byte, err error) {
	call, ended := n.lanes.Call(ctx, time.Now(), n.callTimeout), closed
	if m.stoppable && len(params) < largeParams {
		if result, ended, err = n.lightly(ctx, m, params); !errors.Is(err, lane.ErrAborted) {
			return result, err
		}
	}
	return (&heavyCall{n, m, params, ended}).run(ctx, call)
}

// heavyCall is a call of a method in the heavy lane.
type heavyCall struct {
	n      *Node
	m      *apiMethod
	params []byte
	ended  chan struct{} // closed when its last attempt has ended
}

// run makes attempts until nobody takes the seat back.
func (c *heavyCall) run(ctx context.Context, call *lane.Call) ([]byte, error) {
	for {
		seat, err := call.Enter(ctx, true)
		if err != nil {
			return nil, laneError(err)
		}
		result, err := c.attempt(seat)
		seat.End()
		if !seat.Lost(err) {
			return result, laneError(err)
		}
		select {
		case <-c.ended: // until then it has its seat
		case <-ctx.Done():
			return nil, nodegate.ErrTimeout("chain.call", ctx.Err())
		}
	}
}

// attempt makes one in a seat, once the last one has ended: the same call never runs twice at
// the same time.
func (c *heavyCall) attempt(seat *lane.Seat) ([]byte, error) {
	select {
	case <-c.ended:
	case <-seat.Context.Done():
		seat.Leave()
		return nil, lane.ErrAborted
	}
	ended := make(chan struct{})
	c.ended = ended
	return c.n.guarded(seat.Context, c.m, c.params, guard.New(seat.Deadline, guard.Unlimited), alone, func() {
		seat.Leave()
		close(ended)
	})
}

// closed is the end of an attempt that was never made.
var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// lightly makes an attempt among the others. Only so many are made at once; one that is
// given up counts until it ends.
func (n *Node) lightly(ctx context.Context, m *apiMethod, params []byte) (result []byte, ended chan struct{}, err error) {
	light := n.lanes.Light(ctx)
	places, p := n.briefs, amongOthers
	if light.Brief { // most attempts of this account take all of their time
		places, p.run, p.low = n.lowBriefs, background.TryRun, true
	}
	select {
	case places <- struct{}{}:
	default:
		light.End()
		return nil, closed, lane.ErrAborted
	}
	ended = make(chan struct{})
	ctx, cancel := context.WithTimeout(ctx, light.Limit)
	defer cancel()
	g := guard.New(time.Now().Add(light.Limit), lane.LightWork)
	result, err = n.guarded(ctx, m, params, g, p, func() {
		light.End()
		<-places
		close(ended)
	})
	return result, ended, err
}

// pace is how an attempt runs, and how many bytes it may return.
type pace struct {
	run     func(work func()) bool // false is not now
	largest int
	low     bool // at low priority
}

var (
	amongOthers = pace{func(work func()) bool { work(); return true }, lane.LightResult, false}
	alone       = pace{func(work func()) bool { background.Run(work); return true }, math.MaxInt, true} // in the heavy lane
)

// guarded makes one attempt in a goroutine of its own. When its time is up it is answered
// at once. What go-ethereum answers then is not to be believed, since a stopped execution
// looks like one that ended.
func (n *Node) guarded(ctx context.Context, m *apiMethod, params []byte, g *guard.Guard, p pace, ended func()) ([]byte, error) {
	g.LimitOutput(n.traceBytes, &n.chunks)
	stop := context.AfterFunc(ctx, g.Stop)
	defer stop()
	done := make(chan returned, 1)
	if p.low {
		g.LowPriority()
	}
	go func() {
		defer ended()
		if !p.run(func() { done <- m.run(noDeadline{ctx}, params, g, p.largest) }) {
			done <- returned{err: lane.ErrAborted}
		}
	}()
	var o returned
	select {
	case o = <-done:
	case <-ctx.Done():
		return nil, lane.ErrAborted
	}
	switch {
	case errors.Is(o.err, guard.ErrTooLarge):
		return nil, &nodegate.Error{Op: "chain.call", Code: nodegate.ResponseTooLarge, Msg: "response too large: trace less, or set the tracer's limit"}
	case g.Stopped(), ctx.Err() != nil, errors.Is(o.err, nodegate.Timeout), errors.Is(o.err, lane.ErrAborted):
		return nil, lane.ErrAborted
	}
	return n.settle(o.result, o.err)
}
