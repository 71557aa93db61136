package requestlog

import (
	"bytes"
	"math"
	"time"
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
	waited  uint32 // microseconds
	number  int32
	place   uint16
	cache   nodegate.CacheOutcome
	level   nodegate.Level
	id      [maxID]byte // ends with zeros
}

// fill takes what an entry has for itself, except for its texts.
func (r *record) fill(e *Entry, at int64) {
	r.at, r.cache, r.level, r.number = at, e.Cache, e.Level, int32(min(max(e.Number, math.MinInt32), math.MaxInt32))
	r.took, r.waited = micros(e.Took), micros(e.Waited)
	r.credits = uint32(min(max(e.Credits, 0), math.MaxUint32))
	r.place = uint16(min(max(e.Place, 0), math.MaxUint16))
	clear(r.id[copy(r.id[:], e.ID):])
}

func micros(d time.Duration) uint32 { return uint32(min(max(d.Microseconds(), 0), math.MaxUint32)) }

// shownID is the id without its zeros.
func (r *record) shownID() string { return string(bytes.TrimRight(r.id[:], "\x00")) }

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
	fault, params, reply []byte
	cut, replyCut        bool
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
	return textsBytes + cap(t.fault) + cap(t.params) + cap(t.reply)
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
func (r *record) write(e *Entry, keep optional) int {
	before := r.texts.bytes()
	if e.Error == "" && (keep&params == 0 || len(e.Params) == 0) && (keep&reply == 0 || len(e.Reply) == 0) {
		r.texts = nil
		return -before
	}
	if r.texts == nil {
		r.texts = new(texts)
	}
	t := r.texts
	t.fault = append(t.fault[:0], cutText(e.Error, maxError)...)
	t.params, t.cut = copied(t.params, e.Params, keep&params != 0, maxParams)
	t.reply, t.replyCut = copied(t.reply, e.Reply, keep&reply != 0, maxReply)
	return t.bytes() - before
}

// copied puts the beginning of a text into the room of an old one; without keep the room
// goes too. The second value tells whether there is more of it.
func copied(room, text []byte, keep bool, most int) ([]byte, bool) {
	if !keep {
		return nil, false
	}
	return append(room[:0], text[:min(len(text), most)]...), len(text) > most
}

// drop forgets optional texts and returns how many bytes are free by that.
func (r *record) drop(what optional) int {
	t := r.texts
	if t == nil {
		return 0
	}
	before := t.bytes()
	if what&params != 0 {
		t.params, t.cut = nil, false
	}
	if what&reply != 0 {
		t.reply, t.replyCut = nil, false
	}
	if len(t.fault)+len(t.params)+len(t.reply) == 0 {
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
