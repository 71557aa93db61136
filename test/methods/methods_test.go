package methods

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/dashboard/apidoc"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/method/permit"
	"github.com/nodegate/nodegate/internal/obs"
	"github.com/nodegate/nodegate/internal/rpc/blocktag"
	"github.com/nodegate/nodegate/internal/rpc/cache"
	"github.com/nodegate/nodegate/internal/rpc/eth"
)

// node answers everything, and remembers what it was asked.
type node struct {
	answer string
	asked  []string
}

func (n *node) Call(_ context.Context, name string, params []byte) ([]byte, error) {
	n.asked = append(n.asked, name+" "+string(params))
	return []byte(n.answer), nil
}

func (*node) Head(context.Context) (nodegate.Head, error) {
	return nodegate.Head{Number: 1000, Safe: 990, Finalized: 980, GasLimit: 30_000_000, Fork: 1}, nil
}

// answerOf is what the node answers: an object of block 1, or a list.
func answerOf(row *method.Row) string {
	if row.Answer == method.LogsAnswer || row.Answer == method.ReceiptsAnswer {
		return `[]`
	}
	return `{"blockNumber":"0x1","blockHash":"0x` + strings.Repeat("11", 32) + `"}`
}

// walk calls check with every row.
func walk(t *testing.T, check func(t *testing.T, row *method.Row)) {
	if len(method.All()) < 60 {
		t.Fatalf("the table has only %d rows", len(method.All()))
	}
	for _, row := range method.All() {
		t.Run(row.Name, func(t *testing.T) { check(t, row) })
	}
}

func params(t *testing.T, row *method.Row) (list []json.RawMessage) {
	t.Helper()
	if err := json.Unmarshal([]byte(row.Example.Params), &list); err != nil {
		t.Fatalf("the example's parameters %s: %v", row.Example.Params, err)
	}
	return list
}

