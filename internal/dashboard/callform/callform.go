// Package callform builds a form for a method's parameters from the method table, and reads
// the form back as JSON.
package callform

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/nodegate/nodegate/internal/dashboard/apidoc"
)

// Kind is how a field is filled in.
type Kind string

// The kinds.
const (
	Text   Kind = "text"   // becomes a string
	Choice Kind = "choice" // one of Options
	JSON   Kind = "json"   // any JSON
	Group  Kind = "group"  // an object with Fields
)

// Field is one parameter, or one member of it.
type Field struct {
	Name        string // of the input: p0, p0.to
	Label, Type string
	What        string
	Required    bool
	Kind        Kind
	Value       string
	Options     []string // of a choice, or what a text often is
	Pattern     string   // of a text
	Fields      []Field  // of a group
	Folded      bool     // rarely used and empty

	Bare    bool // a choice without quotes: true, false
	Numbers bool // a text that is a number stays one
	Objects bool // a text that is an object or a list stays one
}

// shownMembers is how many members of a group are shown at once.
const shownMembers = 8

// Form makes forms of methods.
type Form struct{ types map[string]*apidoc.Type }

// New knows the types of a book.
func New(b *apidoc.Book) *Form {
	f := &Form{types: map[string]*apidoc.Type{}}
	for i := range b.Types {
		f.types[b.Types[i].Name] = &b.Types[i]
	}
	return f
}

// Fields are the inputs of a method, filled with parameters, one JSON array. It is false
// where a form can't show the parameters as they are.
func (f *Form) Fields(m *apidoc.Method, params string) (fields []Field, whole bool) {
	var list []json.RawMessage
	whole = json.Unmarshal([]byte(params), &list) == nil && len(list) <= len(m.Params)
	values := map[string]string{}
	for i, p := range m.Params {
		field := f.field("p"+strconv.Itoa(i), p.Name, p.Type, true)
		field.What, field.Required = p.What, p.Required
		if i < len(list) {
			field.fill(list[i])
		}
		field.collect(values)
		fields = append(fields, field)
	}
	again := f.Params(m, func(name string) string { return values[name] })
	return fields, whole && same(params, again)
}

// field is an empty input of a type. Members of a group are no groups themselves.
func (f *Form) field(name, label, short string, outer bool) Field {
	field := Field{Name: name, Label: label, Type: short, Kind: JSON}
	t := f.types[strings.TrimSuffix(short, "|null")]
	if t == nil {
		return field // a list
	}
	switch {
	case t.Base == "boolean":
		field.Kind, field.Options, field.Bare = Choice, []string{"true", "false"}, true
	case t.Base == "string" && t.Enum != nil:
		field.Kind, field.Options = Choice, t.Enum
	case t.Base == "string":
		field.Kind, field.Pattern = Text, t.Pattern
	case t.Base == "number":
		field.Kind, field.Numbers = Text, true
	case t.Base == "object" && len(t.Fields) > 0 && outer:
		field.Kind = Group
		for i, member := range t.Fields {
			part := f.field(name+"."+member.Name, member.Name, member.Type, false)
			part.What, part.Required, part.Folded = member.What, member.Required, i >= shownMembers
			field.Fields = append(field.Fields, part)
		}
	case t.AnyOf != nil:
		f.anyOf(&field, t)
	}
	return field
}

// anyOf is a text if one of the types is one: a tag, a number, a hash.
func (f *Form) anyOf(field *Field, t *apidoc.Type) {
	for _, short := range t.AnyOf {
		one := f.field("", "", short, true)
		switch one.Kind {
		case Text:
			field.Kind, field.Numbers = Text, field.Numbers || one.Numbers
			field.Objects = field.Objects || one.Objects
		case Choice:
			if !one.Bare {
				field.Kind = Text
			}
		default:
			field.Objects = true
		}
		field.Options = append(field.Options, one.Options...)
	}
	if field.Kind != Text {
		field.Options, field.Objects = nil, false
	}
}

// fill puts a value into the input. What doesn't fit is found when the form is read back.
func (field *Field) fill(raw json.RawMessage) {
	var text string
	if field.Kind == Group {
		field.fillGroup(raw)
		return
	}
	switch {
	case string(raw) == "null":
	case field.Kind != JSON && json.Unmarshal(raw, &text) == nil:
		field.Value = text
	default:
		var line bytes.Buffer
		if json.Compact(&line, raw) == nil {
			field.Value = line.String()
		}
	}
}

func (field *Field) fillGroup(raw json.RawMessage) {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return
	}
	for i := range field.Fields {
		part := &field.Fields[i]
		if value, ok := members[part.Label]; ok {
			part.fill(value)
			part.Folded = part.Folded && part.Value == ""
		}
	}
}

// Folds tells whether members of a group are folded away.
func (field Field) Folds() bool {
	return slices.ContainsFunc(field.Fields, func(part Field) bool { return part.Folded })
}

// collect notes what the inputs hold, by their names.
func (field *Field) collect(values map[string]string) {
	values[field.Name] = field.Value
	for i := range field.Fields {
		field.Fields[i].collect(values)
	}
}

// Params reads a form back: one JSON array. What is left out at the end is no parameter,
// and null before others.
func (f *Form) Params(m *apidoc.Method, value func(name string) string) string {
	list, filled := []string{}, 0
	for i, p := range m.Params {
		field := f.field("p"+strconv.Itoa(i), p.Name, p.Type, true)
		field.Required = p.Required
		text := field.read(value)
		if list = append(list, text); text != "" {
			filled = i + 1
		} else {
			list[i] = "null"
		}
	}
	return "[" + strings.Join(list[:filled], ",") + "]"
}

// read is the JSON of an input, or "".
func (field *Field) read(value func(string) string) string {
	if field.Kind == Group {
		return field.readGroup(value)
	}
	text := strings.TrimSpace(value(field.Name))
	switch {
	case text == "" || field.Kind == JSON || field.Bare && slices.Contains(field.Options, text):
		return text
	case field.Numbers && isNumber(text), field.Objects && (text[0] == '{' || text[0] == '[') && json.Valid([]byte(text)):
		return text
	}
	return quote(text)
}

func (field *Field) readGroup(value func(string) string) string {
	var members []string
	for i := range field.Fields {
		if text := field.Fields[i].read(value); text != "" {
			members = append(members, quote(field.Fields[i].Label)+":"+text)
		}
	}
	if len(members) == 0 && !field.Required {
		return ""
	}
	return "{" + strings.Join(members, ",") + "}"
}

func isNumber(text string) bool {
	var n json.Number
	return json.Unmarshal([]byte(text), &n) == nil && text[0] != '"'
}

func quote(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a string always can
	return strings.TrimSpace(b.String())
}

// same tells whether two texts are the same JSON.
func same(a, b string) bool {
	var x, y any
	return decode(a, &x) && decode(b, &y) && reflect.DeepEqual(x, y)
}

func decode(text string, into *any) bool {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	return d.Decode(into) == nil
}
