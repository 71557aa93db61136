package edge

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/nodegate/nodegate/internal/method"
)

// windowCalls bounds how many answers of a batch wait for their turn.
const windowCalls = 64

// runAhead executes the calls of a batch from one on beside each other, where that
// is allowed. Each begins after those before it have begun, and none begins once
// the answers that wait pass the limit of the whole one: those left over have
// their own turn later.
func (x *exchange) runAhead(ctx context.Context, from int) {
	end := x.window(from)
	workers := min(x.network.Parallel, end-from)
	if workers < 2 {
		return // it runs when it is its turn
	}
	var next, waiting atomic.Int64
	next.Store(int64(from))
	work := func() {
		for waiting.Load() <= int64(x.edge.cfg.ResponseBytes) {
			i := int(next.Add(1)) - 1
			if i >= end {
				return
			}
			if x.scan.Requests[i].Err == nil {
				x.ahead[i] = x.execute(ctx, i)
				waiting.Add(int64(len(x.ahead[i].result)))
			}
		}
	}
	var others sync.WaitGroup
	for range workers - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
}

// window is where the calls that may run together with the one at from end.
func (x *exchange) window(from int) int {
	end := from
	for end < len(x.calls) && end-from < windowCalls && !method.InTurn(x.calls[end].method.name) {
		end++
	}
	return end
}
