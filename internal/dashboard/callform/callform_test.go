package callform

import (
	"encoding/json"
	"testing"

	"github.com/nodegate/nodegate/internal/dashboard/apidoc"
)

func newForm(t *testing.T) (*Form, *apidoc.Book) {
	t.Helper()
	b, err := apidoc.New()
	if err != nil {
		t.Fatal(err)
	}
	return New(b), b
}

// values are what a browser sends of a form as it stands.
func values(fields []Field) map[string]string {
	all := map[string]string{}
	for i := range fields {
		fields[i].collect(all)
	}
	return all
}

// TestEveryMethod: the example of each method fills its form, and comes back as it was.
func TestEveryMethod(t *testing.T) {
	form, book := newForm(t)
	seen, shown := 0, 0
	for i := range book.Methods {
		m := &book.Methods[i]
		params := m.Example.Params
		if params == "" {
			continue
		}
		seen++
		fields, whole := form.Fields(m, params)
		if len(fields) != len(m.Params) {
			t.Errorf("%s has %d inputs for %d parameters", m.Name, len(fields), len(m.Params))
		}
		got := form.Params(m, func(name string) string { return values(fields)[name] })
		if !json.Valid([]byte(got)) || whole != same(got, params) {
			t.Errorf("%s: %s comes back as %s, whole: %v", m.Name, params, got, whole)
		}
		if whole {
			shown++
		} else {
			t.Logf("%s shows %s as JSON only", m.Name, params)
		}
	}
	if seen < 40 || shown < seen*9/10 {
		t.Errorf("%d of %d examples fit a form", shown, seen)
	}
}

// TestRead: what is typed becomes the JSON that it looks like.
func TestRead(t *testing.T) {
	form, book := newForm(t)
	for _, c := range []struct {
		method string
		typed  map[string]string
		want   string
	}{
		{"eth_getBalance", map[string]string{"p0": " 0x01 ", "p1": "latest"}, `["0x01","latest"]`},
		{"eth_getBalance", map[string]string{"p0": "0x01"}, `["0x01"]`},
		{"eth_getBalance", map[string]string{"p1": "latest"}, `[null,"latest"]`},
		{"eth_getBalance", map[string]string{"p0": "0x01", "p1": `{"blockNumber":"0x1"}`}, `["0x01",{"blockNumber":"0x1"}]`},
		{"eth_getBalance", map[string]string{"p0": `{"a":1}`}, `["{\"a\":1}"]`},
		{"eth_getBalance", map[string]string{"p0": `a"b<c`}, `["a\"b<c"]`},
		{"eth_getBlockByNumber", map[string]string{"p0": "0x1", "p1": "true"}, `["0x1",true]`},
		{"eth_getBlockByNumber", map[string]string{"p0": "0x1", "p1": "yes"}, `["0x1","yes"]`},
		{"eth_call", map[string]string{"p0.to": "0x02", "p0.data": "0x", "p1": "latest"}, `[{"to":"0x02","data":"0x"},"latest"]`},
		{"eth_call", map[string]string{}, `[{}]`},
		{"eth_getLogs", map[string]string{"p0.address": `["0x1"]`, "p0.topics": "[null]"}, `[{"address":["0x1"],"topics":[null]}]`},
		{"eth_getLogs", map[string]string{"p0.topics": "[no JSON"}, `[{"topics":[no JSON}]`},
		{"eth_blockNumber", nil, `[]`},
		{"eth_subscribe", map[string]string{"p0": "newHeads"}, `["newHeads"]`},
	} {
		if got := form.Params(book.Find(c.method), func(name string) string { return c.typed[name] }); got != c.want {
			t.Errorf("%s with %v: %s, want %s", c.method, c.typed, got, c.want)
		}
	}
}

// TestNotWhole: what a form can't show is left to JSON.
func TestNotWhole(t *testing.T) {
	form, book := newForm(t)
	for method, list := range map[string][]string{
		"eth_getBalance":  {`{}`, `[`, ``, `["0x1","latest",3]`, `[5]`, `["0x1",null]`},
		"eth_call":        {`[{"to":"0x1","unknown":1}]`, `["0x1"]`, `[{"to":5}]`},
		"eth_blockNumber": {`[1]`},
	} {
		for _, params := range list {
			if fields, whole := form.Fields(book.Find(method), params); whole {
				t.Errorf("%s %s fits %+v", method, params, fields)
			}
		}
	}
	fields, whole := form.Fields(book.Find("eth_call"), `[{"to":"0x1","accessList":[]},"0x5"]`)
	if !whole || fields[0].Kind != Group || fields[1].Kind != Text || len(fields[1].Options) < 5 {
		t.Errorf("%v %+v", whole, fields)
	}
}
