package apidoc

import "strings"

// Type is a kind of value that methods take or answer.
type Type struct {
	Name, What string
	Base       string   // of JSON: string, boolean, number, object
	Pattern    string   // of a string
	Enum       []string // the only strings
	AnyOf      []string // one of these types instead
	Fields     []Field  // of an object; others may stand beside them
}

// Field is one member of an object.
type Field struct {
	Name, Type string
	Required   bool
	What       string
}

// Schema turns the short form of the tables into a JSON schema. The form is the name of
// a Type, []NAME for a list, and |null behind either where null is possible too.
func Schema(short string) any {
	if plain, ok := strings.CutSuffix(short, "|null"); ok {
		return map[string]any{"anyOf": []any{Schema(plain), map[string]any{"type": "null"}}}
	}
	if item, ok := strings.CutPrefix(short, "[]"); ok {
		return map[string]any{"type": "array", "items": Schema(item)}
	}
	return map[string]any{"$ref": "#/components/schemas/" + short}
}

// TypeName is the name of the Type in a short form.
func TypeName(short string) string {
	return strings.TrimLeft(strings.TrimSuffix(short, "|null"), "[]")
}

// schema is the type itself.
func (t *Type) schema() map[string]any {
	s := map[string]any{"title": t.Name, "description": t.What}
	if t.Base != "" {
		s["type"] = t.Base
	}
	if t.Pattern != "" {
		s["pattern"] = t.Pattern
	}
	if t.Enum != nil {
		s["enum"] = t.Enum
	}
	if t.AnyOf != nil {
		list := make([]any, len(t.AnyOf))
		for i, short := range t.AnyOf {
			list[i] = Schema(short)
		}
		s["anyOf"] = list
	}
	if t.Fields != nil {
		t.object(s)
	}
	return s
}

func (t *Type) object(s map[string]any) {
	members, required := map[string]any{}, []string{}
	for _, f := range t.Fields {
		members[f.Name] = Schema(f.Type)
		if f.Required {
			required = append(required, f.Name)
		}
	}
	s["properties"] = members
	if len(required) > 0 {
		s["required"] = required
	}
}
