package proven

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/fairshare"
)

// flights are the calls to nodes that are in progress. Who asks for the same waits for the
// one that is: everybody asks for the newest block.
type flights struct {
	places *fairshare.Pool // of accounts
	mu     sync.Mutex
	all    map[string]*flight
}

// What one account may have of calls to nodes for proofs and code: those in progress, and those
// that wait for that. Credits don't bound an account whose plan has no limit.
const (
	maxFetches = 32
	maxWaiting = 16 * maxFetches
)

func newFlights() flights {
	return flights{places: fairshare.New(0, maxFetches).LimitWaiting(0, maxWaiting), all: map[string]*flight{}}
}

var errFetches = &nodegate.Error{
	Op: "proven.wait", Code: nodegate.AccountBusy, RetryAfter: time.Second,
	Msg: fmt.Sprintf("nodegate fetches at most %d proofs for an account at the same time, and this call waited too long for its turn. Send fewer calls at once, or split them into smaller ones", maxFetches),
}

type flight struct {
	done   chan struct{} // closed when the fields below are written
	result any
	err    error
}

// do makes a call, or waits for the same call of somebody else. If that one was given up by
// its caller, the call is made again.
//
// Returns AccountBusy if the caller's account has too many of them.
func (f *flights) do(ctx context.Context, name string, w *work, call func() (any, error)) (any, error) {
	account := nodegate.GrantFrom(ctx).AccountID
	if f.places.Acquire(ctx, account) != nil {
		return nil, errFetches
	}
	defer f.places.Release(account)
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
