package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/nodegate/nodegate"

// mayImport lists, for each package, which of our packages it may use. "" is the root
// package, the domain. A package without a row fails, unless it may use everything.
var mayImport = map[string][]string{
	"":                               {},
	"cmd/nodegate":                   {"", "internal/config", "internal/server", "internal/obs", "internal/rpc/upstream/doctor", "internal/background", "internal/disk", "internal/method"},
	"internal/accounts/account":      {"", "internal/accounts/credential", "internal/accounts/mailer", "internal/background", "internal/method"},
	"internal/accounts/alert":        {"", "internal/accounts/mailer"},
	"internal/accounts/auth":         {"", "internal/index", "internal/accounts/credential"},
	"internal/accounts/credential":   {"", "internal/disk"},
	"internal/accounts/mailer":       {""},
	"internal/accounts/payment":      {""},
	"internal/accounts/ratelimit":    {"", "internal/index"},
	"internal/accounts/requestlog":   {""},
	"internal/accounts/usage":        {"", "internal/index"},
	"internal/accounts/usage/report": {""},
	"internal/background":            {},
	"internal/backup":                {"", "internal/disk"},
	"internal/budget":                {""},
	"internal/config":                {"internal/spelling", "internal/method"},
	"internal/dashboard":             {"", "internal/accounts/account", "internal/dashboard/abi", "internal/dashboard/callform", "internal/dashboard/chart", "internal/dashboard/example", "internal/dashboard/faucet", "internal/ipfs/files", "internal/ipfs/uploads", "internal/accounts/requestlog", "internal/obs", "internal/accounts/usage/report", "internal/web", "internal/tokenbucket", "internal/background", "internal/fairshare", "internal/dashboard/snippet", "internal/dashboard/apidoc", "internal/method"},
	"internal/dashboard/abi":         {},
	"internal/dashboard/apidoc":      {"internal/method"},
	"internal/dashboard/callform":    {"internal/dashboard/apidoc"},
	"internal/dashboard/chart":       {},
	"internal/dashboard/example":     {"", "internal/method"},
	"internal/dashboard/faucet":      {""},
	"internal/dashboard/snippet":     {},
	"internal/disk":                  {""},
	"internal/fairshare":             {},
	"internal/index":                 {},
	"internal/ipfs/blockstore":       {"", "internal/background", "internal/fairshare", "internal/disk", "internal/ipfs/identity"},
	"internal/ipfs/blocktest":        {"", "internal/ipfs/unixfs"},
	"internal/ipfs/files":            {""},
	"internal/ipfs/uploads":          {"", "internal/disk"},
	"internal/ipfs/gateway":          {"", "internal/budget", "internal/obs", "internal/web", "internal/method/permit", "internal/accounts/usage", "internal/accounts/requestlog", "internal/ipfs/unixfs", "internal/ipfs/pinning", "internal/fairshare", "internal/background", "internal/tokenbucket", "internal/tracing"},
	"internal/ipfs/identity":         {},
	"internal/ipfs/kubo":             {"", "internal/ipfs/blockstore", "internal/ipfs/identity", "internal/tracing"},
	"internal/ipfs/pinning":          {"", "internal/budget", "internal/fairshare", "internal/tokenbucket"},
	"internal/ipfs/unixfs":           {"", "internal/budget", "internal/fairshare", "internal/background", "internal/ipfs/identity"},
	"internal/localca":               {"", "internal/disk"},
	"internal/method":                {"internal/spelling"},
	"internal/method/permit":         {"", "internal/method", "internal/rpc/jsonrpc"},
	"internal/obs":                   {""},
	"internal/operatoralert":         {},
	"internal/rpc":                   {"", "internal/method", "internal/rpc/jsonrpc"},
	"internal/rpc/blocktag":          {"", "internal/rpc", "internal/rpc/jsonrpc", "internal/method"},
	"internal/rpc/cache":             {"", "internal/rpc", "internal/obs", "internal/rpc/jsonrpc", "internal/method", "internal/tracing"},
	"internal/rpc/chain":             {"", "internal/obs", "internal/rpc/rollup", "internal/rpc/chain/guard", "internal/rpc/chain/lane", "internal/rpc/chain/native", "internal/rpc/chain/steplog", "internal/rpc/chain/devchain", "internal/rpc/chain/forge", "internal/rpc/chain/replay", "internal/rpc/chain/parity", "internal/rpc/chain/otterscan", "internal/rpc/chain/txjournal", "internal/disk", "internal/background", "internal/method"},
	"internal/rpc/chain/devchain":    {"internal/rpc/rollup"},
	"internal/rpc/chain/guard":       {"internal/background", "internal/rpc/chain/steplog"},
	"internal/rpc/chain/steplog":     {},
	"internal/rpc/chain/lane":        {"", "internal/fairshare", "internal/background", "internal/tokenbucket"},
	"internal/rpc/chain/native":      {"", "internal/background", "internal/rpc/chain/guard", "internal/rpc/chain/lane", "internal/method"},
	"internal/rpc/chain/forge":       {},
	"internal/rpc/chain/replay":      {"internal/rpc/chain/guard"},
	"internal/rpc/chain/otterscan":   {"internal/rpc/chain/replay"},
	"internal/rpc/chain/parity":      {"internal/rpc/chain/replay", "internal/method"},
	"internal/rpc/chain/txjournal":   {"internal/disk"},
	"internal/rpc/edge":              {"", "internal/budget", "internal/fairshare", "internal/obs", "internal/web", "internal/rpc/jsonrpc", "internal/rpc/fastpath", "internal/rpc/ws", "internal/method/permit", "internal/accounts/ratelimit", "internal/accounts/usage", "internal/accounts/requestlog", "internal/index", "internal/background", "internal/method", "internal/tokenbucket", "internal/tracing"},
	"internal/rpc/eth":               {"", "internal/rpc", "internal/obs", "internal/background", "internal/rpc/jsonrpc", "internal/method"},
	"internal/rpc/fastpath":          {},
	"internal/rpc/filter":            {"", "internal/rpc", "internal/rpc/jsonrpc", "internal/rpc/upstream/hexjson", "internal/method"},
	"internal/rpc/jsonrpc":           {},
	"internal/rpc/nonce":             {"", "internal/rpc", "internal/rpc/jsonrpc", "internal/rpc/upstream/hexjson", "internal/rpc/upstream/verify", "internal/rpc/signer", "internal/method"},
	"internal/rpc/proven":            {"", "internal/rpc", "internal/rpc/jsonrpc", "internal/method", "internal/fairshare", "internal/rpc/upstream/hexjson", "internal/rpc/upstream/verify", "internal/rpc/chain/native"},
	"internal/rpc/require":           {"", "internal/method", "internal/rpc"},
	"internal/rpc/rollup":            {"", "internal/rpc", "internal/method", "internal/background", "internal/fairshare"},
	"internal/rpc/signer":            {},
	"internal/rpc/ledger":            {"", "internal/rpc", "internal/rpc/jsonrpc", "internal/method", "internal/background", "internal/fairshare", "internal/rpc/upstream/hexjson", "internal/rpc/upstream/verify", "internal/rpc/ledger/store", "internal/rpc/ledger/form", "internal/rpc/ledger/logquery", "internal/rpc/signer", "internal/tracing"},
	"internal/rpc/ledger/form":       {},
	"internal/rpc/ledger/logindex":   {"internal/rpc/ledger/form"},
	"internal/rpc/ledger/logquery":   {"", "internal/rpc/jsonrpc", "internal/rpc/ledger/form", "internal/rpc/ledger/logindex", "internal/rpc/ledger/store"},
	"internal/rpc/ledger/store":      {"", "internal/disk", "internal/rpc/ledger/logindex"},
	"internal/rpc/upstream/client":   {"", "internal/rpc/jsonrpc", "internal/method"},
	"internal/rpc/upstream/doctor":   {"", "internal/rpc/upstream/client", "internal/rpc/upstream/logrange", "internal/rpc/jsonrpc", "internal/method"},
	"internal/rpc/upstream/feed":     {"", "internal/rpc", "internal/rpc/jsonrpc", "internal/method", "internal/rpc/upstream/client", "internal/rpc/upstream/heads", "internal/rpc/upstream/hexjson"},
	"internal/rpc/upstream/heads":    {"", "internal/rpc/jsonrpc", "internal/rpc/upstream/hexjson"},
	"internal/rpc/upstream/hexjson":  {},
	"internal/rpc/upstream/logrange": {"internal/rpc/jsonrpc", "internal/rpc/upstream/hexjson"},
	"internal/rpc/upstream/pool":     {"", "internal/obs", "internal/rpc/jsonrpc", "internal/method", "internal/rpc/upstream/client", "internal/rpc/upstream/heads", "internal/rpc/upstream/feed", "internal/rpc/upstream/hexjson", "internal/rpc/upstream/logrange", "internal/rpc/upstream/verify", "internal/tracing"},
	"internal/rpc/upstream/verify":   {"internal/rpc/jsonrpc", "internal/method", "internal/rpc/upstream/hexjson"},
	"internal/rpc/ws":                {},
	"internal/spelling":              {},
	"internal/store/redisstore":      {"", "internal/accounts/ratelimit"},
	"internal/store/sqlstore":        {"", "internal/disk"},
	"internal/store/storetest":       {""},
	"internal/tokenbucket":           {},
	"internal/tracing":               {"", "internal/tokenbucket"},
	"internal/web":                   {"", "internal/obs", "internal/tokenbucket"},
	"test/dbtest":                    {},
	"tools/sbom":                     {},
	"test/full":                      {},
	"test/sqlitetest":                {"internal/store/sqlstore"},
	"test/smtptest":                  {},
	"test/tlstest":                   {},
}

