package pool

import (
	"slices"

	"github.com/nodegate/nodegate"
)

// Cordon keeps the calls of clients away from a node, or lets them back to it. Calls that
// are with it finish, and it is looked after as before. The node stays cordoned when
// Replace changes its settings.
//
// Returns NotFound when there is no node of the name.
func (p *Pool) Cordon(name string, on bool) error {
	p.replacing.Lock()
	defer p.replacing.Unlock()
	n := named(p.nodes.all(), name)
	if n == nil {
		return &nodegate.Error{Op: "upstream.cordon", Code: nodegate.NotFound, Msg: "network " + p.cfg.Network + " has no node " + name}
	}
	if n.cordoned.Swap(on) != on {
		p.log.Info(map[bool]string{true: "node cordoned", false: "node uncordoned"}[on], "node", name)
	}
	p.heads.Reconsider()
	return nil
}

// CarryCordons cordons the nodes that are cordoned in the pool that this one replaces.
func (p *Pool) CarryCordons(from *Pool) {
	for _, n := range from.nodes.all() {
		if n.cordoned.Load() {
			_ = p.Cordon(n.cfg.Name, true) // a node that is gone needs none
		}
	}
}

// named finds a node by its name; nil where there is none.
func named(nodes []*node, name string) *node {
	i := slices.IndexFunc(nodes, func(n *node) bool { return n.cfg.Name == name })
	if i < 0 {
		return nil
	}
	return nodes[i]
}

// away tells whether the node's head is not told of: it is ejected, cordoned or out of credits.
func (n *node) away() bool { return n.breaker.open() || n.cordoned.Load() || n.quota.spent() }
