package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/nodegate/nodegate"

// mayImport lists, for each room, which of our packages it may use. "" is the root
// package, the domain. Rooms that are not listed may use everything.
var mayImport = map[string][]string{
	"":                         {},
	"internal/budget":          {""},
	"internal/jsonrpc":         {},
	"internal/config":          {},
	"internal/plainhttp":       {},
	"internal/ws":              {},
	"internal/obs":             {""},
	"internal/eth":             {"", "internal/obs", "internal/jsonrpc"},
	"internal/rollup":          {""},
	"internal/chain/devchain":  {"internal/rollup"},
	"internal/chain/lane":      {"", "internal/fairshare", "internal/background"},
	"internal/chain/native":    {"", "internal/chain/guard", "internal/chain/lane"},
	"internal/chain":           {"", "internal/obs", "internal/rollup", "internal/chain/guard", "internal/chain/lane", "internal/chain/native", "internal/chain/devchain", "internal/chain/txjournal", "internal/disk", "internal/background"},
	"internal/web":             {"", "internal/obs"},
	"internal/vault":           {""},
	"internal/payment":         {""},
	"internal/account":         {"", "internal/vault", "internal/background"},
	"internal/door":            {"", "internal/index", "internal/vault"},
	"internal/permit":          {"", "internal/jsonrpc"},
	"internal/index":           {},
	"internal/meter":           {"", "internal/index"},
	"internal/usage":           {"", "internal/index"},
	"internal/report":          {""},
	"internal/chart":           {},
	"internal/journal":         {""},
	"internal/sqlstore":        {"", "internal/disk"},
	"internal/redisstore":      {"", "internal/meter"},
	"test/dbtest":              {},
	"test/smtptest":            {},
	"internal/storetest":       {""},
	"internal/authority":       {""},
	"internal/blocks":          {"", "internal/fairshare", "internal/disk"},
	"internal/method":          {},
	"internal/wire":            {"", "internal/jsonrpc"},
	"internal/upstream":        {"", "internal/obs", "internal/jsonrpc", "internal/method", "internal/wire"},
	"internal/doctor":          {"", "internal/wire", "internal/jsonrpc"},
	"internal/anchor":          {"", "internal/jsonrpc", "internal/method"},
	"internal/cache":           {"", "internal/obs", "internal/jsonrpc", "internal/method"},
	"internal/objects":         {"", "internal/budget", "internal/fairshare", "internal/background"},
	"internal/kubo":            {"", "internal/blocks"},
	"internal/blocktest":       {"", "internal/objects"},
	"internal/dashboard":       {"", "internal/account", "internal/chart", "internal/example", "internal/faucet", "internal/files", "internal/journal", "internal/obs", "internal/report", "internal/web", "internal/snippet", "internal/methoddoc"},
	"internal/snippet":         {},
	"internal/methoddoc":       {},
	"internal/example":         {""},
	"internal/faucet":          {""},
	"internal/files":           {""},
	"internal/mailer":          {""},
	"internal/alert":           {"", "internal/mailer"},
	"internal/storage":         {"", "internal/budget", "internal/obs", "internal/web", "internal/permit", "internal/usage", "internal/journal", "internal/objects", "internal/fairshare", "internal/background"},
	"internal/edge":            {"", "internal/budget", "internal/obs", "internal/web", "internal/jsonrpc", "internal/plainhttp", "internal/ws", "internal/permit", "internal/meter", "internal/usage", "internal/journal", "internal/index", "internal/background"},
	"cmd/nodegate":             {"", "internal/config", "internal/server", "internal/obs", "internal/doctor", "internal/background"},
	"internal/chain/txjournal": {},
	"internal/disk":            {""},
	"internal/chain/guard":     {},
	"internal/background":      {},
	"internal/fairshare":       {},
}

// engineRooms are the only ones that may use go-ethereum's engine. The others may
// use its small packages of types.
var engineRooms = []string{"internal/chain", "bench", "test"}

var smallPackages = []string{"common", "common/hexutil", "common/math", "rlp", "crypto"}

const geth = "github.com/ethereum/go-ethereum/"

// The limits on size. What separates tidy code from untidy is the tail.
const (
	maxFunctionLines = 80
	maxFileLines     = 500
)

// source is one parsed file that is not a test.
type source struct {
	path string // from the repository's root
	room string // its folder; "" is the root
	file *ast.File
	fset *token.FileSet
}

