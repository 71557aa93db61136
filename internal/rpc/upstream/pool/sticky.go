package pool

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
	"github.com/nodegate/nodegate/internal/rpc/upstream/client"
)

// The bounds of filters.
const (
	maxFilters = 10_000
	filterIdle = 5 * time.Minute
)

// filters are those that nodes keep for clients. Clients know them by ids of ours:
// two nodes may give out the same one.
type filters struct {
	nodes   *nodeSet
	ask     *asker
	timeout time.Duration
	tries   int // nodes that are asked to make one filter

	mu   sync.Mutex
	byID map[string]*filter
}

type filter struct {
	node   *node
	theirs []byte // the node's id, a JSON token
	used   time.Time
}

// call answers the methods of filters: a filter belongs to the node that made it.
func (f *filters) call(ctx context.Context, q *query) ([]byte, error) {
	if q.info.NewFilter {
		return f.create(ctx, q)
	}
	var room [2][]byte
	list, ok := jsonrpc.Elements(room[:0], q.params)
	if !ok || len(list) == 0 {
		return nil, &nodegate.Error{Op: "upstream.filter", Code: nodegate.InvalidParams, Msg: "missing value for required argument 0"}
	}
	id, _ := jsonrpc.String(list[0])
	one := f.find(string(id), time.Now())
	if one == nil || one.node.cordoned.Load() || !slices.Contains(f.nodes.all(), one.node) {
		return nil, f.gone(string(id))
	}
	q.params = slices.Concat([]byte{'['}, one.theirs, []byte{']'})
	start, trace := time.Now(), nodegate.TraceFrom(ctx)
	bounded, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	o := f.ask.ask(bounded, one.node, q)
	trace.Node = one.node.cfg.Name
	trace.Waited += time.Since(start)
	var call *client.CallError
	switch {
	case errors.As(o.err, &call) && strings.Contains(strings.ToLower(call.Message), "not found"),
		o.err != nil && call == nil && ctx.Err() == nil:
		return nil, f.gone(string(id)) // events may be lost: it is gone
	case o.err == nil && q.info.EndsFilter:
		f.remove(string(id))
	}
	return o.result, clientError(ctx, &o)
}

// create has a node make a filter.
func (f *filters) create(ctx context.Context, q *query) ([]byte, error) {
	if !f.room(time.Now()) {
		return nil, &nodegate.Error{Op: "upstream.filter", Code: nodegate.Busy, Msg: "server busy: too many filters are open", RetryAfter: time.Minute}
	}
	trace, start := nodegate.TraceFrom(ctx), time.Now()
	defer func() { trace.Waited += time.Since(start) }()
	var tried []*node
	for {
		c := f.nodes.choose(ctx, q, tried)
		if c.node == nil {
			return nil, noNode(ctx, c)
		}
		bounded, cancel := context.WithTimeout(ctx, f.timeout)
		o := f.ask.ask(bounded, c.node, q)
		cancel()
		trace.Node = c.node.cfg.Name
		if tried = append(tried, c.node); o.verdict >= lacking && o.verdict != cancelled && len(tried) < f.tries && f.nodes.spare(q, tried, againstAside) {
			continue // a filter that nobody knows of expires by itself
		}
		if o.err != nil {
			return nil, clientError(ctx, &o)
		}
		const longest = 128
		if id, ok := jsonrpc.String(o.result); !ok || len(id) == 0 || len(id) > longest {
			f.nodes.failed(c.node, errUnasked)
			return nil, noNode(ctx, choice{})
		}
		return f.add(c.node, o.result), nil
	}
}

// gone is the error of a filter that there is no more, or never was.
func (f *filters) gone(id string) error {
	f.remove(id)
	return &nodegate.Error{Op: "upstream.filter", Code: nodegate.ExecutionFailed, Msg: "filter not found"}
}

// add gives a node's filter an id of ours.
func (f *filters) add(n *node, theirs []byte) []byte {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	id := "0x" + hex.EncodeToString(b[:])
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.byID == nil {
		f.byID = map[string]*filter{}
	}
	f.byID[id] = &filter{node: n, theirs: theirs, used: time.Now()}
	return []byte(`"` + id + `"`)
}

func (f *filters) find(id string, now time.Time) *filter {
	f.mu.Lock()
	defer f.mu.Unlock()
	found := f.byID[id]
	if found == nil || now.Sub(found.used) > filterIdle {
		return nil
	}
	found.used = now
	return found
}

func (f *filters) remove(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.byID, id)
}

// room tells whether another filter may be made.
func (f *filters) room(now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.byID) >= maxFilters {
		f.sweepLocked(now)
	}
	return len(f.byID) < maxFilters
}

// sweep forgets filters that nobody asks for, as the nodes do.
func (f *filters) sweep(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sweepLocked(now)
}

func (f *filters) sweepLocked(now time.Time) {
	for id, one := range f.byID {
		if now.Sub(one.used) > filterIdle {
			delete(f.byID, id)
		}
	}
}
