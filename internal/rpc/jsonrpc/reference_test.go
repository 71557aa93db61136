package jsonrpc

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// This file says the rules of the package once more, in terms of two decoders
// that others wrote. It is slow and plain; the fuzz tests hold the package to it.

// wellFormed reports whether data is one JSON value, at most maxDepth deep.
func wellFormed(data []byte) bool {
	return jsontext.Value(data).IsValid(jsontext.AllowDuplicateNames(true)) && depth(data) <= maxDepth
}

// depth is the number of arrays and objects open at once, at most.
func depth(data []byte) (deepest int) {
	dec := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true))
	for {
		if _, err := dec.ReadToken(); err != nil {
			return deepest
		}
		deepest = max(deepest, dec.StackDepth())
	}
}

// pair is a member of an object: its name as sent and decoded, and its value.
type pair struct {
	token, name string
	value       []byte
}

// pairs lists the members of a well-formed object, repeated ones too.
func pairs(t testing.TB, object []byte) (list []pair) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(object))
	must(t, tokenErr(dec))
	for dec.More() {
		before := dec.InputOffset()
		tok, err := dec.Token()
		must(t, err)
		var value json.RawMessage
		token := bytes.TrimLeft(object[before:dec.InputOffset()], ", \t\r\n")
		must(t, dec.Decode(&value))
		list = append(list, pair{string(token), tok.(string), bytes.TrimSpace(value)})
	}
	return list
}

func tokenErr(dec *json.Decoder) error {
	_, err := dec.Token()
	return err
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("the reference itself failed: %v", err)
	}
}

// array splits a well-formed array.
func array(t testing.TB, data []byte) (elems [][]byte) {
	t.Helper()
	var raw []json.RawMessage
	must(t, json.Unmarshal(data, &raw))
	for _, e := range raw {
		elems = append(elems, bytes.TrimSpace(e))
	}
	return elems
}

// request is what Scan should make of one well-formed element.
func request(t testing.TB, elem []byte) Request {
	t.Helper()
	refused := Request{ID: []byte("null"), Err: InvalidRequest}
	if elem[0] != '{' {
		return refused
	}
	known := map[string][]byte{}
	for _, p := range pairs(t, elem) {
		for _, ours := range []string{"jsonrpc", "method", "params", "id"} {
			if !strings.EqualFold(p.name, ours) {
				continue
			}
			if known[ours] != nil || p.token != `"`+ours+`"` {
				return refused
			}
			known[ours] = p.value
		}
	}
	return judge(refused, known)
}

// judge is the second half of request: the members, each seen at most once.
func judge(refused Request, known map[string][]byte) Request {
	switch decode(known["id"]).(type) {
	case nil, string, json.Number:
	default:
		return refused
	}
	if known["id"] != nil {
		refused.ID = known["id"]
	}
	name, _ := decode(known["method"]).(string)
	if string(known["jsonrpc"]) != `"2.0"` || name == "" {
		return refused
	}
	r := Request{ID: known["id"], Method: []byte(name)}
	switch decode(known["params"]).(type) {
	case nil:
	case []any:
		r.Params = known["params"]
	default:
		r.Err = NonArrayArgs
	}
	return r
}

// decode returns a well-formed value, or nil for none, with its numbers as sent.
func decode(data []byte) (v any) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return nil
	}
	return v
}

// ambiguous reports whether an object in a well-formed value, at any depth, has
// two members whose names are equal but for case.
func ambiguous(t testing.TB, value []byte) bool {
	t.Helper()
	value = bytes.TrimSpace(value)
	switch value[0] {
	case '[':
		return slices.ContainsFunc(array(t, value), func(e []byte) bool { return ambiguous(t, e) })
	case '{':
		members := pairs(t, value)
		for i, p := range members {
			same := func(q pair) bool { return strings.EqualFold(p.name, q.name) }
			if slices.ContainsFunc(members[:i], same) || ambiguous(t, p.value) {
				return true
			}
		}
	}
	return false
}
