package abi

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// kind is what a type is made of.
type kind uint8

const (
	uintKind kind = iota
	intKind
	addressKind
	boolKind
	fixedBytes // bytes1 to bytes32
	bytesKind
	stringKind
	listKind  // T[] and T[n]
	tupleKind // (A,B)
)

// kindType is a type of the ABI.
type kindType struct {
	kind   kind
	name   string // canonical: uint256, (address,bool)[]
	size   int    // bits of a number, bytes of fixedBytes, elements of a list; -1 is any number
	parts  []field
	inside *kindType // of a list

	dynamic bool // a value has an offset in its head and stands elsewhere
	head    int  // bytes of a value in the head
}

// field is a named value.
type field struct {
	name    string
	typ     *kindType
	indexed bool // of an event
}

const (
	maxDepth = 16                   // of lists of lists and tuples in tuples
	maxHead  = maxValues * wordSize // of a type: no value that is larger can be decoded
)

var errType = errors.New("not an ABI type")

// parseType reads a type's name. The parts of a tuple are given; nil reads them from the
// name.
func parseType(name string, parts []field, depth int) (*kindType, error) {
	if depth > maxDepth {
		return nil, errType
	}
	t, err := readType(name, parts, depth)
	if err != nil {
		return nil, err
	}
	return t, t.measure()
}

func readType(name string, parts []field, depth int) (*kindType, error) {
	if open := strings.LastIndexByte(name, '['); open > 0 && strings.HasSuffix(name, "]") {
		return parseList(name, open, parts, depth)
	}
	if strings.HasPrefix(name, "(") && strings.HasSuffix(name, ")") {
		var err error
		if parts, err = parseFields(name[1:len(name)-1], depth+1); err != nil {
			return nil, err
		}
		name = "tuple"
	}
	if name == "tuple" {
		return &kindType{kind: tupleKind, name: "(" + namesOf(parts) + ")", parts: parts}, nil
	}
	return plainType(name)
}

func parseList(name string, open int, parts []field, depth int) (*kindType, error) {
	inside, err := parseType(name[:open], parts, depth+1)
	if err != nil {
		return nil, err
	}
	size, text := -1, name[open+1:len(name)-1]
	if text != "" {
		if size, err = strconv.Atoi(text); err != nil || size < 0 || size > maxValues {
			return nil, errType
		}
	}
	return &kindType{kind: listKind, name: inside.name + name[open:], size: size, inside: inside}, nil
}

func plainType(name string) (*kindType, error) {
	switch name {
	case "address":
		return &kindType{kind: addressKind, name: name}, nil
	case "bool":
		return &kindType{kind: boolKind, name: name}, nil
	case "string":
		return &kindType{kind: stringKind, name: name}, nil
	case "bytes":
		return &kindType{kind: bytesKind, name: name}, nil
	case "uint", "int":
		name += "256"
	case "function":
		return &kindType{kind: fixedBytes, name: name, size: 24}, nil
	}
	for _, of := range []struct {
		prefix     string
		kind       kind
		step, most int
	}{{"uint", uintKind, 8, 256}, {"int", intKind, 8, 256}, {"bytes", fixedBytes, 1, 32}} {
		digits, ok := strings.CutPrefix(name, of.prefix)
		size, err := strconv.Atoi(digits)
		if ok && err == nil && size > 0 && size <= of.most && size%of.step == 0 && digits[0] != '0' {
			return &kindType{kind: of.kind, name: name, size: size}, nil
		}
	}
	return nil, fmt.Errorf("%q: %w", name, errType)
}

// namesOf are the types of fields, as they stand in a signature.
func namesOf(list []field) string {
	names := make([]string, len(list))
	for i, f := range list {
		names[i] = f.typ.name
	}
	return strings.Join(names, ",")
}

// measure works out once what decoding needs for each value. What the type is made of was
// measured before.
func (t *kindType) measure() error {
	t.head = wordSize
	switch t.kind {
	case bytesKind, stringKind:
		t.dynamic = true
	case listKind:
		t.dynamic = t.size < 0 || t.inside.dynamic
		t.head = t.size * t.inside.head
	case tupleKind:
		t.head = 0
		for _, p := range t.parts {
			t.dynamic = t.dynamic || p.typ.dynamic
			t.head += p.typ.head
		}
	}
	if t.dynamic {
		t.head = wordSize
	}
	if t.head > maxHead {
		return errType
	}
	return nil
}
