package proven

import (
	"context"
	"errors"
	"sync"

	"github.com/nodegate/nodegate"
)

// flights are the calls to nodes that are in progress. Who asks for the same waits for the
// one that is: everybody asks for the newest block.
type flights struct {
	mu  sync.Mutex
	all map[string]*flight
}

type flight struct {
	done   chan struct{} // closed when the fields below are written
	result any
	err    error
}

// do makes a call, or waits for the same call of somebody else. If that one was given up by
// its caller, the call is made again.
func (f *flights) do(ctx context.Context, name string, w *work, call func() (any, error)) (any, error) {
	for {
		one, mine := f.board(name)
		if mine {
			f.fly(name, one, call)
			return one.result, one.err
		}
		select {
		case <-one.done:
		case <-ctx.Done():
			return nil, nodegate.ErrTimeout("proven.wait", ctx.Err())
		}
		if !errors.Is(one.err, nodegate.Timeout) || ctx.Err() != nil {
			w.join()
			return one.result, one.err
		}
	}
}

func (f *flights) board(name string) (one *flight, mine bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if one = f.all[name]; one != nil {
		return one, false
	}
	one = &flight{done: make(chan struct{}), err: &nodegate.Error{Op: "proven.call", Code: nodegate.Internal, Err: errors.New("the call ended without an answer")}}
	if f.all == nil {
		f.all = map[string]*flight{}
	}
	f.all[name] = one
	return one, true
}

func (f *flights) fly(name string, one *flight, call func() (any, error)) {
	defer func() {
		f.mu.Lock()
		delete(f.all, name)
		f.mu.Unlock()
		close(one.done)
	}()
	one.result, one.err = call()
}
