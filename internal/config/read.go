package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// readSection reads one mapping of the file into t. Paths of problems are base
// + section + key: base leads to t, section into it.
func readSection[T any](l *loader, t *T, s schema[T], base, section string, n node) {
	pairs, ok := l.pairs(strings.TrimSuffix(base+section, "."), n)
	if !ok {
		return
	}
	s.defaults(t, section)
	for _, p := range pairs {
		name := section + p.key
		if f, ok := s.field(name); ok && f.noFile {
			l.fail(l.place(p.keyNode), base+name, "isn't allowed in the file, because such files get shared; set %s instead", envName(name))
		} else if ok && name == f.was && hasKey(pairs, strings.TrimPrefix(f.name, section)) {
			l.fail(l.place(p.keyNode), base+name, "is the old name of %s, which is set too; remove it", f.name)
		} else if ok {
			readField(l, f, t, base+f.name, p.value)
		} else if g, ok := s.group(name); ok {
			l.src[base+name] = l.place(p.keyNode)
			g.read(l, t, base+name, p.value)
		} else if s.hasSection(name + ".") {
			l.src[base+name] = l.place(p.keyNode)
			readSection(l, t, s, base, name+".", p.value)
		} else {
			l.fail(l.place(p.keyNode), "", "unknown key %s%s", base+name, suggest(p.key, s.keys(section)))
		}
	}
}

func hasKey(pairs []pair, key string) bool {
	return slices.ContainsFunc(pairs, func(p pair) bool { return p.key == key })
}

func readField[T any](l *loader, f field[T], t *T, path string, n node) {
	text, err := scalar(n, f.at(t).kind())
	if err != nil {
		l.fail(l.place(n), path, "%v", err)
		return
	}
	assign(l, f, t, path, l.place(n), text)
}

// pair is one entry of a mapping.
type pair struct {
	key     string
	keyNode node
	value   node
}

// pairs returns the entries of a mapping, each key once. A section whose lines
// are all commented out reads as null and counts as empty.
func (l *loader) pairs(path string, n node) ([]pair, bool) {
	if _, ok := n.(*ast.NullNode); ok {
		return nil, true
	}
	m, ok := n.(*ast.MappingNode)
	if !ok {
		l.fail(l.place(n), path, "must be a mapping of keys to values, not %s", describe(n))
		return nil, false
	}
	var pairs []pair
	first := map[string]int{}
	for _, kv := range m.Values {
		key, ok := kv.Key.(*ast.StringNode)
		if !ok {
			l.fail(l.place(kv.Key), path, "keys must be plain text; put a number in quotes; merge keys and ? are not supported here")
			continue
		}
		at := l.place(key)
		if line, twice := first[key.Value]; twice {
			l.fail(at, path, "the key %s is set twice, first on line %d; remove one of them", key.Value, line)
			continue
		}
		first[key.Value] = at.line
		pairs = append(pairs, pair{key.Value, key, kv.Value})
	}
	return pairs, true
}

// items returns the elements of a list, none of one that is left empty.
func (l *loader) items(path string, n node) ([]node, bool) {
	if _, ok := n.(*ast.NullNode); ok {
		return nil, true
	}
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		l.fail(l.place(n), path, "must be a list, not %s; write one element a line, each after a dash", describe(n))
		return nil, false
	}
	return seq.Values, true
}

// texts reads a list of texts that all keep a rule and come once each.
func (l *loader) texts(path string, n node, check func(string) error) []string {
	nodes, _ := l.items(path, n)
	var out []string
	seen := map[string]bool{}
	for i, item := range nodes {
		at := fmt.Sprintf("%s[%d]", path, i)
		s, err := scalar(item, kindText)
		if err == nil {
			err = check(s)
		}
		if err == nil && seen[s] {
			err = fmt.Errorf("%q is listed twice; remove one of them", s)
		}
		if err != nil {
			l.fail(l.place(item), at, "%v", err)
			continue
		}
		seen[s] = true
		out = append(out, s)
	}
	return out
}

// scalar returns the text of a value whose YAML type fits the kind. Types are
// not converted: what looks like another type is more often a mistake. Text
// without quotes passes for every kind, as the kind's own parser says best what
// is wrong with it.
func scalar(n node, k kind) (string, error) {
	switch v := n.(type) {
	case *ast.StringNode:
		if k == kindText || k == kindSize || k == kindTime || !quoted(n) {
			return v.Value, nil
		}
	case *ast.LiteralNode:
		if k == kindText {
			return v.Value.Value, nil
		}
	case *ast.IntegerNode:
		if k == kindWhole || k == kindSize || k == kindFactor {
			return v.Token.Value, nil
		}
	case *ast.BoolNode:
		if k == kindSwitch {
			return strconv.FormatBool(v.Value), nil
		}
	case *ast.FloatNode:
		if k == kindFactor {
			return v.Token.Value, nil
		}
	}
	return "", fmt.Errorf("must be %s, not %s%s", k.wants(), describe(n), remedy(n, k))
}

// remedy ends a sentence about a wrong type with what to do, where it is clear.
func remedy(n node, k kind) string {
	switch n.(type) {
	case *ast.NullNode:
		return "; give it a value or remove the key"
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		return "; write the value out"
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		if k == kindText {
			return "; put it in quotes"
		}
	case *ast.StringNode:
		return "; remove the quotes"
	}
	return ""
}

func quoted(n node) bool {
	t := n.GetToken().Type
	return t == token.DoubleQuoteType || t == token.SingleQuoteType
}

// describe completes the sentence "must be text, not ...".
func describe(n node) string {
	switch n.(type) {
	case *ast.NullNode:
		return "empty"
	case *ast.StringNode, *ast.LiteralNode:
		return "text"
	case *ast.IntegerNode:
		return "a number"
	case *ast.FloatNode:
		return "a fraction"
	case *ast.InfinityNode, *ast.NanNode:
		return "infinity or NaN"
	case *ast.BoolNode:
		return "true or false"
	case *ast.MappingNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		return "an anchor, alias or tag"
	}
	return "something else"
}
