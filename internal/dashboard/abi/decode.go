package abi

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"math/big"
	"strconv"

	"github.com/ethereum/go-ethereum/common"
)

// Offsets may point to the same bytes many times, so that neither the values nor their text
// are bounded by the size of what is decoded.
const (
	wordSize  = 32
	maxValues = 10_000    // of a response
	maxBytes  = 256 << 10 // of text, of a response
)

// budget is what may still be produced.
type budget struct{ values, bytes int }

// spend is called before text is made.
func (b *budget) spend(bytes int) error {
	if b.bytes -= bytes; b.bytes < 0 {
		b.bytes = 0
		return ErrLarge
	}
	return nil
}

// Decoded is what was found in some bytes.
type Decoded struct {
	What   string // the signature
	Values []Value
}

// Value is one of them, as text.
type Value struct{ Name, Type, Text string }

// ErrLarge is returned for more than may be decoded of a response.
var ErrLarge = errors.New("the data is too large to decode")

var (
	errShort = errors.New("the data is shorter than the ABI requires")
	errOff   = errors.New("the data doesn't match the ABI")
)

// Result decodes what a call returned. Its data says which function it was; without any it
// is the only one that returns something.
func (a *ABI) Result(data, result []byte) (*Decoded, error) {
	e := a.functionOf(data)
	if e == nil {
		return nil, errors.New("the ABI doesn't have the function that was called")
	}
	return a.decode(e, e.outputs, result)
}

func (a *ABI) functionOf(data []byte) (only *entry) {
	if len(data) >= 4 {
		return a.functions[string(data[:4])]
	}
	for _, e := range a.functions {
		if len(e.outputs) == 0 {
			continue
		}
		if only != nil {
			return nil
		}
		only = e
	}
	return only
}

// Revert decodes the data of a revert: an error of the ABI or one that Solidity has.
func (a *ABI) Revert(data []byte) (*Decoded, error) {
	if len(data) < 4 {
		return nil, errShort
	}
	e := a.errors[string(data[:4])]
	for _, known := range []string{"error Error(string reason)", "error Panic(uint256 code)"} {
		if e != nil {
			break
		}
		common, err := Parse(known)
		if err != nil {
			return nil, err
		}
		e = common.errors[string(data[:4])]
	}
	if e == nil {
		return nil, errors.New("the ABI doesn't have this error")
	}
	return a.decode(e, e.inputs, data[4:])
}

// Log decodes a log. A value of a dynamic type that is indexed is there as its hash only.
func (a *ABI) Log(topics [][]byte, data []byte) (*Decoded, error) {
	if len(topics) == 0 {
		return nil, errors.New("the log has no topic")
	}
	e := a.events[string(topics[0])]
	if e == nil {
		return nil, errors.New("the ABI doesn't have this event")
	}
	var plain []field
	for _, f := range e.inputs {
		if !f.indexed {
			plain = append(plain, f)
		}
	}
	found, err := a.decode(e, plain, data)
	if err != nil {
		return nil, err
	}
	return a.mixed(found, e, topics[1:])
}

// mixed puts the values that are topics between the others.
func (a *ABI) mixed(d *Decoded, e *entry, topics [][]byte) (*Decoded, error) {
	all := &Decoded{What: d.What}
	for _, f := range e.inputs {
		if !f.indexed {
			all.Values, d.Values = append(all.Values, d.Values[0]), d.Values[1:]
			continue
		}
		if len(topics) == 0 || len(topics[0]) != wordSize {
			return nil, errOff
		}
		v, err := a.topic(f, topics[0])
		if err != nil {
			return nil, err
		}
		all.Values, topics = append(all.Values, v), topics[1:]
	}
	return all, nil
}

func (a *ABI) topic(f field, topic []byte) (v Value, err error) {
	if err := a.left.spend(len(f.name) + len(f.typ.name)); err != nil {
		return v, err
	}
	v = Value{Name: f.name, Type: f.typ.name, Text: "0x" + hex.EncodeToString(topic)}
	if f.typ.kind >= bytesKind {
		return v, nil
	}
	r := reader{data: topic, left: &a.left}
	value, err := r.value(f.typ, 0, 0)
	if err != nil {
		return v, err
	}
	v.Text = text(value)
	return v, nil
}

