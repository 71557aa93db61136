package requestlog

import (
	"unicode/utf8"
	"unsafe"

	"github.com/nodegate/nodegate"
)

// record is an entry as it is kept: small, because most of the memory is records.
type record struct {
	at      int64  // nanoseconds since 1970
	names   *names // shared by the records of a key
	texts   *texts // nil for most
	took    uint32 // microseconds
	credits uint32
	cache   nodegate.CacheOutcome
	level   nodegate.Level
}

// names are what many requests of a key have in common.
type names struct {
	network, method, outcome, node string

	used   int32 // by so many records
	listed bool  // new records can share it
}

// bytes leaves out the names of networks and outcomes, which live anyway.
func (n *names) bytes() int { return nameBytes + len(n.method) + len(n.node) }

// release is for a record that goes: it returns how many bytes are free by that.
func (n *names) release() int {
	if n == nil {
		return 0
	}
	if n.used--; n.used > 0 || n.listed {
		return 0
	}
	return n.bytes()
}

// texts are what a request has for itself.
type texts struct {
	fault, params []byte
	cut           bool
}

const (
	recordBytes = int(unsafe.Sizeof(record{}))
	textsBytes  = int(unsafe.Sizeof(texts{}))
	nameBytes   = int(unsafe.Sizeof(names{})) + 8
	firstRing   = 4
)

// bytes is what the texts take.
func (t *texts) bytes() int {
	if t == nil {
		return 0
	}
	return textsBytes + cap(t.fault) + cap(t.params)
}

// ring holds the latest records, in a slice that grows up to a limit.
type ring struct {
	records []record
	first   int
	count   int
}

// at is the record at a place, 0 the oldest.
func (r *ring) at(i int) *record { return &r.records[(r.first+i)%len(r.records)] }

// push makes room for a record behind the newest and returns it as it was last used.
// The second value is by how many bytes the ring grew.
func (r *ring) push(limit int) (*record, int) {
	grown := 0
	switch {
	case r.count == limit:
		r.first = (r.first + 1) % len(r.records)
		r.count--
	case r.count == len(r.records):
		grown = r.resize(min(max(2*r.count, firstRing), limit))
	}
	r.count++
	return r.at(r.count - 1), grown
}

// pop forgets the oldest record and returns how many bytes are free by that.
func (r *ring) pop() int {
	old := r.at(0)
	freed := old.texts.bytes() + old.names.release()
	*old = record{}
	r.first = (r.first + 1) % len(r.records)
	r.count--
	if r.count <= len(r.records)/4 {
		freed -= r.resize(len(r.records) / 2)
	}
	return freed
}

// resize returns by how many bytes the ring grew. Texts that no record has any more
// are none: pop takes them away, and a full ring has them in use.
func (r *ring) resize(size int) int {
	next := make([]record, size)
	for i := range r.count {
		next[i] = *r.at(i)
	}
	grown := (size - len(r.records)) * recordBytes
	r.records, r.first = next, 0
	return grown
}

// write fills the texts of a record, in the room that it has, and returns by how
// many bytes that grew.
func (r *record) write(e *Entry, keep bool) int {
	before := r.texts.bytes()
	if e.Error == "" && (!keep || len(e.Params) == 0) {
		r.texts = nil
		return -before
	}
	if r.texts == nil {
		r.texts = new(texts)
	}
	t := r.texts
	t.fault = append(t.fault[:0], cutText(e.Error, maxError)...)
	t.params, t.cut = t.params[:0], false
	if keep {
		t.params = append(t.params, e.Params[:min(len(e.Params), maxParams)]...)
		t.cut = len(e.Params) > maxParams
	} else {
		t.params = nil
	}
	return t.bytes() - before
}

// dropParams returns how many bytes are free by that.
func (r *record) dropParams() int {
	t := r.texts
	if t == nil {
		return 0
	}
	before := t.bytes()
	t.params, t.cut = nil, false
	if len(t.fault) == 0 {
		r.texts = nil
	}
	return before - r.texts.bytes()
}

// cutText shortens a text without cutting a character in two.
func cutText(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}
