package pool

import (
	"context"
	"slices"
	"time"

	"github.com/nodegate/nodegate/internal/method"
)

// When a second node is asked.
const (
	hedgeFloor   = 5 * time.Millisecond
	hedgeSamples = 50 // latencies from which quantiles mean something
)

// quietDelays are for networks with too few calls to know how long they usually take:
// longer than a node that is well and far away needs, and short for who waits. Traces take
// what they take, and cost too much to be asked for twice.
var quietDelays = [classes]time.Duration{
	small: 300 * time.Millisecond, looks: 300 * time.Millisecond, runs: 500 * time.Millisecond, logs: time.Second,
}

// setHedgeDelays brings the delays of all classes up to date.
func (p *Pool) setHedgeDelays() {
	for c := range p.ask.speeds {
		p.reader.delays[c].Store(int64(p.cfg.Hedge.delay(class(c), &p.ask.speeds[c])))
	}
}

// delay is when a second node is asked for a call of a class; 0: never. By itself it is the
// time within which nineteen of twenty calls are answered. When more of them are slow it
// would grow to just that slowness, so it is never more than ten times what the half of
// them take.
func (h Hedge) delay(c class, s *speeds) time.Duration {
	switch {
	case h.Off || quietDelays[c] == 0:
		return 0
	case h.Delay > 0:
		return h.Delay
	}
	n, q := s.quantiles(0.5, 0.95)
	if n < hedgeSamples {
		return max(quietDelays[c], 2*q[0])
	}
	return max(hedgeFloor, min(q[1], 10*q[0]))
}

// attempt asks one node, and for a read that takes unusually long a second one too.
// Its time is a share of what is left, so that another attempt is possible.
func (r *reader) attempt(ctx context.Context, c choice, q *query, tried []*node, deadline time.Time) outcome {
	if !c.node.allows(q) {
		return outcome{node: c.node, err: errTooWide, verdict: capped}
	}
	spare := q.info.Kind == method.Read && r.nodes.spare(q, append(slices.Clip(tried), c.node), againstAside)
	if spare {
		now := time.Now()
		deadline = now.Add(deadline.Sub(now) / 2)
	}
	bounded := &term{Context: ctx, deadline: deadline}
	defer bounded.end()
	delay := time.Duration(r.delays[q.class].Load())
	if !spare || delay == 0 {
		return r.ask.ask(bounded, c.node, q)
	}
	second := make(chan outcome, 1)
	timer := time.AfterFunc(delay, func() { second <- r.hedge(bounded, c, *q, tried) })
	o := r.ask.ask(bounded, c.node, q)
	if timer.Stop() || o.verdict == good {
		return o
	}
	// The second one is on its way. It has ended the first, or is all there is now.
	s := <-second
	if s.node == nil {
		return o
	}
	if s.verdict < o.verdict {
		o, s = s, o
	}
	o.also = s.node
	if s.doubt != nil {
		r.weigh(q, &s, &o)
	}
	return o
}

// hedge asks a second node, if there is an equally good one and the budget allows
// it. A good answer ends the first attempt.
func (r *reader) hedge(bounded *term, first choice, q query, tried []*node) outcome {
	c := r.nodes.pick(&q, append(slices.Clip(tried), first.node))
	if c.node == nil || c.against > first.against || bounded.Err() != nil || !r.hedges.spend() {
		return outcome{}
	}
	c.node.figures.Extra("hedge")
	o := r.ask.ask(bounded, c.node, &q)
	if o.verdict == good {
		bounded.end()
	}
	return o
}
