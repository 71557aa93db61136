package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/web"
)

var link = regexp.MustCompile(`\[[^\]]*\]\(([^)\s]+)\)`)

// TestLinks follows every link that stays in the repository, anchors included.
func TestLinks(t *testing.T) {
	all := map[string]*page{}
	for _, p := range pages(t) {
		all[p.path] = p
	}
	for _, p := range all {
		for _, m := range link.FindAllStringSubmatch(p.prose(), -1) {
			if target := m[1]; !strings.Contains(target, "://") {
				followLink(t, all, p, target)
			}
		}
	}
}

func followLink(t *testing.T, all map[string]*page, p *page, target string) {
	t.Helper()
	file, anchor, _ := strings.Cut(target, "#")
	if file == "" {
		file = p.path
	} else {
		file = path.Join(path.Dir(p.path), file)
	}
	if _, err := os.Stat(filepath.Join(root, file)); err != nil {
		t.Errorf("%s links to %s, which is not there", p.path, target)
		return
	}
	if anchor == "" {
		return
	}
	if to, ok := all[file]; !ok || !to.hasAnchor(anchor) {
		t.Errorf("%s links to %s, which has no such heading", p.path, target)
	}
}

// nine are the methods of the specification.
var nine = []string{
	"eth_getStorageAt", "eth_getProof", "eth_getTransactionByHash", "eth_getTransactionByBlockHashAndIndex",
	"eth_getTransactionReceipt", "eth_getBlockReceipts", "eth_call", "eth_estimateGas", "layer2_estimateGas",
}

// TestNineMethods wants a section for each of the nine, with an example of it.
func TestNineMethods(t *testing.T) {
	p := readPage(t, filepath.Join(root, "docs", "json-rpc.md"))
	for _, name := range nine {
		if !slices.ContainsFunc(p.headings, func(h heading) bool { return h.text == name }) {
			t.Errorf("%s has no section for %s", p.path, name)
		}
		shown := slices.ContainsFunc(p.blocks, func(b block) bool {
			return isExample(b) && b.section == name && strings.Contains(b.text, `"method":"`+name+`"`)
		})
		if !shown {
			t.Errorf("%s has no example of %s in its section", p.path, name)
		}
	}
}

// tableRow cuts a row of a Markdown table into its cells.
func tableRow(line string) []string {
	if !strings.HasPrefix(line, "|") {
		return nil
	}
	cells := strings.Split(strings.Trim(line, "|"), "|")
	for i := range cells {
		cells[i] = strings.Trim(strings.TrimSpace(cells[i]), "`")
	}
	return cells
}

// TestErrorTable holds the page's table of errors to the codes of the domain: each
// has a row, with its HTTP status and its JSON-RPC number.
func TestErrorTable(t *testing.T) {
	p := readPage(t, filepath.Join(root, "docs", "json-rpc.md"))
	rows := map[string][]string{}
	for _, line := range p.lines {
		if cells := tableRow(line); len(cells) == 5 {
			rows[cells[0]] = cells
		}
	}
	numbers := errorNumbers(t)
	for _, code := range nodegate.Codes() {
		switch code {
		case nodegate.BadConfig: // ends the start, never a request
			continue
		case nodegate.InvalidInput, nodegate.NotFound, nodegate.Conflict, nodegate.SignInFailed, nodegate.CardDeclined, nodegate.CardRequired:
			continue // the control plane's; a call never ends with one
		case nodegate.QuotaReached, nodegate.InsufficientStorage, nodegate.Damaged, nodegate.Mismatch:
			continue // the storage gateway's
		}
		row, ok := rows[code.String()]
		if !ok {
			t.Errorf("the table of errors has no row for %q", code)
			continue
		}
		if status := fmt.Sprint(web.Status(code)); row[1] != status {
			t.Errorf("the row for %q says status %s, want %s", code, row[1], status)
		}
		number := numbers[strings.ReplaceAll(code.String(), " ", "")]
		if row[2] != number && code != nodegate.NodeFault { // a node's own number comes first
			t.Errorf("the row for %q says code %s, want %s", code, row[2], number)
		}
	}
}

// errorNumbers reads the edge's table, by the code's name in lower case.
func errorNumbers(t *testing.T) map[string]string {
	t.Helper()
	numbers := map[string]string{}
	for _, pair := range entries(t, "internal/rpc/edge/errors.go", "numbers") {
		sign, value := "", pair.Value
		if minus, ok := value.(*ast.UnaryExpr); ok {
			sign, value = "-", minus.X
		}
		name := pair.Key.(*ast.SelectorExpr).Sel.Name
		numbers[strings.ToLower(name)] = sign + value.(*ast.BasicLit).Value
	}
	return numbers
}

// entries reads the map literal that a variable of a file is set to.
func entries(t *testing.T, path, variable string) (list []*ast.KeyValueExpr) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, path), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && spec.Names[0].Name == variable {
			for _, entry := range spec.Values[0].(*ast.CompositeLit).Elts {
				list = append(list, entry.(*ast.KeyValueExpr))
			}
		}
		return true
	})
	if len(list) == 0 {
		t.Fatalf("%s has no map %s", path, variable)
	}
	return list
}

// TestPackagesTable compares the table of docs/architecture.md with the rules that
// test/house enforces.
func TestPackagesTable(t *testing.T) {
	listed := map[string]string{}
	for _, line := range readPage(t, filepath.Join(root, "docs", "architecture.md")).lines {
		if cells := tableRow(line); len(cells) == 3 && (cells[0] == "." || strings.Contains(cells[0], "/")) {
			listed[cells[0]] = strings.ReplaceAll(cells[2], "`", "")
		}
	}
	if rules := importRules(t); !maps.Equal(listed, rules) {
		t.Errorf("the table of packages says\n%v\nmayImport of test/house\n%v", listed, rules)
	}
}

// importRules reads mayImport from test/house.
func importRules(t *testing.T) map[string]string {
	t.Helper()
	rules := map[string]string{}
	for _, pair := range entries(t, "test/house/house_test.go", "mayImport") {
		var packages []string
		for _, name := range pair.Value.(*ast.CompositeLit).Elts {
			packages = append(packages, packageName(t, name))
		}
		if packages == nil {
			packages = []string{"nothing"}
		}
		rules[packageName(t, pair.Key)] = strings.Join(packages, ", ")
	}
	return rules
}

func packageName(t *testing.T, e ast.Expr) string {
	t.Helper()
	name, err := strconv.Unquote(e.(*ast.BasicLit).Value)
	if err != nil {
		t.Fatal(err)
	}
	if name == "" {
		return "."
	}
	return name
}