func array(t *testing.T, list []json.RawMessage) []byte {
	t.Helper()
	out, err := json.Marshal(append([]json.RawMessage{}, list...))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// developer is a request of a key with the scope development.
func developer(t *testing.T) context.Context {
	policy := new(atomic.Pointer[nodegate.Policy])
	policy.Store(&nodegate.Policy{Development: true})
	grant, _ := nodegate.NewGrant("a", "k", policy)
	return nodegate.WithGrant(t.Context(), grant)
}

// TestNames: a row is found by its name, which is a method's and in a known namespace.
func TestNames(t *testing.T) {
	pattern, seen := regexp.MustCompile(`^[a-z][a-z0-9]*_[a-z][A-Za-z0-9]*$`), map[string]bool{}
	walk(t, func(t *testing.T, row *method.Row) {
		if seen[row.Name] || method.Of(row.Name) != row || !pattern.MatchString(row.Name) {
			t.Error("is there twice, not found, or no method's name")
		}
		seen[row.Name] = true
		if !row.Layer2() && !method.OfferedToDevelopers(row.Name) {
			t.Error("is served nowhere")
		}
		if always := !row.Scoped && slices.Contains(method.AlwaysOn(), row.Namespace()); !row.Layer2() && method.Offered(row.Name, nil) != always {
			t.Errorf("is served without its namespace: %t", !always)
		}
	})
}

// TestPrices: every call has a price, which is the row's own where it has one.
func TestPrices(t *testing.T) {
	costs := config.Default().Costs
	walk(t, func(t *testing.T, row *method.Row) {
		price, ok := costs[row.Price()]
		if !ok || price <= 0 || row.Credits > 0 && price != row.Credits {
			t.Errorf("costs %d by the setting %q, the row says %d", price, row.Price(), row.Credits)
		}
	})
	for name := range costs {
		if strings.Contains(name, "_") && method.Of(name).Credits == 0 && name != method.EthSubscription {
			t.Errorf("%s has a built-in price and no row with one", name)
		}
	}
}

// TestLabels: metrics count a method by its name or with all others.
func TestLabels(t *testing.T) {
	counted := method.Counted()
	walk(t, func(t *testing.T, row *method.Row) {
		if slices.Contains(counted, row.Name) != row.Counted {
			t.Errorf("is counted by its name in the metrics: %v, and its row says %v", !row.Counted, row.Counted)
		}
		if row.NodeLabel() != row.Name && row.NodeLabel() != obs.Other {
			t.Errorf("has the label %s in the metrics of nodes", row.NodeLabel())
		}
	})
}

// TestArity: an example has the parameters that the row names, the checks let it through,
// and refuse too many with their number.
func TestArity(t *testing.T) {
	walk(t, func(t *testing.T, row *method.Row) {
		required := 0
		for _, p := range row.Params {
			if p.Required {
				required++
			}
		}
		if n := len(params(t, row)); n < required || n > row.MaxParams() {
			t.Errorf("the example has %d parameters, want %d to %d", n, required, row.MaxParams())
		}
		if row.Socket {
			return // the front end's
		}
		below := &node{answer: answerOf(row)}
		n := eth.New(below, eth.Config{Layer2: true, Namespaces: method.Optional(), LogBlocks: 10_000, LogResults: 10_000})
		if _, err := n.Call(developer(t), row.Name, []byte(row.Example.Params)); err != nil {
			t.Errorf("the example is refused: %v", err)
		}
		_, err := n.Call(developer(t), row.Name, []byte("["+strings.Repeat("1,", 40)+"1]"))
		if want := fmt.Sprintf("too many arguments, want at most %d", row.MaxParams()); nodegate.AsError(err).Msg != want {
			t.Errorf("41 parameters: %v, want %s", err, want)
		}
	})
}

// TestBlocks: a tag in the block parameter reaches nodes as a number, and nothing else
// is touched.
func TestBlocks(t *testing.T) {
	walk(t, func(t *testing.T, row *method.Row) {
		if row.Truth == method.OfARange || row.Name == method.EthBlockNumber {
			return // a filter has two; the head is answered
		}
		if row.Block >= len(row.Params) || row.Block < method.None {
			t.Fatalf("the block is at %d of %d parameters", row.Block, len(row.Params))
		}
		list := params(t, row)
		want := array(t, list)
		if row.Block != method.None {
			for len(list) <= row.Block {
				list = append(list, json.RawMessage("null"))
			}
			list[row.Block] = json.RawMessage(`"latest"`)
			want = array(t, append(append(slices.Clone(list[:row.Block]), json.RawMessage(`"0x3e8"`)), list[row.Block+1:]...))
		}
		if got := tagged(t, row.Name, array(t, list)); got != string(want) {
			t.Errorf("%s reaches the node as %s, want %s", array(t, list), got, want)
		}
		if row.Block == method.None {
			return
		}
		short := string(array(t, list[:row.Block]))
		if got := tagged(t, row.Name, []byte(short)); (got != short) != row.FillLatest {
			t.Errorf("%s without its block reaches the node as %s", short, got)
		}
		list[row.Block] = json.RawMessage(`{"blockNumber":"latest"}`)
		if got := tagged(t, row.Name, array(t, list)); strings.Contains(got, "latest") == row.BlockObject {
			t.Errorf("%s reaches the node as %s", array(t, list), got)
		}
	})
}

// tagged is what reaches a node below the resolution of tags.
func tagged(t *testing.T, name string, params []byte) string {
	t.Helper()
	below := &node{answer: "null"}
	if _, err := blocktag.New(below).Call(t.Context(), name, params); err != nil || len(below.asked) != 1 {
		t.Fatalf("%s %s: %v, asked %q", name, params, err, below.asked)
	}
	return strings.TrimPrefix(below.asked[0], name+" ")
}

// TestBlockTypes: the type of a block parameter is one in the documentation, and says
// whether it may be an object.
func TestBlockTypes(t *testing.T) {
	b := book(t)
	walk(t, func(t *testing.T, row *method.Row) {
		if row.Block == method.None {
			if row.Truth == method.OfABlock {
				t.Error("is kept by its block, and no parameter is one")
			}
			return
		}
		kinds := kindsOf(b, row.Params[row.Block].Type)
		if !kinds["Quantity"] || !kinds["Tag"] && !kinds["TagNotSafe"] || kinds["BlockReference"] != row.BlockObject {
			t.Errorf("its block is one of %v, an object: %t", kinds, row.BlockObject)
		}
	})
}

// kindsOf are the types that a type may be, at any depth.
func kindsOf(b *apidoc.Book, name string) map[string]bool {
	kinds := map[string]bool{name: true}
	for _, typ := range b.Types {
		if typ.Name == name {
			for _, one := range typ.AnyOf {
				for kind := range kindsOf(b, one) {
					kinds[kind] = true
				}
			}
		}
	}
	return kinds
}

// TestCache: what stays true is asked once, and everything else each time.
func TestCache(t *testing.T) {
	walk(t, func(t *testing.T, row *method.Row) {
		below := &node{answer: answerOf(row)}
		c := cache.New(below, cache.Config{Network: "x", Bytes: 1 << 20})
		for range 2 {
			if _, err := c.Call(t.Context(), row.Name, []byte(row.Example.Params)); err != nil {
				t.Fatal(err)
			}
		}
		want := 2
		if row.Truth != method.Never {
			want = 1
		}
		if len(below.asked) != want {
			t.Errorf("two calls ask the node %d times, want %d", len(below.asked), want)
		}
		if row.Truth != method.Never && row.Kind != method.Read {
			t.Error("is kept, and may not be asked again")
		}
		if cache.Pays(row.Name) != row.SlowEmbedded {
			t.Errorf("is cached before an embedded chain: %t, want %t", cache.Pays(row.Name), row.SlowEmbedded)
		}
		if row.SlowEmbedded && row.Truth == method.Never {
			t.Error("is cached before an embedded chain, and never kept")
		}
	})
}

// TestWindow: a history window holds for the methods that can have one. The configuration
// refuses it for others.
func TestWindow(t *testing.T) {
	walk(t, func(t *testing.T, row *method.Row) {
		if !row.Window {
			return
		}
		list := params(t, row)
		if row.Block != method.None {
			list = append(slices.Clone(list[:row.Block]), json.RawMessage(`"0x1"`))
		}
		n := eth.New(&node{answer: answerOf(row)}, eth.Config{HistoryWindow: map[string]uint64{row.Name: 128}})
		if _, err := n.Call(t.Context(), row.Name, array(t, list)); !errors.Is(err, nodegate.OutsideHistory) {
			t.Errorf("block 1 of 1,000 with a window of 128: %v", err)
		}
	})
}

// demo are the contracts in the examples.
var demo = []string{
	"0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9", "0x000000000000000000000000000000000000beef", "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266",
}

// TestPermit: a key with an address list may call what names no contract, and where the
// row says where contracts are named, what names those on the list.
func TestPermit(t *testing.T) {
	allowing, other := &nodegate.KeySettings{Addresses: demo}, &nodegate.KeySettings{Addresses: []string{"0x00000000000000000000000000000000000000aa"}}
	plain := &nodegate.KeySettings{Services: []string{nodegate.ServiceRPC}}
	walk(t, func(t *testing.T, row *method.Row) {
		example := []byte(row.Example.Params)
		if err := permit.Call(allowing, row.Name, example); (err == nil) != (row.Contracts != method.UnknownContracts) {
			t.Errorf("the example with its contracts allowed: %v", err)
		}
		none := row.Contracts == method.NoContracts || row.Contracts == method.Subscription // newHeads names none
		if err := permit.Call(other, row.Name, example); (err == nil) != none {
			t.Errorf("the example with another contract allowed: %v", err)
		}
		if err := permit.Call(plain, row.Name, example); (err != nil) != row.Development {
			t.Errorf("without the service of development: %v", err)
		}
	})
}

func book(t *testing.T) *apidoc.Book {
	t.Helper()
	b, err := apidoc.New()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestDocs: every row has its page and its entry in openrpc.json, which say the same.
func TestDocs(t *testing.T) {
	b := book(t)
	text, err := b.OpenRPC(apidoc.Service{
		Servers: []apidoc.Server{{Name: "x", Layer2: true, Alias: "brand", Namespaces: method.Optional()}, {Name: "y", Embedded: true}},
		Credits: func(name string) int64 { return int64(len(name)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Methods []struct {
			Name   string
			Params []struct {
				Name     string
				Required bool
			}
			Examples []struct {
				Params []struct{ Value json.RawMessage }
			}
		}
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	at := map[string]int{}
	for i, m := range d.Methods {
		at[m.Name] = i
	}
	walk(t, func(t *testing.T, row *method.Row) {
		if row.Summary == "" || row.Group == "" || row.Result.Type == "" || b.Find(row.Name) == nil || b.Answer(row.Name) == nil {
			t.Error("lacks its summary, group, result, page or recorded answer")
		}
		for _, name := range []string{row.Name, row.Alias("brand")} {
			i, listed := at[name]
			if name == "" {
				continue
			}
			if !listed {
				t.Fatalf("%s is not in openrpc.json", name)
			}
			m := d.Methods[i]
			if len(m.Params) != row.MaxParams() || len(m.Examples) != 1 || len(m.Examples[0].Params) != len(params(t, row)) {
				t.Errorf("openrpc.json has %+v", m)
			}
			for j, p := range row.Params {
				if m.Params[j].Name != p.Name || m.Params[j].Required != p.Required {
					t.Errorf("openrpc.json has the parameter %+v, want %+v", m.Params[j], p)
				}
			}
		}
	})
	if want := len(method.All()) + 1; len(d.Methods) != want {
		t.Errorf("openrpc.json lists %d methods, want %d", len(d.Methods), want)
	}
}

// TestTry: what the dashboard offers to try is JSON within the arity, each in its place.
func TestTry(t *testing.T) {
	fill := strings.NewReplacer("$address", "0x1", "$contract", "0x1", "$transaction", "0x1", "$block", "0x1", "$index", "0x1", "$call", "{}")
	places := map[int]string{}
	walk(t, func(t *testing.T, row *method.Row) {
		if row.Try == (method.Try{}) {
			return
		}
		if other, taken := places[row.Try.Order]; taken || row.Try.Order < 1 {
			t.Errorf("is at %d, where %q is", row.Try.Order, other)
		}
		places[row.Try.Order] = row.Name
		var list []any
		filled := fill.Replace(row.Try.Params)
		if err := json.Unmarshal([]byte(filled), &list); err != nil || len(list) > row.MaxParams() || strings.Contains(filled, "$") {
			t.Errorf("%s: %v", filled, err)
		}
	})
}
