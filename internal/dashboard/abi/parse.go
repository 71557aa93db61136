package abi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/ethereum/go-ethereum/crypto"
)

// MaxText bounds an ABI.
const MaxText = 48 << 10

// ABI are the functions, events and errors of contracts. It decodes one response: what it
// may produce is bounded for all its results and logs together.
type ABI struct {
	left budget

	functions, errors map[string]*entry // by the first four bytes of their hash
	events            map[string]*entry // by the whole hash
}

// entry is one of them.
type entry struct {
	kind      string // function, event or error
	name      string
	inputs    []field
	outputs   []field
	anonymous bool
}

func (e *entry) signature() string { return e.name + "(" + namesOf(e.inputs) + ")" }

var errNothing = errors.New("it has no function, event or error")

// Parse reads an ABI: JSON, an object with a member abi, or one signature a line.
func Parse(text string) (*ABI, error) {
	if len(text) > MaxText {
		return nil, fmt.Errorf("larger than %d KiB", MaxText>>10)
	}
	text = strings.TrimSpace(text)
	a := &ABI{left: budget{values: maxValues, bytes: maxBytes}, functions: map[string]*entry{}, errors: map[string]*entry{}, events: map[string]*entry{}}
	var err error
	if strings.HasPrefix(text, "[") || strings.HasPrefix(text, "{") {
		err = a.readJSON([]byte(text))
	} else {
		err = a.readLines(text)
	}
	if err == nil && len(a.functions)+len(a.events)+len(a.errors) == 0 {
		err = errNothing
	}
	if err != nil {
		return nil, err
	}
	return a, nil
}

// member is an entry or a parameter in JSON.
type member struct {
	Type, Name                  string
	Inputs, Outputs, Components []member
	Indexed, Anonymous          bool
}

func (a *ABI) readJSON(text []byte) error {
	if bytes.HasPrefix(text, []byte("{")) {
		var artifact struct{ ABI json.RawMessage }
		if err := json.Unmarshal(text, &artifact); err != nil {
			return errors.New("not JSON")
		}
		if text = artifact.ABI; text == nil {
			return errNothing
		}
	}
	var list []member
	if err := json.Unmarshal(text, &list); err != nil {
		return errors.New("not an ABI in JSON")
	}
	for _, m := range list {
		e := &entry{kind: m.Type, name: m.Name, anonymous: m.Anonymous}
		var err error
		if e.inputs, err = fieldsOf(m.Inputs, 0); err == nil {
			e.outputs, err = fieldsOf(m.Outputs, 0)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		a.add(e)
	}
	return nil
}

func fieldsOf(list []member, depth int) (fields []field, err error) {
	if depth > maxDepth {
		return nil, errType
	}
	for _, m := range list {
		f := field{name: m.Name, indexed: m.Indexed}
		var parts []field
		if parts, err = fieldsOf(m.Components, depth+1); err != nil {
			return nil, err
		}
		if f.typ, err = parseType(m.Type, parts, depth); err != nil {
			return nil, err
		}
		fields = append(fields, f)
	}
	return fields, nil
}

func (a *ABI) add(e *entry) {
	hash := string(crypto.Keccak256([]byte(e.signature())))
	switch {
	case e.kind == "function":
		a.functions[hash[:4]] = e
	case e.kind == "error":
		a.errors[hash[:4]] = e
	case e.kind == "event" && !e.anonymous:
		a.events[hash] = e
	}
}

// readLines reads signatures. What follows the parameters of a function up to returns is
// skipped: view, external and so on.
func (a *ABI) readLines(text string) error {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(strings.TrimSpace(line), ";")
		if line == "" {
			continue
		}
		e, err := parseLine(line)
		if err != nil {
			return fmt.Errorf("%.60q: %w", line, err)
		}
		a.add(e)
	}
	return nil
}

var errLine = errors.New("not a signature, such as function balanceOf(address) returns (uint256)")

func parseLine(line string) (*entry, error) {
	e := &entry{kind: "function"}
	head, rest, found := strings.Cut(line, "(")
	if !found {
		return nil, errLine
	}
	for i, word := range strings.Fields(head) {
		switch {
		case i == 0 && (word == "function" || word == "event" || word == "error"):
			e.kind = word
		case e.name == "":
			e.name = word
		default:
			return nil, errLine
		}
	}
	inside, rest, ok := enclosed(rest)
	if !ok || e.name == "" {
		return nil, errLine
	}
	var err error
	if e.inputs, err = parseFields(inside, 0); err != nil {
		return nil, err
	}
	if _, returned, ok := strings.Cut(rest, "returns"); ok {
		returned = strings.TrimPrefix(strings.TrimSpace(returned), "(")
		if inside, _, ok = enclosed(returned); !ok {
			return nil, errLine
		}
		e.outputs, err = parseFields(inside, 0)
	}
	return e, err
}

// enclosed cuts a text at the bracket that closes one before it.
func enclosed(text string) (inside, rest string, ok bool) {
	end := topIndex(text, ")")
	if end < 0 {
		return "", "", false
	}
	return text[:end], text[end+1:], true
}

// topIndex is where the first of some characters is outside of brackets, or -1.
func topIndex(text, of string) int {
	open := 0
	for i, c := range text {
		switch {
		case open == 0 && strings.ContainsRune(of, c):
			return i
		case c == '(':
			open++
		case c == ')':
			open--
		}
	}
	return -1
}

// parseFields reads a list of parameters: type, indexed or a location, name.
func parseFields(text string, depth int) (fields []field, err error) {
	if depth > maxDepth {
		return nil, errType
	}
	for _, part := range splitTop(text) {
		f := field{}
		name, rest := part, ""
		if end := topIndex(part, " \t"); end >= 0 {
			name, rest = part[:end], part[end:]
		}
		if f.typ, err = parseType(strings.TrimPrefix(name, "tuple"), nil, depth); err != nil {
			return nil, err
		}
		for _, word := range strings.Fields(rest) {
			switch word {
			case "indexed":
				f.indexed = true
			case "memory", "calldata", "storage", "payable":
			default:
				f.name = word
			}
		}
		fields = append(fields, f)
	}
	return fields, nil
}

// splitTop splits at commas outside of brackets.
func splitTop(text string) (parts []string) {
	for {
		end := topIndex(text, ",")
		if end < 0 {
			break
		}
		parts, text = append(parts, strings.TrimSpace(text[:end])), text[end+1:]
	}
	if last := strings.TrimSpace(text); last != "" || len(parts) > 0 {
		parts = append(parts, last)
	}
	return parts
}