// unbound may use everything: they join the others, or test them.
var unbound = []string{"internal/server", "internal/rpc/chain/devchain/gen", "bench", "test"}

// planes lists, for each plane, which others its packages may use. What several planes
// need is beside internal/config.
var planes = map[string][]string{
	"internal/rpc":       {"internal/accounts"},
	"internal/ipfs":      {"internal/accounts"},
	"internal/accounts":  {},
	"internal/store":     {"internal/accounts"},
	"internal/dashboard": {"internal/rpc", "internal/ipfs", "internal/accounts"},
}

// shared are packages of a plane that any other may reach: they import nothing of ours and
// know no plane. Access rules read JSON-RPC messages with one, for storage too.
var shared = []string{"internal/rpc/jsonrpc"}

// planeOf is the plane that a package is in, or "".
func planeOf(pkg string) string {
	for plane := range planes {
		if under(pkg)(plane) {
			return plane
		}
	}
	return ""
}

// enginePackages are the only ones that may use go-ethereum's engine. The others may
// use its small packages of types.
var enginePackages = []string{"internal/rpc/chain", "bench", "test"}

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
	pkg  string // its folder; "" is the root
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
		pkg := filepath.ToSlash(filepath.Dir(rel))
		if pkg == "." {
			pkg = ""
		}
		list = append(list, source{path: filepath.ToSlash(rel), pkg: pkg, file: file, fset: fset})
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
			if why := forbidden(s.pkg, path); why != "" {
				t.Errorf("%s imports %s: %s", s.path, path, why)
			}
		}
	}
}

