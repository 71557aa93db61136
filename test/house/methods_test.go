package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const methodPackage = "internal/method"

// dispatch lists the files that send a method to its handler. Only they may decide by a
// method's name; everything else goes by its row in internal/method.
var dispatch = []string{
	"internal/rpc/blocktag/node.go",
	"internal/rpc/chain/chain.go",
	"internal/rpc/chain/devmethods.go",
	"internal/rpc/chain/native/native.go",
	"internal/rpc/edge/exchange.go",
	"internal/rpc/eth/node.go",
	"internal/rpc/rollup/rollup.go",
	"internal/rpc/upstream/pool/pool.go",
}

// probes lists the files that list methods to ask a node for, which decides nothing here.
var probes = []string{"internal/rpc/upstream/doctor/ask.go"}

// mayName lists who may spell a method's name: the table, and what tests others. The
// domain imports nothing; one of its errors shows what a method looks like.
var mayName = []string{methodPackage, "internal/store/storetest", "internal/rpc/chain/devchain/gen", "bench", "test", "tools"}

const domainFile = "key.go"

var (
	methodToken = regexp.MustCompile(`[a-z][a-z0-9]*_[A-Za-z0-9]+`)
	methodSpace = regexp.MustCompile(`^(eth|net|web3|debug|trace|txpool|evm|layer2|linea|zks)_[a-z]`)
	spacePrefix = regexp.MustCompile(`^(eth|net|web3|debug|trace|txpool|evm|hardhat|anvil|ots|erigon|admin|personal|engine|miner)_$`)
)

// methods is what internal/method spells.
type methods struct {
	names     map[string]bool // eth_call
	constants map[string]bool // EthCall
}

// known reads the names and constants of the method table.
func known(list []source) methods {
	m := methods{map[string]bool{}, map[string]bool{}}
	for _, s := range list {
		if s.pkg != methodPackage {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				for i, v := range n.Values {
					if text, ok := literal(v); ok && methodToken.FindString(text) == text {
						m.constants[n.Names[i].Name] = true
					}
				}
			case *ast.BasicLit:
				if text, ok := literal(n); ok && text != "" && methodToken.FindString(text) == text {
					m.names[text] = true
				}
			}
			return true
		})
	}
	return m
}

func literal(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}

// exemplarLabel is what OpenTelemetry calls a trace in exemplars. It only looks like a method.
const exemplarLabel = "trace_id"

// spelled finds the names of methods in a file's strings.
func (m methods) spelled(s source) (found []string) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		if _, tag := n.(*ast.ImportSpec); tag {
			return false
		}
		if e, ok := n.(ast.Expr); ok {
			text, _ := literal(e)
			if spacePrefix.MatchString(text) {
				found = append(found, "spells the namespace "+text)
			}
			for _, word := range methodToken.FindAllString(text, -1) {
				if word != exemplarLabel && (m.names[word] || methodSpace.MatchString(word)) {
					found = append(found, "spells "+word)
				}
			}
		}
		return true
	})
	return found
}

// decided finds where a file switches over methods, compares them or lists them.
func (m methods) decided(s source) (found []string) {
	isMethod := m.in(s.file)
	report := func(what string, list ...ast.Expr) {
		for _, e := range list {
			if name := isMethod(e); name != "" {
				found = append(found, what+" "+name)
			}
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CaseClause:
			report("switches over", n.List...)
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				report("compares with", n.X, n.Y)
			}
		case *ast.CompositeLit:
			for _, e := range n.Elts {
				pair, ok := e.(*ast.KeyValueExpr)
				switch {
				case ok:
					report("maps", pair.Key)
				case listed(n):
					report("lists", e)
				}
			}
		}
		return true
	})
	return found
}

// listed tells whether a literal is a list, or an entry of one without its type. Its
// elements are a table of methods, in one column or several.
func listed(n *ast.CompositeLit) bool {
	_, array := n.Type.(*ast.ArrayType)
	return array || n.Type == nil
}

// in returns what tells the constants of the method table in a file, by their name there.
func (m methods) in(file *ast.File) func(ast.Expr) string {
	local := ""
	for _, spec := range file.Imports {
		if spec.Path.Value == strconv.Quote(module+"/"+methodPackage) {
			local = path.Base(methodPackage)
			if spec.Name != nil {
				local = spec.Name.Name
			}
		}
	}
	return func(e ast.Expr) string {
		sel, ok := e.(*ast.SelectorExpr)
		if !ok || local == "" {
			return ""
		}
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == local && m.constants[sel.Sel.Name] {
			return sel.Sel.Name
		}
		return ""
	}
}

// TestMethods keeps what is known about methods in the method table.
func TestMethods(t *testing.T) {
	list := sources(t)
	m := known(list)
	if len(m.names) < 50 || len(m.constants) < 30 {
		t.Fatalf("the table has %d names and %d constants: the test looks in the wrong place", len(m.names), len(m.constants))
	}
	deciding := map[string]bool{}
	for _, s := range list {
		if slices.ContainsFunc(mayName, under(s.pkg)) || s.path == domainFile {
			continue
		}
		for _, what := range m.spelled(s) {
			t.Errorf("%s %s: use its constant in internal/method, or its row", s.path, what)
		}
		what := m.decided(s)
		deciding[s.path] = len(what) > 0
		if len(what) > 0 && !slices.Contains(dispatch, s.path) && !slices.Contains(probes, s.path) {
			t.Errorf("%s %s: put it into the rows of internal/method, or the handler into a file of dispatch", s.path, strings.Join(what, ", "))
		}
	}
	for _, file := range dispatch {
		if !deciding[file] {
			t.Errorf("%s is in dispatch, and sends no method to a handler", file)
		}
	}
}

// TestMethodRules checks that the rules themselves bite.
func TestMethodRules(t *testing.T) {
	m := known(sources(t))
	const head = "package x\nimport \"" + module + "/internal/method\"\n"
	for _, c := range []struct {
		code            string
		spells, decides bool
	}{
		{`var a = "eth_call"`, true, false},
		{"var a = `{\"method\":\"eth_chainId\"}`", true, false},
		{`var a = "no eth_newThing here"`, true, false},
		{`var a = "nodegate_rpc_requests_total"`, false, false},
		{`var a = method.EthCall + " is fine"`, false, false},
		{`func f(s string) { switch s { case method.EthCall: } }`, false, true},
		{`func f(s string) bool { return s == method.EthCall }`, false, true},
		{`var a = map[string]int{method.EthCall: 1}`, false, true},
		{`var a = []string{method.EthCall}`, false, true},
		{`var a = []struct{ name string; n int }{{method.EthCall, 1}}`, false, true},
		{`func f(s string) bool { return strings.HasPrefix(s, "debug_") }`, true, false},
		{`var a = question{method.EthCall, "[]"}`, false, false},
		{`func f(r *method.Row) bool { return r.Answer == method.WordAnswer }`, false, false},
		{`func f(n node) { n.Call(method.EthCall, "[]") }`, false, false},
	} {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "x.go", head+c.code, 0)
		if err != nil {
			t.Fatal(err)
		}
		s := source{path: "x.go", pkg: "x", file: file, fset: fset}
		if got := m.spelled(s); (len(got) > 0) != c.spells {
			t.Errorf("%s: %q", c.code, got)
		}
		if got := m.decided(s); (len(got) > 0) != c.decides {
			t.Errorf("%s: %q", c.code, got)
		}
	}
}
