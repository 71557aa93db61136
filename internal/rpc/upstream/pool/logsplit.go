package pool

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/upstream/logrange"
)

// The bounds of one call's parts.
const (
	maxParts    = 200
	partsAtOnce = 4
)

// logSplit is a log query that is answered in parts. A part that is still refused becomes smaller
// parts. One that fails on all nodes fails the call and stops the others.
type logSplit struct {
	*logReader
	query  *query // the whole call
	filter logrange.Filter
	ctx    context.Context
	cancel context.CancelFunc
	slots  chan struct{} // parts that are being asked for

	mu      sync.Mutex
	planned uint64 // parts
	size    int64  // bytes of their answers
	node    string // that answered last
	err     error  // of the first that failed
}

func newLogSplit(ctx context.Context, l *logReader, q *query, filter logrange.Filter) *logSplit {
	s := &logSplit{logReader: l, query: q, filter: filter, slots: make(chan struct{}, partsAtOnce), planned: 1}
	s.ctx, s.cancel = context.WithCancel(ctx)
	return s
}

// run asks for all parts, of at most width blocks, and merges them.
func (s *logSplit) run(width uint64) ([]byte, error) {
	defer s.cancel()
	pieces := s.parts(s.query.span, width)
	if s.err != nil {
		return nil, s.err
	}
	return logrange.Merge(pieces), nil
}

// parts asks for the parts of a span at the same time. Their answers are in order; what it
// returns counts only while the call hasn't failed.
func (s *logSplit) parts(span logrange.Span, width uint64) [][]byte {
	if !s.plan(span.Parts(width), width) {
		return nil
	}
	spans := span.Split(width)
	pieces := make([][][]byte, len(spans))
	var all sync.WaitGroup
	for i, part := range spans {
		all.Go(func() { pieces[i] = s.part(part) })
	}
	all.Wait()
	return slices.Concat(pieces...)
}

// part asks for one part when it is its turn, in smaller parts if no node allows it.
func (s *logSplit) part(span logrange.Span) [][]byte {
	if !s.begin() {
		return nil
	}
	q := *s.query
	q.span, q.params = span, s.filter.Params(span)
	q.block, q.numbered, q.tagged = span.To, true, false
	width := s.nodes.logWidth(&q, math.MaxUint64)
	if width > 0 && width < span.Width() {
		s.end()
		return s.parts(span, width) // learned since this part was planned
	}
	o, err := s.ask(&q)
	s.end()
	switch {
	case err == nil:
		return s.keep(&o)
	case s.splits(&q, &o):
		return s.parts(span, s.narrower(&q, &o))
	}
	s.fail(err)
	return nil
}

// ask asks for a part as for any call, and waits for a node that has credits for it.
func (s *logSplit) ask(q *query) (outcome, error) {
	ctx := nodegate.WithTrace(s.ctx, new(nodegate.Trace)) // the call's own is not for several writers
	for {
		o, err := s.reader.try(ctx, q)
		if !errors.Is(err, nodegate.Busy) {
			return o, err
		}
		wait := s.nodes.pick(q, nil).busy
		if end, _ := s.ctx.Deadline(); wait <= 0 || time.Now().Add(wait).After(end) {
			return o, err
		}
		select {
		case <-time.After(wait):
		case <-s.ctx.Done():
			return o, err
		}
	}
}

// begin waits for a part's turn; false when the call is over.
func (s *logSplit) begin() bool {
	select {
	case s.slots <- struct{}{}:
	case <-s.ctx.Done():
	}
	if err := s.ctx.Err(); err != nil {
		s.fail(nodegate.ErrTimeout("upstream.logs", err))
		return false
	}
	return true
}

func (s *logSplit) end() { <-s.slots }

// plan counts parts that take the place of one; false when they are too many.
func (s *logSplit) plan(parts, width uint64) bool {
	s.mu.Lock()
	s.planned += min(parts, maxParts+1) - 1
	ok := s.planned <= maxParts
	s.mu.Unlock()
	if !ok {
		s.fail(tooManyParts(s.query, width))
	}
	return ok
}

// keep counts an answer; the parts together are bounded as one answer is.
func (s *logSplit) keep(o *outcome) [][]byte {
	o.node.figures.Extra("part")
	s.mu.Lock()
	s.node = o.node.cfg.Name
	s.size += int64(len(o.result))
	ok := s.size <= s.maxAnswer
	s.mu.Unlock()
	if !ok {
		s.fail(tooLarge())
		return nil
	}
	return [][]byte{o.result}
}

// fail ends the call with its first error.
func (s *logSplit) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
		s.cancel()
	}
}
