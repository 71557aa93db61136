package pool

import (
	"math"
	"strings"
	"time"

	"github.com/nodegate/nodegate"
)

// Status is how a node is.
type Status struct {
	Name      string
	Role      string // primary or backup
	Tier      int    // 1 for primaries
	Healthy   bool   // it is asked
	Cordoned  bool   // the operator keeps clients away from it
	Head      uint64
	Lag       uint64        // blocks behind the best node
	ErrorRate float64       // of the latest requests, 0 to 1
	P50, P95  time.Duration // of its latest answers
	InFlight  int64
	Cause     Cause  // it is not healthy; "" when it is
	Ejections int64  // since the start
	LogRange  uint64 // most blocks of one log query, set or learned; 0: no known limit
	Client    string // what it calls itself
	Why       string // it is not healthy; "" when it is
}

// status says how each node is.
func (ns *nodeSet) status() []Status {
	list := make([]Status, 0, len(ns.all()))
	for _, n := range ns.all() {
		list = append(list, ns.statusOf(n))
	}
	return list
}

func (ns *nodeSet) statusOf(n *node) Status {
	_, q := n.speeds.quantiles(0.5, 0.95)
	head := n.Head.Load()
	s := Status{
		Name: n.cfg.Name, Role: n.cfg.role(), Tier: n.cfg.rank() + 1, Head: head, ErrorRate: n.failing.value(), P50: q[0], P95: q[1],
		InFlight: n.inFlight.Load(), Ejections: n.breaker.ejected.Load(),
	}
	if best := ns.heads.Best(); best > head {
		s.Lag = best - head
	}
	if width := n.logWidth(time.Now()); width < math.MaxUint64 {
		s.LogRange = width
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	s.Client, s.Cordoned = n.client, n.cordoned.Load()
	s.Healthy, s.Why = ns.explain(n, s.Lag)
	s.Cause = ns.cause(n, s.Lag)
	return s
}

// explain says why a node is not asked. The node is locked.
func (ns *nodeSet) explain(n *node, lag uint64) (healthy bool, why string) {
	if n.cordoned.Load() {
		return false, "cordoned"
	}
	if n.quota.spent() {
		return false, n.quota.why()
	}
	switch ns.grade(n) {
	case well:
		return true, ""
	case aside:
		if n.breaker.lied.Load() {
			return false, "ejected for a false answer: " + n.why
		}
		return false, "ejected after consecutive failures: " + n.why
	case unusable:
		return false, n.why
	}
	switch {
	case n.Syncing.Load():
		return false, "is syncing"
	case n.Doubted.Load():
		return false, "reports an implausible head"
	case lag > ns.maxLag:
		return false, "is behind the others"
	}
	return false, "fails often: " + n.why
}

// ready is nil when a node can be asked and the head is known; see Pool.Ready.
func (ns *nodeSet) ready() error {
	var wrong []string
	_, _, known := ns.heads.Last()
	for _, n := range ns.all() {
		if g := ns.grade(n); known && (g == well || g == poorly && n.Silent.Load() < failuresInARow) {
			return nil
		}
		n.mu.Lock()
		_, why := ns.explain(n, 0)
		n.mu.Unlock()
		wrong = append(wrong, n.cfg.Name+": "+why)
	}
	msg := "network " + ns.network + " has no node that can be used"
	if len(wrong) > 0 {
		msg += " (" + strings.Join(wrong, "; ") + ")"
	}
	return &nodegate.Error{Op: "upstream.ready", Code: nodegate.NoNode, Msg: msg}
}

// show brings the state of the nodes to the metrics.
func (ns *nodeSet) show() {
	for _, n := range ns.all() {
		s := ns.statusOf(n)
		n.figures.Set(s.Healthy, s.Cordoned, s.Head, s.Lag, s.InFlight)
	}
}