func (a *ABI) decode(e *entry, fields []field, data []byte) (*Decoded, error) {
	d := &Decoded{What: e.signature()}
	size := len(d.What)
	for _, f := range fields {
		size += len(f.name) + len(f.typ.name)
	}
	if err := a.left.spend(size); err != nil {
		return nil, err
	}
	r := reader{data: data, left: &a.left}
	values, err := r.fields(fields, 0)
	if err != nil {
		return nil, err
	}
	for i, f := range fields {
		d.Values = append(d.Values, Value{Name: f.name, Type: f.typ.name, Text: text(values[i])})
	}
	return d, nil
}

// text is a value for people: lists and tuples as JSON.
func text(value any) string {
	if s, ok := value.(string); ok {
		return s
	}
	b, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// reader decodes within some bytes.
type reader struct {
	data []byte
	left *budget
}

// word is 32 bytes at a place.
func (r *reader) word(at int) ([]byte, error) {
	if at < 0 || at > len(r.data)-wordSize {
		return nil, errShort
	}
	return r.data[at : at+wordSize], nil
}

// length reads an offset or a count, which is never more than there are bytes.
func (r *reader) length(at int) (int, error) {
	w, err := r.word(at)
	if err != nil {
		return 0, err
	}
	n := new(big.Int).SetBytes(w)
	if !n.IsInt64() || n.Int64() > int64(len(r.data)) {
		return 0, errShort
	}
	return int(n.Int64()), nil
}

// fields reads values one after the other, whose offsets count from base.
func (r *reader) fields(list []field, base int) (values []any, err error) {
	at := base
	for _, f := range list {
		v, err := r.value(f.typ, at, base)
		if err != nil {
			return nil, err
		}
		values, at = append(values, v), at+f.typ.head
	}
	return values, nil
}

// value reads a value at a place of the head.
func (r *reader) value(t *kindType, at, base int) (any, error) {
	if r.left.values == 0 {
		return nil, ErrLarge
	}
	r.left.values--
	if t.dynamic {
		offset, err := r.length(at)
		if err != nil {
			return nil, err
		}
		if at = base + offset; at > len(r.data) {
			return nil, errShort
		}
	}
	switch t.kind {
	case listKind:
		return r.list(t, at)
	case tupleKind:
		return r.tuple(t, at)
	case bytesKind, stringKind:
		return r.bytes(t, at)
	}
	return r.plain(t, at)
}

func (r *reader) tuple(t *kindType, at int) (any, error) {
	values, err := r.fields(t.parts, at)
	if err != nil {
		return nil, err
	}
	members := map[string]any{}
	for i, p := range t.parts {
		if err := r.left.spend(len(p.name)); err != nil {
			return nil, err
		}
		if p.name == "" || members[p.name] != nil {
			return values, nil // without names it is a list
		}
		members[p.name] = values[i]
	}
	return members, nil
}

func (r *reader) list(t *kindType, at int) (any, error) {
	n := t.size
	if n < 0 {
		var err error
		if n, err = r.length(at); err != nil {
			return nil, err
		}
		at += wordSize
	}
	step, values := t.inside.head, []any{}
	for i := range n {
		v, err := r.value(t.inside, at+i*step, at)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}

func (r *reader) bytes(t *kindType, at int) (any, error) {
	n, err := r.length(at)
	if err != nil {
		return nil, err
	}
	at += wordSize
	if n > len(r.data)-at {
		return nil, errShort
	}
	if t.kind == stringKind {
		if err := r.left.spend(n); err != nil {
			return nil, err
		}
		return string(r.data[at : at+n]), nil
	}
	if err := r.left.spend(2 * n); err != nil {
		return nil, err
	}
	return "0x" + hex.EncodeToString(r.data[at:at+n]), nil
}

// plain reads a value of one word. Numbers are text: JavaScript would round them.
func (r *reader) plain(t *kindType, at int) (any, error) {
	w, err := r.word(at)
	if err != nil {
		return nil, err
	}
	if err := r.left.spend(wordSize); err != nil { // about what a number has
		return nil, err
	}
	switch t.kind {
	case boolKind:
		n := new(big.Int).SetBytes(w)
		if n.BitLen() > 1 {
			return nil, errOff
		}
		return strconv.FormatBool(n.Sign() > 0), nil
	case addressKind:
		return common.BytesToAddress(w).Hex(), nil
	case fixedBytes:
		return "0x" + hex.EncodeToString(w[:t.size]), nil
	}
	n := new(big.Int).SetBytes(w)
	if t.kind == intKind && n.Bit(255) == 1 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), 256))
	}
	return n.String(), nil
}