func forbidden(pkg, path string) string {
	if ours, ok := strings.CutPrefix(path, module); ok {
		target := strings.TrimPrefix(ours, "/")
		switch allowed, listed := mayImport[pkg]; {
		case !mayReach(pkg, target):
			return "a plane may not import this one (see planes)"
		case listed && !slices.Contains(allowed, target):
			return "this package may not import it (see mayImport)"
		}
		return ""
	}
	if pkg == "" && strings.Contains(strings.Split(path, "/")[0], ".") {
		return "the domain uses the standard library only"
	}
	if small, ok := strings.CutPrefix(path, geth); ok && !slices.ContainsFunc(enginePackages, under(pkg)) && !slices.Contains(smallPackages, small) {
		return "only the embedded chain uses go-ethereum's engine"
	}
	if strings.HasPrefix(path, geth+"cmd/") {
		return "go-ethereum's commands are under the GPL"
	}
	return ""
}

// reached lists the packages of ours that a package imports, and those that they import.
func reached(pkg string, imports map[string][]string) map[string]bool {
	seen := map[string]bool{}
	var visit func(string)
	visit = func(at string) {
		for _, next := range imports[at] {
			if !seen[next] {
				seen[next] = true
				visit(next)
			}
		}
	}
	visit(pkg)
	return seen
}

