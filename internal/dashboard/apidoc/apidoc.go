package apidoc

import (
	_ "embed"
	"encoding/json"
	"slices"
	"strings"

	"github.com/nodegate/nodegate/internal/method"
)

// Method documents one method: its row of the method table.
type Method struct{ *method.Row }

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
	b := &Book{Types: types, Common: commonFaults, schemas: map[string]any{}}
	for _, row := range method.All() {
		b.Methods = append(b.Methods, Method{row})
	}
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
