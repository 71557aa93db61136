package apidoc_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nodegate/nodegate/internal/dashboard/apidoc"
)

func book(t *testing.T) *apidoc.Book {
	t.Helper()
	b, err := apidoc.New()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestTables checks each entry for what pages and openrpc.json rely on.
func TestTables(t *testing.T) {
	b := book(t)
	known := map[string]bool{}
	for _, typ := range b.Types {
		if known[typ.Name] || typ.What == "" {
			t.Errorf("type %s is there twice, or not explained", typ.Name)
		}
		known[typ.Name] = true
	}
	check := func(where, short string) {
		if !known[apidoc.TypeName(short)] {
			t.Errorf("%s has the type %s, which is not there", where, short)
		}
	}
	for _, typ := range b.Types {
		for _, f := range typ.Fields {
			check(typ.Name+"."+f.Name, f.Type)
		}
		for _, short := range typ.AnyOf {
			check(typ.Name, short)
		}
	}
	for _, m := range b.Methods {
		check(m.Name, m.Result.Type)
		optional, names, codes := false, map[string]bool{}, map[int]bool{}
		for _, p := range m.Params {
			check(m.Name, p.Type)
			if names[p.Name] || optional && p.Required || p.What == "" {
				t.Errorf("%s: parameter %s is there twice, is required after an optional one, or is not explained", m.Name, p.Name)
			}
			names[p.Name], optional = true, optional || !p.Required
		}
		for _, f := range m.Errors {
			if codes[f.Code] {
				t.Errorf("%s has the code %d twice", m.Name, f.Code)
			}
			codes[f.Code] = true
		}
		if m.Summary == "" || m.Group == "" || m.Result.What == "" || b.Answer(m.Name) == nil {
			t.Errorf("%s lacks its summary, group, result or recorded answer", m.Name)
		}
	}
}

// TestExamplesFit holds every example, parameters and recorded answer, to its types.
func TestExamplesFit(t *testing.T) {
	d, _ := openRPC(t)
	for _, m := range d["methods"].([]any) {
		m := m.(map[string]any)
		example := m["examples"].([]any)[0].(map[string]any)
		given := example["params"].([]any)
		params := m["params"].([]any)
		for i, p := range params {
			p := p.(map[string]any)
			if i >= len(given) {
				if p["required"] == true {
					t.Errorf("%s: the example lacks %s", m["name"], p["name"])
				}
				continue
			}
			if err := fits(d, p["schema"], given[i].(map[string]any)["value"]); err != nil {
				t.Errorf("%s: %s: %v", m["name"], p["name"], err)
			}
		}
		if err := fits(d, m["result"].(map[string]any)["schema"], example["result"].(map[string]any)["value"]); err != nil {
			t.Errorf("%s: result: %v", m["name"], err)
		}
	}
}

func openRPC(t *testing.T) (d map[string]any, text []byte) {
	t.Helper()
	text, err := book(t).OpenRPC(apidoc.Service{
		Version: "1.0.0", Servers: []apidoc.Server{
			{Name: "devnet", URL: "http://localhost:8545/devnet/v3/KEY", Embedded: true},
			{Name: "linea", URL: "http://localhost:8545/linea/v3/KEY", Layer2: true, Alias: "linea", Namespaces: []string{"debug", "evm"}},
		},
		Credits: func(method string) int64 { return int64(len(method)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d, text
}

// fits checks a value against the part of JSON Schema that the tables use. A word that
// it doesn't know is an error: nothing passes unchecked.
func fits(d map[string]any, schema, value any) error {
	s := schema.(map[string]any)
	for word, rule := range s {
		if err := obeys(d, word, rule, s, value); err != nil {
			return err
		}
	}
	return nil
}

func obeys(d map[string]any, word string, rule any, s map[string]any, value any) error {
	switch word {
	case "title", "description", "required":
		return nil // required is looked at with the properties
	case "$ref":
		name := strings.TrimPrefix(rule.(string), "#/components/schemas/")
		target, ok := d["components"].(map[string]any)["schemas"].(map[string]any)[name]
		if !ok {
			return fmt.Errorf("no type %s", name)
		}
		return fits(d, target, value)
	case "type":
		if got := typeOf(value); got != rule {
			return fmt.Errorf("%v is a JSON %s, want %s", value, got, rule)
		}
	case "pattern":
		if text, ok := value.(string); !ok || !regexp.MustCompile(rule.(string)).MatchString(text) {
			return fmt.Errorf("%v is not like %s", value, rule)
		}
	case "enum":
		if !slices.Contains(rule.([]any), value) {
			return fmt.Errorf("%v is none of %v", value, rule)
		}
	case "anyOf":
		if !slices.ContainsFunc(rule.([]any), func(one any) bool { return fits(d, one, value) == nil }) {
			return fmt.Errorf("%v is none of the %d kinds", value, len(rule.([]any)))
		}
	case "items":
		for i, item := range value.([]any) {
			if err := fits(d, rule, item); err != nil {
				return fmt.Errorf("[%d]: %w", i, err)
			}
		}
	case "properties":
		return members(d, rule.(map[string]any), s["required"], value)
	default:
		return fmt.Errorf("the test doesn't know %q", word)
	}
	return nil
}

func members(d, properties map[string]any, required, value any) error {
	object, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf("%v is no object", value)
	}
	if list, ok := required.([]any); ok {
		for _, name := range list {
			if _, ok := object[name.(string)]; !ok {
				return fmt.Errorf("%s is missing", name)
			}
		}
	}
	for name, item := range object {
		if schema, ok := properties[name]; ok {
			if err := fits(d, schema, item); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

func typeOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

// TestFits proves that the checker refuses.
func TestFits(t *testing.T) {
	d, _ := openRPC(t)
	for short, value := range map[string]any{
		"Address": "0x12", "Quantity": "0x01", "Hash|null": "0x", "[]Hash": []any{"0x"}, "Boolean": "true", "Tag": "newest",
		"GasEstimate": map[string]any{"gasLimit": "0x1", "baseFeePerGas": "0x1"}, "Block": 7.0, "Call": map[string]any{"to": "bob"},
	} {
		text, _ := json.Marshal(apidoc.Schema(short))
		var schema any
		if err := json.Unmarshal(text, &schema); err != nil {
			t.Fatal(err)
		}
		if fits(d, schema, value) == nil {
			t.Errorf("%v passes as %s", value, short)
		}
	}
}

// The members that OpenRPC 1.3 has for each of its objects; + marks what is required.
var openRPCObjects = map[string]string{
	"document":   "+openrpc +info servers +methods components externalDocs",
	"info":       "+title description termsOfService contact license +version",
	"server":     "name +url summary description variables",
	"method":     "+name tags summary description externalDocs +params +result deprecated servers errors links paramStructure examples",
	"tag":        "+name summary description externalDocs",
	"descriptor": "+name summary description required +schema deprecated",
	"error":      "+code +message data",
	"pairing":    "+name description summary +params +result",
	"example":    "+name summary description +value",
	"components": "contentDescriptors schemas examples links errors examplePairingObjects tags",
}

// TestOpenRPC holds the document to OpenRPC's own rules.
func TestOpenRPC(t *testing.T) {
	d, _ := openRPC(t)
	shaped(t, "document", d)
	shaped(t, "info", d["info"])
	shaped(t, "components", d["components"])
	if !regexp.MustCompile(`^1\.3\.\d+$`).MatchString(d["openrpc"].(string)) {
		t.Errorf("openrpc is %v", d["openrpc"])
	}
	for _, s := range d["servers"].([]any) {
		shaped(t, "server", s)
	}
	seen := map[any]bool{}
	for _, m := range d["methods"].([]any) {
		m := m.(map[string]any)
		shaped(t, "method", m)
		priced := m["name"]
		if of, alias := m["x-alias-of"]; alias {
			priced = of
		}
		if seen[m["name"]] || m["x-credits"] != float64(len(priced.(string))) || m["paramStructure"] != "by-position" {
			t.Errorf("%v is there twice, or has other credits or no order", m["name"])
		}
		seen[m["name"]] = true
		for _, list := range []struct{ of, kind string }{{"tags", "tag"}, {"params", "descriptor"}, {"errors", "error"}, {"examples", "pairing"}, {"servers", "server"}} {
			entries, _ := m[list.of].([]any)
			for _, e := range entries {
				shaped(t, list.kind, e)
			}
		}
		shaped(t, "descriptor", m["result"])
		pair := m["examples"].([]any)[0].(map[string]any)
		for _, e := range append(pair["params"].([]any), pair["result"]) {
			shaped(t, "example", e)
		}
	}
}

// TestOpenRPCServers lists a method where it is served, under the names it has there.
func TestOpenRPCServers(t *testing.T) {
	type listing struct{ servers, aliasOf string }
	list := func(servers ...apidoc.Server) map[string]listing {
		text, err := book(t).OpenRPC(apidoc.Service{Servers: servers, Credits: func(string) int64 { return 1 }})
		var d struct {
			Methods []struct {
				Name    string
				Servers []apidoc.Server
				AliasOf string `json:"x-alias-of"`
			}
		}
		if err != nil || json.Unmarshal(text, &d) != nil {
			t.Fatal(err)
		}
		found := map[string]listing{}
		for _, m := range d.Methods {
			var names []string
			for _, s := range m.Servers {
				names = append(names, s.Name)
			}
			found[m.Name] = listing{strings.Join(names, " "), m.AliasOf}
		}
		return found
	}
	plain, layer2 := apidoc.Server{Name: "plain", Embedded: true}, apidoc.Server{Name: "layer2", Layer2: true, Alias: "linea", Namespaces: []string{"debug"}}
	both := list(plain, layer2)
	for name, want := range map[string]listing{
		"eth_call": {}, "layer2_estimateGas": {"layer2", ""}, "linea_estimateGas": {"layer2", "layer2_estimateGas"},
		"debug_traceCall": {"layer2", ""}, "eth_protocolVersion": {"layer2", ""},
	} {
		if got, ok := both[name]; !ok || got != want {
			t.Errorf("%s is listed: %t, as %+v, want %+v", name, ok, got, want)
		}
	}
	alone := list(plain)
	for _, name := range []string{"layer2_estimateGas", "linea_estimateGas", "debug_traceCall", "evm_mine", "eth_protocolVersion"} {
		if _, ok := alone[name]; ok {
			t.Errorf("%s is listed, and no network has it", name)
		}
	}
	if _, ok := list(layer2)["evm_mine"]; ok {
		t.Error("evm_mine is listed, and no network has turned it on")
	}
}

// shaped wants the members that an object must have and none that it can't; x-… is free.
func shaped(t *testing.T, kind string, value any) {
	t.Helper()
	object, ok := value.(map[string]any)
	if !ok {
		t.Errorf("a %s is %v", kind, value)
		return
	}
	allowed := strings.Fields(openRPCObjects[kind])
	for _, name := range allowed {
		if plain, must := strings.CutPrefix(name, "+"); must {
			if _, ok := object[plain]; !ok {
				t.Errorf("a %s lacks %s: %v", kind, plain, object)
			}
		}
	}
	for name := range object {
		if !strings.HasPrefix(name, "x-") && !slices.Contains(allowed, name) && !slices.Contains(allowed, "+"+name) {
			t.Errorf("a %s has %s, which OpenRPC doesn't know", kind, name)
		}
	}
}

// TestCommonFaults holds the table to the one in docs/json-rpc.md, which another test
// holds to the codes of the service.
func TestCommonFaults(t *testing.T) {
	page, err := os.ReadFile("../../../docs/json-rpc.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rows, found := strings.Cut(string(page), "\n## Errors\n")
	if !found {
		t.Fatal("the page has no table of errors")
	}
	for _, f := range book(t).Common {
		row := fmt.Sprintf("| %d | %d | ", f.HTTP, f.Code)
		if !slices.ContainsFunc(strings.Split(rows, "\n"), func(line string) bool { return strings.Contains(line, row) && strings.Contains(line, "`"+f.Message) }) {
			t.Errorf("the page has no row %s`%s`", row, f.Message)
		}
	}
}

// TestSearch finds by every word, whatever its case.
func TestSearch(t *testing.T) {
	b := book(t)
	for search, want := range map[string][]string{
		"RECEIPT block":      {"eth_getBlockReceipts", "eth_subscribe", "eth_getTransactionReceipt"},
		"layer2_estimateGas": {"layer2_estimateGas"},
		"zzz receipt":        nil,
	} {
		var got []string
		for _, g := range b.Groups(search) {
			for _, m := range g.Methods {
				got = append(got, m.Name)
			}
		}
		for _, name := range want {
			if !slices.Contains(got, name) {
				t.Errorf("%q finds %q, without %s", search, got, name)
			}
		}
		if want == nil && got != nil {
			t.Errorf("%q finds %q", search, got)
		}
	}
	if all := b.Groups("  "); len(all) < 8 {
		t.Errorf("no search shows %d groups", len(all))
	}
}