// sources parses the tree itself: a test that runs `go list` is cached and misses
// changes.
func sources(t *testing.T) []source {
	t.Helper()
	root := filepath.Join("..", "..")
	var list []source
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".." || slices.Contains([]string{"testdata", "node_modules", "nodegate-data"}, d.Name())) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		room := filepath.ToSlash(filepath.Dir(rel))
		if room == "." {
			room = ""
		}
		list = append(list, source{path: filepath.ToSlash(rel), room: room, file: file, fset: fset})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 20 {
		t.Fatalf("found only %d files: the test looks in the wrong place", len(list))
	}
	return list
}

func TestImports(t *testing.T) {
	for _, s := range sources(t) {
		for _, spec := range s.file.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if why := forbidden(s.room, path); why != "" {
				t.Errorf("%s imports %s: %s", s.path, path, why)
			}
		}
	}
}

func forbidden(room, path string) string {
	if ours, ok := strings.CutPrefix(path, module); ok {
		target := strings.TrimPrefix(ours, "/")
		if allowed, listed := mayImport[room]; listed && !slices.Contains(allowed, target) {
			return "this room may not reach there (see mayImport)"
		}
		return ""
	}
	if room == "" && strings.Contains(strings.Split(path, "/")[0], ".") {
		return "the domain uses the standard library only"
	}
	if small, ok := strings.CutPrefix(path, geth); ok && !slices.ContainsFunc(engineRooms, under(room)) && !slices.Contains(smallPackages, small) {
		return "only the chain's rooms use go-ethereum's engine"
	}
	if strings.HasPrefix(path, geth+"cmd/") {
		return "go-ethereum's commands are under the GPL"
	}
	return ""
}

// under tells whether a room is one of those or inside it.
func under(room string) func(string) bool {
	return func(parent string) bool { return room == parent || strings.HasPrefix(room, parent+"/") }
}

// TestRules checks that the rules themselves bite.
func TestRules(t *testing.T) {
	for _, c := range []struct {
		room, path string
		bad        bool
	}{
		{"", "context", false},
		{"", "github.com/coder/websocket", true},
		{"internal/jsonrpc", module, true},
		{"internal/edge", module + "/internal/chain", true},
		{"internal/edge", geth + "core", true},
		{"internal/rollup", geth + "common", false},
		{"internal/chain", geth + "core", false},
		{"internal/server", geth + "core", true},
		{"internal/chain", geth + "cmd/utils", true},
	} {
		if got := forbidden(c.room, c.path) != ""; got != c.bad {
			t.Errorf("forbidden(%q, %q) = %v, want %v", c.room, c.path, got, c.bad)
		}
	}
}

func TestPackageComments(t *testing.T) {
	documented := map[string]int{}
	for _, s := range sources(t) {
		documented[s.room] += 0
		if s.file.Doc != nil {
			documented[s.room]++
		}
	}
	for room, n := range documented {
		if n != 1 {
			t.Errorf("package %q has %d package comments, want exactly one", room, n)
		}
	}
}

func TestSizes(t *testing.T) {
	for _, s := range sources(t) {
		if n := s.fset.Position(s.file.End()).Line; n > maxFileLines {
			t.Errorf("%s has %d lines, at most %d: split it", s.path, n, maxFileLines)
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			lines := s.fset.Position(f.End()).Line - s.fset.Position(f.Pos()).Line + 1
			if lines > maxFunctionLines {
				t.Errorf("%s: %s has %d lines, at most %d", s.path, f.Name.Name, lines, maxFunctionLines)
			}
		}
	}
}

// TestNoInit keeps wiring in one place.
func TestNoInit(t *testing.T) {
	for _, s := range sources(t) {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s has an init function: build it in internal/server", s.path)
			}
		}
	}
}

// TestNoMachinePaths keeps absolute paths of a developer's machine out of the tree.
func TestNoMachinePaths(t *testing.T) {
	for _, s := range sources(t) {
		data, err := os.ReadFile(filepath.Join("..", "..", s.path))
		if err != nil {
			t.Fatal(err)
		}
		for _, prefix := range []string{"/home/", "/Users/", "/root/"} {
			if strings.Contains(string(data), prefix) && s.room != "test/house" {
				t.Errorf("%s names a path of a machine (%s)", s.path, prefix)
			}
		}
	}
}
