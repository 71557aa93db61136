package pool

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nodegate/nodegate"
)

// Agreeing is the pool as a node on whose answers about blocks and state so many nodes agree.
// They are asked at the same time. What is not about blocks or state is asked of one.
func (p *Pool) Agreeing(nodes int) nodegate.Node { return agreeing{p, nodes} }

var _ nodegate.Feed = agreeing{}

type agreeing struct {
	*Pool
	nodes int
}

func (a agreeing) Call(ctx context.Context, name string, params []byte) ([]byte, error) {
	return a.call(ctx, name, params, a.nodes)
}

// agreed asks as many nodes as must agree, and in place of those that fail or say something
// else as many others as a call of one node may be sent to.
func (r *reader) agreed(ctx context.Context, q *query) (outcome, error) {
	trace, start := nodegate.TraceFrom(ctx), time.Now()
	deadline := r.begin(ctx, start)
	defer func() { trace.Waited += time.Since(start) }()
	trace.Verified, trace.Agreed = nodegate.LevelNone, 0
	b := ballot{reader: r, query: q}
	for b.lacks() > 0 && ctx.Err() == nil && time.Now().Before(deadline) {
		nodes, none := b.candidates(ctx)
		if len(nodes) == 0 {
			if len(b.tried) == 0 {
				return outcome{}, noNode(ctx, none)
			}
			break
		}
		for _, o := range b.ask(ctx, nodes, deadline) {
			b.count(o)
		}
	}
	return b.result(ctx, trace)
}

// candidates are the nodes to ask next: as many as are lacking, and others than were asked.
// Who is asked in place of a node that failed is on the budget; who decides between different
// answers isn't.
func (b *ballot) candidates(ctx context.Context) (nodes []*node, last choice) {
	first, most := len(b.tried) == 0, b.query.agree+b.reader.tries-1
	for lacking := b.lacks(); len(nodes) < lacking && len(b.tried) < most; {
		c := b.reader.nodes.choose(ctx, b.query, b.tried)
		if c.node == nil || c.against >= againstAside && len(b.tried) > 0 {
			return nodes, c
		}
		if !first && !b.contested() && !b.reader.retries.spend() {
			return nodes, c
		}
		if len(b.tried) > 0 {
			c.node.figures.Extra("agree")
		}
		nodes, b.tried = append(nodes, c.node), append(b.tried, c.node)
	}
	return nodes, choice{}
}

// contested tells whether nodes said different things, or one failed a check.
func (b *ballot) contested() bool { return len(b.votes) > 1 || b.doubted.doubt != nil }

// ask asks nodes at the same time. If there are more than these, they get half of the time,
// so that another can be asked in place of one that hangs.
func (b *ballot) ask(ctx context.Context, nodes []*node, deadline time.Time) []outcome {
	if now := time.Now(); b.reader.nodes.spare(b.query, b.tried, againstAside) {
		deadline = now.Add(deadline.Sub(now) / 2)
	}
	bounded := &term{Context: ctx, deadline: deadline}
	defer bounded.end()
	list := make([]outcome, len(nodes))
	var all sync.WaitGroup
	for i, n := range nodes {
		all.Go(func() {
			q := *b.query
			list[i] = b.reader.ask.ask(bounded, n, &q)
		})
	}
	all.Wait()
	return list
}

// result is what the nodes agree on, or why there is no such thing.
func (b *ballot) result(ctx context.Context, trace *nodegate.Trace) (outcome, error) {
	q, leader := b.query, b.leader()
	switch {
	case leader == nil && b.failed.node == nil: // nobody was asked
		return outcome{}, noNode(ctx, choice{})
	case leader == nil:
		trace.Node = b.failed.node.cfg.Name
		return b.failed, clientError(ctx, &b.failed)
	}
	trace.Node = leader.node.cfg.Name
	if len(leader.nodes) < q.agree {
		return b.undecided(ctx, leader)
	}
	b.blame(leader)
	b.reader.learn(q, &b.failed, &leader.outcome)
	trace.Verified, trace.Agreed = nodegate.LevelAgreed, len(leader.nodes)
	if leader.shows {
		trace.Verified = nodegate.LevelHeader
	}
	return leader.outcome, clientError(ctx, &leader.outcome)
}

// undecided is for a call that too few nodes gave the same answer to.
func (b *ballot) undecided(ctx context.Context, leader *vote) (outcome, error) {
	switch failed := b.failed; {
	case failed.node != nil && failed.verdict == capped:
		return failed, clientError(ctx, &failed) // a log query that can be split
	case ctx.Err() != nil:
		return outcome{}, nodegate.ErrTimeout("upstream.call", ctx.Err())
	case len(b.votes) > 1:
		b.blame(nil)
		return outcome{}, &nodegate.Error{
			Op: "upstream.agree", Code: nodegate.Unverified,
			Msg: fmt.Sprintf("this network needs the same answer from %d nodes, and its nodes returned different ones. Try again in a moment; the server log names the nodes", b.query.agree),
		}
	}
	return outcome{}, &nodegate.Error{
		Op: "upstream.agree", Code: nodegate.Unverified,
		Msg: fmt.Sprintf("this network needs the same answer from %d nodes, and %d responded. Try again in a moment; if it lasts, the operator can add nodes or lower agree", b.query.agree, len(leader.nodes)),
	}
}

// blame notes what nodes said against what the others agree on, or all that they said if
// they don't agree.
func (b *ballot) blame(right *vote) {
	var names []string
	for _, v := range b.votes {
		if v == right {
			continue
		}
		for _, n := range v.nodes {
			n.figures.Disagreed()
			names = append(names, n.cfg.Name)
		}
	}
	if len(names) == 0 {
		return
	}
	b.reader.nodes.disagreed(b.query, names, right != nil)
}

// sayAgain is how long disagreements are not logged after one was: each call may cause one.
const sayAgain = 10 * time.Second

func (ns *nodeSet) disagreed(q *query, names []string, outvoted bool) {
	now, last := time.Now().UnixNano(), ns.differed.Load()
	if last != 0 && now-last < int64(sayAgain) || !ns.differed.CompareAndSwap(last, now) {
		return
	}
	text := "nodes returned different responses to the same call"
	if outvoted {
		text = "nodes returned another response than the others agree on"
	}
	ns.log.Warn(text, "nodes", strings.Join(names, ", "), "method", q.info.NodeLabel(), "block", q.block)
}