// TestPlanes follows imports to the end: a plane may not reach another through a package
// that belongs to none.
func TestPlanes(t *testing.T) {
	imports := map[string][]string{}
	for _, s := range sources(t) {
		for _, spec := range s.file.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if ours, ok := strings.CutPrefix(path, module+"/"); ok {
				imports[s.pkg] = append(imports[s.pkg], ours)
			}
		}
	}
	for _, pkg := range shared {
		if len(imports[pkg]) > 0 {
			t.Errorf("%s is shared by planes and imports %q", pkg, imports[pkg])
		}
	}
	for pkg := range imports {
		for target := range reached(pkg, imports) {
			if !slices.Contains(shared, target) && !mayReach(pkg, target) {
				t.Errorf("%s reaches %s through other packages: a plane may not (see planes)", pkg, target)
			}
		}
	}
}

// mayReach tells whether a package's plane may use that of another package.
func mayReach(pkg, target string) bool {
	from, to := planeOf(pkg), planeOf(target)
	return from == "" || to == "" || from == to || slices.Contains(planes[from], to)
}

// under tells whether a pkg is one of those or inside it.
func under(pkg string) func(string) bool {
	return func(parent string) bool { return pkg == parent || strings.HasPrefix(pkg, parent+"/") }
}

// TestListed fails on a package that nobody has decided about.
func TestListed(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range sources(t) {
		if isFolder := path.Base(s.path) == "doc.go" && len(s.file.Decls) == 0 && len(s.file.Imports) == 0; isFolder {
			continue // it only says what is in the folders below, or has other files
		}
		if _, listed := mayImport[s.pkg]; !listed && !seen[s.pkg] && !slices.ContainsFunc(unbound, under(s.pkg)) {
			t.Errorf("package %s has no row in mayImport", s.pkg)
		}
		seen[s.pkg] = true
	}
	for pkg := range mayImport {
		if !seen[pkg] {
			t.Errorf("mayImport has a row for %q, which doesn't exist", pkg)
		}
	}
}

// TestRules checks that the rules themselves bite.
func TestRules(t *testing.T) {
	for _, c := range []struct {
		pkg, path string
		bad       bool
	}{
		{"", "context", false},
		{"", "github.com/coder/websocket", true},
		{"internal/rpc/jsonrpc", module, true},
		{"internal/rpc/edge", module + "/internal/rpc/chain", true},
		{"internal/rpc/cache", module + "/internal/ipfs/unixfs", true},
		{"internal/ipfs/gateway", module + "/internal/rpc/edge", true},
		{"internal/accounts/auth", module + "/internal/rpc/jsonrpc", true},
		{"internal/server", module + "/internal/rpc/chain", false},
		{"internal/rpc/edge", geth + "core", true},
		{"internal/rpc/rollup", geth + "common", false},
		{"internal/rpc/chain", geth + "core", false},
		{"internal/server", geth + "core", true},
		{"internal/rpc/chain", geth + "cmd/utils", true},
	} {
		if got := forbidden(c.pkg, c.path) != ""; got != c.bad {
			t.Errorf("forbidden(%q, %q) = %v, want %v", c.pkg, c.path, got, c.bad)
		}
	}
}

func TestPackageComments(t *testing.T) {
	documented := map[string]int{}
	for _, s := range sources(t) {
		documented[s.pkg] += 0
		if s.file.Doc != nil {
			documented[s.pkg]++
		}
	}
	for pkg, n := range documented {
		if n != 1 {
			t.Errorf("package %q has %d package comments, want exactly one", pkg, n)
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
			if strings.Contains(string(data), prefix) && s.pkg != "test/house" {
				t.Errorf("%s names a path of a machine (%s)", s.path, prefix)
			}
		}
	}
}
