package pool

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/upstream/client"
	"github.com/nodegate/nodegate/internal/rpc/upstream/heads"
	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
	"github.com/nodegate/nodegate/internal/rpc/upstream/logrange"
)

// logReader answers log queries: with one request where a node allows the whole range, and in
// parts otherwise. The answer is complete, or there is an error.
type logReader struct {
	nodes     *nodeSet
	reader    *reader
	heads     *heads.Tracker
	timeout   time.Duration // of a call, all parts together
	maxAnswer int64         // bytes of a call, all parts together
}

func (l *logReader) read(ctx context.Context, q *query) ([]byte, error) {
	filter, ok := logrange.Read(q.params)
	if !ok {
		return l.reader.read(ctx, q)
	}
	q.span, q.ranged = filter.Span, true
	end := time.Now().Add(l.timeout)
	width := l.nodes.logWidth(q, math.MaxUint64)
	if width == 0 || width >= q.span.Width() {
		o, err := l.reader.try(ctx, q)
		if err == nil || !l.splits(q, &o) {
			return o.result, err
		}
		width = l.narrower(q, &o)
	}
	bounded, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	return l.split(bounded, q, filter, width)
}

// splits tells whether a query that failed may be answered in parts.
func (l *logReader) splits(q *query, o *outcome) bool {
	return o.verdict == capped && q.span.Width() > 1
}

// mostAtOnce is how many parts a node's suggestion can make of one query. What a query finds is
// spread unevenly, so the range that a node suggests may be far too narrow for the rest.
const mostAtOnce = 8

// narrower is how many blocks to ask for at once after a refusal: what some node allows, what
// the node suggests for this query, or half.
func (l *logReader) narrower(q *query, o *outcome) uint64 {
	whole := q.span.Width()
	half := whole - whole/2
	var call *client.CallError
	if !errors.As(o.err, &call) {
		return l.allowed(q, half)
	}
	switch c := logrange.Classify(call.Message); {
	case c.Kind == logrange.Blocks:
		return l.allowed(q, half)
	case c.Try != nil && c.Try.From == q.span.From && c.Try.To < q.span.To:
		return max(c.Try.Width(), half/(mostAtOnce/2), 1)
	}
	return half
}

// allowed is the most that a node allows of those whose limit is below the query's range.
func (l *logReader) allowed(q *query, otherwise uint64) uint64 {
	if width := l.nodes.logWidth(q, q.span.Width()-1); width > 0 {
		return width
	}
	return otherwise
}

// reorgTries is how often a query is begun that a reorg interrupts.
const reorgTries = 3

// split answers a query in parts. They may come from different nodes, so a reorg in between could
// mix two branches: then all of them are asked for again.
func (l *logReader) split(ctx context.Context, q *query, filter logrange.Filter, width uint64) ([]byte, error) {
	trace, start := nodegate.TraceFrom(ctx), time.Now()
	defer func() { trace.Waited += time.Since(start) }()
	for range reorgTries {
		before, _ := l.heads.Head(ctx)
		s := newLogSplit(ctx, l, q, filter)
		result, err := s.run(width)
		trace.Node = s.node
		if err != nil {
			return nil, err
		}
		if after, _ := l.heads.Head(ctx); !moved(before, after, q.span.To) {
			if q.agree > 1 { // on each part
				trace.Verified, trace.Agreed = nodegate.LevelAgreed, q.agree
			}
			return result, nil
		}
	}
	return nil, &nodegate.Error{
		Op: "upstream.logs", Code: nodegate.Busy, Msg: "server busy: the chain was reorganized while its logs were read", RetryAfter: time.Second,
	}
}

// moved tells whether blocks up to a number may have been replaced between two heads.
func moved(before, after nodegate.Head, to uint64) bool {
	return after.Lost != before.Lost || after.Fork != before.Fork && to > before.Finalized
}

// tooManyParts is the error of a query that no allowed number of requests answers. width is what one
// of them can have.
func tooManyParts(q *query, width uint64) error {
	whole := q.span.Width()
	reach := whole / 2
	if width <= whole/maxParts {
		reach = width * maxParts
	}
	return &nodegate.Error{
		Op: "upstream.logs", Code: nodegate.InvalidParams,
		Msg: fmt.Sprintf("query spans %d blocks, which the nodes of this network don't answer in %d requests: try fromBlock %s, toBlock %s",
			whole, maxParts, plainNumber(q.span.From), plainNumber(q.span.From+max(reach, 1)-1)),
	}
}

// plainNumber is a block number without quotes.
func plainNumber(n uint64) string {
	quoted := hexjson.Number(n)
	return quoted[1 : len(quoted)-1]
}
