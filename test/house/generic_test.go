package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
)

// cacheFields finds fields of structs whose type is otter's cache. The compiler builds that
// generic type with all its methods again in every package from which such a field can be
// reached: 10 CPU seconds for each of 40 packages.
func cacheFields(s source) (found []string) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		fields, ok := n.(*ast.StructType)
		if !ok {
			return true
		}
		ast.Inspect(fields, func(n ast.Node) bool {
			if name, ok := n.(*ast.SelectorExpr); ok && name.Sel.Name == "Cache" {
				if of, ok := name.X.(*ast.Ident); ok && of.Name == "otter" {
					found = append(found, s.fset.Position(name.Pos()).String())
				}
			}
			return true
		})
		return false
	})
	return found
}

func TestCacheFields(t *testing.T) {
	for _, s := range sources(t) {
		for _, at := range cacheFields(s) {
			t.Errorf("%s: a field holds otter's cache itself: hold an interface with the methods that are used", at)
		}
	}
}

func TestCacheFieldsFound(t *testing.T) {
	const text = `package p
type a struct { c *otter.Cache[int, int]; d table }
type b struct { c []struct{ c otter.Cache[string, []byte] } }
func f() { _ = otter.Must(&otter.Options[int, int]{}) }`
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "p.go", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	if found := cacheFields(source{file: file, fset: fset}); len(found) != 2 {
		t.Errorf("found %q, want two", found)
	}
}
