package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"testing"
)

// maxMethods is how many methods a type may have. One with more has several jobs.
const maxMethods = 30

// methodCounts counts the methods that each type declares, by package and name.
func methodCounts(list []source) map[string]int {
	counts := map[string]int{}
	for _, s := range list {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
				counts[s.pkg+"."+receiver(f.Recv.List[0].Type)]++
			}
		}
	}
	return counts
}

// receiver is the name of a method's type, without its pointer and type parameters.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// interfaces counts the methods that each interface lists itself, without those that it
// takes over from others.
func interfaces(list []source) map[string]int {
	counts := map[string]int{}
	for _, s := range list {
		ast.Inspect(s.file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if i, ok := spec.Type.(*ast.InterfaceType); ok {
				for _, m := range i.Methods.List {
					counts[s.pkg+"."+spec.Name.Name] += len(m.Names)
				}
			}
			return true
		})
	}
	return counts
}

func TestTypeSizes(t *testing.T) {
	list := sources(t)
	counts := methodCounts(list)
	maps.Copy(counts, interfaces(list))
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[name]; n > maxMethods {
			t.Errorf("%s has %d methods, at most %d: split it by job", name, n, maxMethods)
		}
	}
}

// TestTypeSizesCounted checks that methods are counted whatever their receiver looks like.
func TestTypeSizesCounted(t *testing.T) {
	const text = `package p
type a struct{}
func (a) one() {}
func (x *a) two() {}
type b[T any] struct{}
func (x *b[T]) one() {}
type c[K, V any] struct{}
func (x c[K, V]) one() {}
func free() {}
type d interface { one(); two(); a }`
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "p.go", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	list := []source{{path: "p/p.go", pkg: "p", file: file, fset: fset}}
	if got, want := methodCounts(list), map[string]int{"p.a": 2, "p.b": 1, "p.c": 1}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := interfaces(list), map[string]int{"p.d": 2}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
