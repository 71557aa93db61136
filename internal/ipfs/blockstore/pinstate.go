package blockstore

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/nodegate/nodegate"
)

// pinState is a pin as the index has it.
type pinState struct {
	nodegate.Pin
	segment uint32 // where its latest record stands
	first   uint32 // no record of this pin stands in an older segment than this
	gone    bool   // collected; kept while an older record could bring the pin back

	// While a group commits: what the pin was before, nil for nothing, if that is known.
	before *pinState
	looked bool
}

// live tells whether the pin holds.
func (p *pinState) live() bool { return !p.gone && p.Unpinned.IsZero() }

// undoable tells whether the pin was taken off less than a window ago.
func (p *pinState) undoable(now int64, window time.Duration) bool {
	return !p.gone && !p.Unpinned.IsZero() && !expired(p.Unpinned.UnixNano(), now, window)
}

// expired tells whether a window that began at a time is over.
func expired(began, now int64, window time.Duration) bool { return began+int64(window) <= now }

// paid is what the account pays for the pin.
func (p *pinState) paid() int64 {
	if p.gone {
		return 0
	}
	return p.Size
}

// space is what the pin takes of its segment, about.
func (p *pinState) space() int64 {
	return int64(len(p.AccountID)+len(p.CID)+len(p.Name)) + 40
}

func accountKey(kind byte, account string) []byte {
	return append(binary.AppendUvarint([]byte{kind}, uint64(len(account))), account...)
}

func pinKey(account, cid string) []byte { return append(accountKey(keyPin, account), cid...) }

func (p *pinState) encode() []byte {
	b := binary.LittleEndian.AppendUint32(nil, p.segment)
	b = binary.LittleEndian.AppendUint32(b, p.first)
	return appendPin(append(b, flag(p.gone)), &p.Pin)
}

func decodePinState(b []byte) (*pinState, error) {
	if len(b) < 9 {
		return nil, errShort
	}
	p := &pinState{segment: binary.LittleEndian.Uint32(b), first: binary.LittleEndian.Uint32(b[4:]), gone: b[8] != 0}
	r := reader{b: b[9:]}
	p.Pin = r.pin()
	return p, r.err
}

// pin reads a pin's state, or nil when the index has none.
func (x *index) pin(key []byte) (*pinState, error) {
	value, err := x.get(key)
	if err != nil || value == nil {
		return nil, err
	}
	p, err := decodePinState(value)
	if err != nil {
		return nil, x.failed(err)
	}
	return p, nil
}

// commit is what a commit record says: the pins that changed as they are after it,
// and what was stored without a pin.
type commit struct {
	synced position // of the log, when the record was written: damage before it is not a torn end
	first  uint32   // the segment where the batch's records begin; 0: it has none
	pins   []nodegate.Pin
	loose  []loose
	done   []done
}

// done says that a batch committed whose commit record was compacted away, while
// older segments still have blocks of it.
type done struct {
	batch uint64
	time  int64
	first uint32
}

// loose is what a batch stored that no pin of it keeps.
type loose struct {
	account string
	bytes   int64
	time    int64
	batch   uint64
}

func (l *loose) key() []byte {
	b := binary.BigEndian.AppendUint64([]byte{keyLoose}, uint64(l.time))
	return binary.BigEndian.AppendUint64(b, l.batch)
}

func (l *loose) encode() []byte { return appendLoose(nil, l) }

func (c *commit) encode() []byte {
	b := binary.AppendUvarint(nil, uint64(c.synced.segment))
	b = binary.AppendUvarint(b, uint64(c.synced.off))
	b = binary.AppendUvarint(b, uint64(c.first))
	b = binary.AppendUvarint(b, uint64(len(c.pins)))
	for i := range c.pins {
		b = appendPin(b, &c.pins[i])
	}
	b = binary.AppendUvarint(b, uint64(len(c.loose)))
	for i := range c.loose {
		b = appendLoose(b, &c.loose[i])
	}
	b = binary.AppendUvarint(b, uint64(len(c.done)))
	for _, d := range c.done {
		b = binary.AppendVarint(binary.AppendUvarint(b, d.batch), d.time)
		b = binary.AppendUvarint(b, uint64(d.first))
	}
	return b
}

func decodeCommit(b []byte) (*commit, error) {
	r := reader{b: b}
	c := &commit{synced: position{uint32(r.uvarint()), int64(r.uvarint())}, first: uint32(r.uvarint())}
	for n := r.uvarint(); n > 0 && r.err == nil; n-- {
		c.pins = append(c.pins, r.pin())
	}
	for n := r.uvarint(); n > 0 && r.err == nil; n-- {
		c.loose = append(c.loose, r.loose())
	}
	for n := r.uvarint(); n > 0 && r.err == nil; n-- {
		c.done = append(c.done, done{r.uvarint(), r.varint(), uint32(r.uvarint())})
	}
	return c, r.err
}

func appendPin(b []byte, p *nodegate.Pin) []byte {
	b = appendString(appendString(appendString(b, p.AccountID), p.CID), p.Name)
	b = append(b, flag(p.Recursive))
	b = binary.AppendVarint(b, p.Size)
	return appendTime(appendTime(b, p.Created), p.Unpinned)
}

func appendLoose(b []byte, l *loose) []byte {
	b = binary.AppendVarint(appendString(b, l.account), l.bytes)
	return binary.AppendUvarint(binary.AppendVarint(b, l.time), l.batch)
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// appendTime encodes the zero time as 0.
func appendTime(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return binary.AppendVarint(b, 0)
	}
	return binary.AppendVarint(b, t.UnixNano())
}

func flag(set bool) byte {
	if set {
		return 1
	}
	return 0
}

var errShort = errors.New("the value is cut off")

// reader decodes what the functions above encode. After an error it yields zeros.
type reader struct {
	b   []byte
	err error
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	return v * uint64(r.skip(n))
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	return v * int64(r.skip(n))
}

// skip goes on by n bytes and reports 1, or 0 if there are not so many.
func (r *reader) skip(n int) int {
	if r.err != nil || n <= 0 || n > len(r.b) {
		r.err = errShort
		return 0
	}
	r.b = r.b[n:]
	return 1
}

func (r *reader) string() string {
	n := r.uvarint()
	if r.err != nil || n > uint64(len(r.b)) {
		r.err = errShort
		return ""
	}
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

func (r *reader) bool() bool {
	if r.err != nil || len(r.b) == 0 {
		r.err = errShort
		return false
	}
	set := r.b[0] != 0
	r.b = r.b[1:]
	return set
}

func (r *reader) time() time.Time {
	n := r.varint()
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

func (r *reader) pin() nodegate.Pin {
	return nodegate.Pin{AccountID: r.string(), CID: r.string(), Name: r.string(), Recursive: r.bool(), Size: r.varint(), Created: r.time(), Unpinned: r.time()}
}

func (r *reader) loose() loose {
	return loose{account: r.string(), bytes: r.varint(), time: r.varint(), batch: r.uvarint()}
}
