package docs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// decode reads one JSON value; numbers stay as they are written.
func decode(text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, fmt.Errorf("more than one value")
	}
	return v, nil
}

// differ says how two JSON texts differ, "" when they don't. With varies only
// their structure counts.
func differ(want, got string, varies bool) string {
	w, err := decode(want)
	if err != nil {
		return "the page's answer is not JSON: " + err.Error()
	}
	g, err := decode(got)
	if err != nil {
		return "the answer is not JSON: " + err.Error()
	}
	if varies {
		return shape("", w, g)
	}
	if !reflect.DeepEqual(w, g) {
		return "the values differ"
	}
	return ""
}

// exact are members that never vary: they say what a message is and what it belongs to.
var exact = []string{".jsonrpc", ".id", ".method", ".error.code", ".params.subscription"}

// shape compares the structure of two values: the same members, lengths and kinds.
// at is where in the message they stand.
func shape(at string, want, got any) string {
	for _, path := range exact {
		if at == path && !reflect.DeepEqual(want, got) {
			return fmt.Sprintf("%s is %v, want %v", at, got, want)
		}
	}
	switch w := want.(type) {
	case map[string]any:
		return shapeObject(at, w, got)
	case []any:
		return shapeArray(at, w, got)
	case string:
		if g, ok := got.(string); !ok || strings.HasPrefix(w, "0x") != strings.HasPrefix(g, "0x") {
			return fmt.Sprintf("%s is %v, want something like %v", at, got, want)
		}
		return ""
	}
	if reflect.TypeOf(want) != reflect.TypeOf(got) {
		return fmt.Sprintf("%s is %v, want something like %v", at, got, want)
	}
	return ""
}

func shapeObject(at string, want map[string]any, got any) string {
	g, ok := got.(map[string]any)
	if !ok {
		return fmt.Sprintf("%s is no object", at)
	}
	for name := range g {
		if _, ok := want[name]; !ok {
			return fmt.Sprintf("%s.%s is not on the page", at, name)
		}
	}
	for name, w := range want {
		v, ok := g[name]
		if !ok {
			return fmt.Sprintf("%s.%s is only on the page", at, name)
		}
		if why := shape(at+"."+name, w, v); why != "" {
			return why
		}
	}
	return ""
}

func shapeArray(at string, want []any, got any) string {
	g, ok := got.([]any)
	if !ok || len(g) != len(want) {
		return fmt.Sprintf("%s is %v, want %d elements", at, got, len(want))
	}
	for i, w := range want {
		if why := shape(fmt.Sprintf("%s[%d]", at, i), w, g[i]); why != "" {
			return why
		}
	}
	return ""
}

// pretty lays an answer out for a page: short ones on one line.
func pretty(answer string) string {
	const oneLine = 160
	if len(answer) <= oneLine {
		return answer
	}
	var out bytes.Buffer
	if err := json.Indent(&out, []byte(answer), "", "  "); err != nil {
		return answer
	}
	return out.String()
}

func TestDiffer(t *testing.T) {
	for _, c := range []struct {
		want, got   string
		varies, bad bool
	}{
		{`{"id":1,"result":"0x1"}`, `{"result": "0x1", "id": 1}`, false, false},
		{`{"id":1,"result":"0x1"}`, `{"id":1,"result":"0x2"}`, false, true},
		{`{"id":1}`, `{"id":1.0}`, false, true},
		{`{"id":1,"result":"0x1"}`, `{"id":1,"result":"0x22"}`, true, false},
		{`{"id":1,"result":"0x1"}`, `{"id":2,"result":"0x1"}`, true, true},
		{`{"id":1,"result":"0x1"}`, `{"id":1,"error":{"code":3}}`, true, true},
		{`{"id":1,"result":"0x1"}`, `{"id":1,"result":null}`, true, true},
		{`{"id":1,"result":"0x1"}`, `{"id":1,"result":"x"}`, true, true},
		{`{"id":1,"error":{"code":3}}`, `{"id":1,"error":{"code":4}}`, true, true},
		{`{"result":["0x1"]}`, `{"result":["0x1","0x2"]}`, true, true},
		{`{"result":{"a":1}}`, `{"result":{"a":1,"b":1}}`, true, true},
		{`{"result":"..."`, `{"result":"..."}`, false, true},
	} {
		if why := differ(c.want, c.got, c.varies); (why != "") != c.bad {
			t.Errorf("differ(%s, %s, %v) = %q", c.want, c.got, c.varies, why)
		}
	}
}
