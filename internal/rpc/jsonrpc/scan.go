package jsonrpc

import "bytes"

// Body is a scanned body. It can be scanned into again and again, so that a pool
// of them allocates nothing.
type Body struct {
	Requests []Request // in the order sent; one when Batch is false
	Batch    bool      // the body was an array

	pause func() // called between pieces of a large body, or nil
}

// Reset forgets the requests, and with them the body they point into.
func (b *Body) Reset() {
	clear(b.Requests)
	b.Requests, b.Batch = b.Requests[:0], false
}

// Scan reads a whole body in one pass, replacing what b held. A fault means that
// nothing of the body can be answered but that fault, with id null: it is not
// JSON, has bytes after it, is too deep, or is a batch of no elements or of more
// than maxBatch. An element that is JSON but not a request is no such fault: it
// stands among the requests, with its Err set.
func (b *Body) Scan(data []byte, maxBatch int) *Fault {
	b.Reset()
	fault := b.scan(data, maxBatch)
	if fault != nil {
		clear(b.Requests)
		b.Requests = b.Requests[:0]
	}
	return fault
}

// ScanLarge is Scan for a body that takes milliseconds. It calls pause every few
// microseconds.
func (b *Body) ScanLarge(data []byte, maxBatch int, pause func()) *Fault {
	b.pause = pause
	defer func() { b.pause = nil }()
	return b.Scan(data, maxBatch)
}

func (b *Body) scan(data []byte, maxBatch int) *Fault {
	i := space(data, 0)
	if i == len(data) {
		return ParseError
	}
	var fault *Fault
	if b.Batch = data[i] == '['; b.Batch {
		i, fault = b.batch(data, i, maxBatch)
	} else {
		i = b.element(data, i, 0)
	}
	if fault != nil {
		return fault
	}
	if i < 0 || space(data, i) != len(data) {
		return ParseError
	}
	if len(b.Requests) == 0 {
		return EmptyBatch
	}
	return nil
}

// batch reads the array at d[i]. It stops as soon as there is one element too
// many: what follows can't change the answer, and would only cost time.
func (b *Body) batch(d []byte, i, maxBatch int) (int, *Fault) {
	i, more := first(d, i, ']')
	for more {
		i = b.element(d, i, 1)
		if i >= 0 && len(b.Requests) > maxBatch {
			return i, BatchTooLarge
		}
		i, more = next(d, i, ']')
	}
	return i, nil
}

// element reads the value at d[i], inside depth open arrays, as one request.
func (b *Body) element(d []byte, i, depth int) int {
	b.Requests = append(b.Requests, Request{})
	r := &b.Requests[len(b.Requests)-1]
	if i >= len(d) || d[i] != '{' {
		r.ID, r.Err = nullID, InvalidRequest
		return b.skip(d, i, depth)
	}
	var e envelope
	i, more := first(d, i, '}')
	for more {
		end, at := member(d, i)
		stop := b.skip(d, at, depth+1)
		if stop < 0 {
			return bad
		}
		e.set(d[i+1:end-1], d[at:stop])
		i, more = next(d, stop, '}')
	}
	e.fill(r)
	return i
}

// skip is skipValue, with pauses where there are any.
func (b *Body) skip(d []byte, i, depth int) int {
	if b.pause == nil {
		return skipValue(d, i, depth)
	}
	return skipDeep(d, i, maxDepth-depth, b.pause)
}

// envelope holds the raw values of a request's members as they are met.
type envelope struct {
	jsonrpc, method, params, id []byte

	forged bool // a member name is repeated or disguised
}

// set takes one member: its name between the quotes, undecoded, and its value.
func (e *envelope) set(name, value []byte) {
	switch string(name) {
	case "jsonrpc":
		e.once(&e.jsonrpc, value)
	case "method":
		e.once(&e.method, value)
	case "params":
		e.once(&e.params, value)
	case "id":
		e.once(&e.id, value)
	default:
		e.forged = e.forged || disguised(name)
	}
}

func (e *envelope) once(slot *[]byte, value []byte) {
	e.forged = e.forged || *slot != nil
	*slot = value
}

// fill settles what the members amount to. A forged envelope doesn't get its id
// back: which of several ids would be a guess, and guesses are what is forged for.
func (e *envelope) fill(r *Request) {
	switch {
	case e.forged || !idToken(e.id):
		r.ID, r.Err = nullID, InvalidRequest
		return
	case !e.call():
		r.ID, r.Err = e.id, InvalidRequest
		if r.ID == nil {
			r.ID = nullID
		}
		return
	}
	r.ID, r.Method = e.id, unquote(e.method)
	switch {
	case e.params == nil || e.params[0] == 'n':
	case e.params[0] == '[':
		r.Params = e.params
	default:
		r.Err = NonArrayArgs
	}
}

// call reports whether the version is 2.0 and the method a name.
func (e *envelope) call() bool {
	const emptyString = 2 // the quotes
	return string(e.jsonrpc) == `"2.0"` && len(e.method) > emptyString && e.method[0] == '"'
}

// idToken reports whether a value, known to be JSON, may stand as an id. So may
// an absent one.
func idToken(v []byte) bool {
	if v == nil {
		return true
	}
	c := v[0]
	return c == '"' || c == '-' || c == 'n' || '0' <= c && c <= '9'
}

// disguised reports whether a name that is none of ours is an escaped or
// case-folded spelling of one: some decoder would take it for ours.
func disguised(name []byte) bool {
	const longest = len(`\u006a\u0073\u006f\u006e\u0072\u0070\u0063`) // "jsonrpc", all escaped
	if len(name) > longest {
		return false
	}
	var buf [longest]byte
	if bytes.IndexByte(name, '\\') >= 0 {
		name = unescape(buf[:0], name)
	}
	for _, ours := range [...]string{"jsonrpc", "method", "params", "id"} {
		if bytes.EqualFold(name, []byte(ours)) {
			return true
		}
	}
	return false
}
