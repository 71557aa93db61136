package apidoc

import (
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
)

// Method documents one method.
type Method struct {
	Name    string
	Group   string
	Summary string // one sentence
	About   string // what else is worth knowing, or ""
	Params  []Param
	Result  Result
	Errors  []Fault // beyond those of every method; each code once
	Socket  bool    // on WebSockets only
	Example Example
}

// Param is one parameter; they are given by position.
type Param struct {
	Name     string
	Type     string // see Schema
	Required bool   // in the dialect spec
	What     string
}

// Result is what a method answers.
type Result struct {
	Type string // see Schema
	What string
}

// Fault is an error that a method ends with.
type Fault struct {
	Code int
	When string
}

// Example is a call that works on a new built-in network.
type Example struct {
	Network string
	Params  string // a JSON array
	After   string // the method whose answer is the first parameter, or ""
	Varies  bool   // the answer differs each time
}

// Difference is one line of the table of dialects.
type Difference struct {
	What                   string
	Spec, Strict, Standard string
	Methods                []string
}

//go:embed answers.json
var answersFile []byte

// Book is all that is known, ready to be looked up. It is read by many at once and never
// changed.
type Book struct {
	Methods []Method
	Types   []Type
	Common  []CommonFault

	answers map[string]json.RawMessage
	schemas map[string]any // of types, by name
}

// New puts the tables together.
func New() (*Book, error) {
	b := &Book{Methods: slices.Concat(theNine, chainMethods, logMethods, nodeMethods), Types: types, Common: commonFaults, schemas: map[string]any{}}
	for i := range b.Types {
		b.schemas[b.Types[i].Name] = b.Types[i].schema()
	}
	return b, json.Unmarshal(answersFile, &b.answers)
}

// Find looks a method up; nil when it is not in the tables.
func (b *Book) Find(name string) *Method {
	i := slices.IndexFunc(b.Methods, func(m Method) bool { return m.Name == name })
	if i < 0 {
		return nil
	}
	return &b.Methods[i]
}

// Answer is the recorded result of a method's example.
func (b *Book) Answer(name string) json.RawMessage { return b.answers[name] }

// Request is the envelope of a method's example.
func (m *Method) Request() string {
	return `{"jsonrpc":"2.0","id":1,"method":"` + m.Name + `","params":` + m.Example.Params + `}`
}

// Dialects are the differences that touch a method.
func (m *Method) Dialects() (list []Difference) {
	for _, d := range differences {
		if slices.Contains(d.Methods, m.Name) {
			list = append(list, d)
		}
	}
	return list
}

// Group is some methods under a heading.
type Group struct {
	Name    string
	Methods []Method
}

// Groups are the methods that match a search, in the order of the tables. Every word
// must stand in the method's name, its group or what is said about it.
func (b *Book) Groups(search string) (groups []Group) {
	words := strings.Fields(strings.ToLower(search))
	for _, m := range b.Methods {
		if !m.matches(words) {
			continue
		}
		if len(groups) == 0 || groups[len(groups)-1].Name != m.Group {
			groups = append(groups, Group{Name: m.Group})
		}
		last := &groups[len(groups)-1]
		last.Methods = append(last.Methods, m)
	}
	return groups
}

func (m *Method) matches(words []string) bool {
	var b strings.Builder
	for _, text := range []string{m.Name, m.Group, m.Summary, m.About, m.Result.What} {
		b.WriteString(strings.ToLower(text) + "\n")
	}
	for _, p := range m.Params {
		b.WriteString(strings.ToLower(p.Name) + "\n")
	}
	text := b.String()
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
}
