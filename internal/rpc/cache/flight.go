package cache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/nodegate/nodegate"
)

// call is one call that the memory could not answer.
type call struct {
	key    uint64
	name   string
	params []byte // the caller's, until a flight copies them
	plan   plan
	why    string // it missed
}

// stamp is what a caller may already know: a call that began under another one may
// have seen less, and must not answer this one.
type stamp struct {
	head, fork uint64
	sent       uint64 // transactions sent through here
}

// flight is one call to the node, with everybody who waits for it.
type flight struct {
	call
	stamp
	account string // that it is made for
	cancel  context.CancelFunc
	waiting int           // guarded by Cache.mu; nobody left ends the call
	done    chan struct{} // closed when the fields below are written

	result []byte
	err    error
	reason string // why the answer was not kept
	second bool   // the second level had it
	trace  nodegate.Trace
}

// mostJoins is how many calls of others one call waits for. The last time, its own account asks.
const mostJoins = 2

// ask joins an identical call that is in progress, or begins one. Each caller waits as
// long as its own context lasts. If the node refused the account that began the call, other
// accounts ask again.
func (c *Cache) ask(ctx context.Context, trace *nodegate.Trace, asked call) ([]byte, error) {
	account := nodegate.GrantFrom(ctx).AccountID
	for joins := 0; ; joins++ {
		f, joined := c.board(ctx, asked, trace.Spans, joins < mostJoins)
		begin := time.Now()
		select {
		case <-f.done:
		case <-ctx.Done():
			c.leave(f)
			trace.Cache, trace.Reason = nodegate.CacheMiss, asked.why
			trace.Waited += time.Since(begin)
			return nil, nodegate.ErrTimeout("cache.wait", context.Cause(ctx))
		}
		if joined && f.account != account && refusesAccount(f.err) {
			trace.Waited += time.Since(begin)
			continue
		}
		f.tell(trace, joined, time.Since(begin))
		return f.result, f.err
	}
}

// refusesAccount tells whether an error is about the account that a call was made for, or about
// the end of its request, so that another account may get an answer.
func refusesAccount(err error) bool {
	if err == nil {
		return false
	}
	switch nodegate.AsError(err).Code {
	case nodegate.AccountBusy, nodegate.RateLimited, nodegate.CreditsSpent, nodegate.QuotaReached, nodegate.Forbidden:
		return true
	}
	return errors.Is(err, context.Canceled)
}

// tell writes into a caller's trace what the flight did.
func (f *flight) tell(trace *nodegate.Trace, joined bool, waited time.Duration) {
	trace.Node, trace.Verified, trace.Agreed = f.trace.Node, f.trace.Verified, f.trace.Agreed
	switch {
	case joined:
		trace.Cache, trace.Reason = nodegate.CacheShared, ""
		trace.Waited += waited
	case f.second:
		trace.Cache, trace.Reason = nodegate.CacheHit, ""
	default:
		trace.Cache, trace.Reason = nodegate.CacheMiss, f.why
		if f.reason != "" {
			trace.Reason = f.reason
		}
		trace.Waited += f.trace.Waited
	}
}

// board joins a flight in progress if it may, or begins one that others can join.
func (c *Cache) board(ctx context.Context, asked call, spans, mayJoin bool) (f *flight, joined bool) {
	now := stamp{asked.plan.head.Number, asked.plan.head.Fork, c.sent.Load()}
	c.mu.Lock()
	defer c.mu.Unlock()
	if f = c.flights[asked.key]; mayJoin && f != nil && f.stamp == now && f.name == asked.name && bytes.Equal(f.params, asked.params) {
		f.waiting++
		return f, true
	}
	asked.params = bytes.Clone(asked.params) // the flight may outlive its first caller
	f = &flight{call: asked, stamp: now, account: nodegate.GrantFrom(ctx).AccountID, waiting: 1, done: make(chan struct{}), trace: nodegate.Trace{Spans: spans}}
	ctx, f.cancel = context.WithCancel(nodegate.WithTrace(context.WithoutCancel(ctx), &f.trace))
	c.flights[asked.key] = f
	go c.fly(ctx, f)
	return f, false
}

// leave is for a caller that waits no longer. The last one ends the call.
func (c *Cache) leave(f *flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.waiting--; f.waiting == 0 {
		f.cancel()
		c.forget(f)
	}
}

// forget lets nobody else join; the lock is held.
func (c *Cache) forget(f *flight) {
	if c.flights[f.key] == f { // a later one may have taken its place
		delete(c.flights, f.key)
	}
}

// fly makes the call and hands the answer to all who wait.
func (c *Cache) fly(ctx context.Context, f *flight) {
	f.err = &nodegate.Error{Op: "cache.call", Code: nodegate.Internal, Err: errors.New("the call ended without an answer")}
	defer func() {
		if p := recover(); p != nil {
			f.result = nil
			f.err = &nodegate.Error{Op: "cache.call", Code: nodegate.Internal, Err: fmt.Errorf("panic in %s: %v\n%s", f.name, p, debug.Stack())}
		}
		c.mu.Lock()
		c.forget(f)
		c.mu.Unlock()
		close(f.done)
		f.cancel()
	}()
	if f.result, f.second = c.second.get(ctx, c, f); f.second {
		f.err = nil
		_ = c.keep(f, f.result)
		return
	}
	f.result, f.err = c.next.Call(ctx, f.name, f.params)
	if f.err != nil {
		f.reason = nodegate.AsError(f.err).Code.String()
		return
	}
	if f.reason = c.keep(f, f.result); f.reason == "" || f.reason == tooLarge {
		c.second.put(c, f)
	}
}
