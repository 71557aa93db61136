package pool

import (
	"slices"
	"strings"

	"github.com/nodegate/nodegate"
)

// serves tells whether the node may get calls of a method. What nodegate asks for itself
// goes to every node: without heads it could not be used at all.
func (n *Node) serves(method string) bool {
	if len(n.Only) > 0 && !matches(n.Only, method) {
		return false
	}
	return len(n.Not) == 0 || !matches(n.Not, method)
}

// matches tells whether one of the patterns means the method. A star at the end stands for
// any rest.
func matches(patterns []string, method string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		prefix, open := strings.CutSuffix(p, "*")
		return p == method || open && strings.HasPrefix(method, prefix)
	})
}

// serve tells whether any node may get calls of a method.
func (ns *nodeSet) serve(method string) bool {
	all := ns.all()
	return len(all) == 0 || slices.ContainsFunc(all, func(n *node) bool { return n.cfg.serves(method) })
}

func notServed(method string) error {
	return &nodegate.Error{Op: "upstream.call", Code: nodegate.MethodNotFound, Msg: "the method " + method + " does not exist/is not available"}
}
