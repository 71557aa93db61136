package pool

import (
	"strings"
	"time"

	"github.com/nodegate/nodegate"
)

// Status is how a node is.
type Status struct {
	Name      string
	Role      string // primary or backup
	Healthy   bool   // it is asked
	Head      uint64
	Lag       uint64        // blocks behind the best node
	ErrorRate float64       // of the latest requests, 0 to 1
	P50, P95  time.Duration // of its latest answers
	InFlight  int64
	Ejections int64  // since the start
	Client    string // what it calls itself
	Why       string // it is not healthy; "" when it is
}

// Status says how each node is.
func (p *Pool) Status() []Status {
	list := make([]Status, 0, len(p.all()))
	for _, n := range p.all() {
		list = append(list, p.statusOf(n))
	}
	return list
}

func (p *Pool) statusOf(n *node) Status {
	_, q := n.speeds.quantiles(0.5, 0.95)
	head := n.Head.Load()
	s := Status{
		Name: n.cfg.Name, Role: n.cfg.role(), Head: head, ErrorRate: n.failing.value(), P50: q[0], P95: q[1],
		InFlight: n.inFlight.Load(), Ejections: n.breaker.ejected.Load(),
	}
	if best := p.heads.Best(); best > head {
		s.Lag = best - head
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	s.Client = n.client
	s.Healthy, s.Why = p.explain(n, s.Lag)
	return s
}

// explain says why a node is not asked. The node is locked.
func (p *Pool) explain(n *node, lag uint64) (healthy bool, why string) {
	switch p.grade(n) {
	case well:
		return true, ""
	case aside:
		return false, "put aside after failures in a row: " + n.why
	case unusable:
		return false, n.why
	}
	switch {
	case n.Syncing.Load():
		return false, "is syncing"
	case n.Doubted.Load():
		return false, "claims a block far beyond what the others have"
	case lag > p.cfg.MaxLag:
		return false, "is behind the others"
	}
	return false, "fails often: " + n.why
}

// Ready tells whether the network can be used: nil when a node can be asked and the
// head is known.
//
// Returns NoNode, with what is wrong with each node.
func (p *Pool) Ready() error {
	var wrong []string
	known := p.heads.Known()
	for _, n := range p.all() {
		if g := p.grade(n); known && (g == well || g == poorly && n.Silent.Load() < failuresInARow) {
			return nil
		}
		n.mu.Lock()
		_, why := p.explain(n, 0)
		n.mu.Unlock()
		wrong = append(wrong, n.cfg.Name+": "+why)
	}
	msg := "network " + p.cfg.Network + " has no node that can be used"
	if len(wrong) > 0 {
		msg += " (" + strings.Join(wrong, "; ") + ")"
	}
	return &nodegate.Error{Op: "upstream.ready", Code: nodegate.NoNode, Msg: msg}
}

// show brings the state of the nodes to the metrics.
func (p *Pool) show() {
	if p.figures == nil {
		return
	}
	for _, n := range p.all() {
		s := p.statusOf(n)
		n.figures.Set(s.Healthy, s.Head, s.Lag, s.InFlight)
	}
}
