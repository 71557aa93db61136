package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"testing"
)

// A misspelt test in a package's list for -short would not be in make race, and nothing would
// say so.
func TestShortNamesTests(t *testing.T) {
	files, err := filepath.Glob("../*/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	defined, lists := map[string]bool{}, 0
	var named []string
	for _, path := range files {
		dir := filepath.Dir(path) + " "
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil {
				defined[dir+fn.Name.Name] = true
			}
		}
		for _, list := range calls(file, "full", "Short") {
			lists++
			for _, arg := range list.Args {
				name, err := strconv.Unquote(arg.(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				named = append(named, dir+name)
			}
		}
	}
	for _, name := range named {
		if !defined[name] {
			t.Errorf("no such test: %s", name)
		}
	}
	if lists < 9 {
		t.Errorf("found %d lists of tests for -short", lists)
	}
}

// calls are a file's calls of a package's function.
func calls(file *ast.File, pkg, function string) []*ast.CallExpr {
	var found []*ast.CallExpr
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == function {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == pkg {
				found = append(found, call)
			}
		}
		return true
	})
	return found
}
