package config

import (
	"fmt"
	"regexp"
)

// routePattern is a method's name, or its beginning with a star.
var routePattern = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9]{0,31}_([a-zA-Z0-9_]{1,64}|[a-zA-Z0-9_]{0,64}\*)$`)

// readNodeMethods reads which methods a node gets.
func readNodeMethods(l *loader, t *Node, path string, n node) {
	pairs, _ := l.pairs(path, n)
	for _, p := range pairs {
		switch p.key {
		case "only":
			t.Only = l.texts(path+".only", p.value, checkRoutePattern)
		case "not":
			t.Not = l.texts(path+".not", p.value, checkRoutePattern)
		default:
			l.fail(l.place(p.keyNode), "", "unknown key %s.%s%s", path, p.key, suggest(p.key, []string{"only", "not"}))
		}
	}
}

func checkRoutePattern(s string) error {
	if !routePattern.MatchString(s) {
		return fmt.Errorf("%q is not a pattern of methods; write a method's name, or its beginning with a star, as in debug_*", s)
	}
	return nil
}

// methods writes the patterns of a node, where it has any.
func (d *dumper) methods(n *Node, base string) {
	if len(n.Only)+len(n.Not) == 0 {
		return
	}
	d.line("methods:%s", d.comment(base+"methods"))
	if len(n.Only) > 0 {
		d.line("  only: %s", flow(n.Only))
	}
	if len(n.Not) > 0 {
		d.line("  not: %s", flow(n.Not))
	}
}
