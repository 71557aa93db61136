package jsonrpc

import (
	"bytes"
	"strconv"
)

// answerDepth is how deep a node's message may nest. It is more than a request may,
// because a trace nests with the calls it traces.
const answerDepth = 1000

// Answer is what a node says to one call. Its slices point into the scanned text.
type Answer struct {
	ID     []byte       // the id's token exactly as sent; nil when absent
	Result []byte       // one JSON value, checked to its last byte; nil with an error
	Error  *AnswerError // nil with a result
}

// AnswerError is the error with which a node answers a call.
type AnswerError struct {
	Code    int
	Message []byte // decoded; a slice of the text unless it had escapes
	Data    []byte // one JSON value; nil when absent
}

// Event is one event of a subscription, as AppendNotification writes it. Its slices
// point into the scanned text.
type Event struct {
	Subscription []byte // the token of the subscription's id: what its call was answered with
	Result       []byte // one JSON value
}

// ScanAnswer reads a whole body as the answer to one call, in one pass and without
// copying. It is safe on any bytes: ok is false for what is not one JSON object in
// valid UTF-8, is too deep, or can be read in more than one way. There must be a
// result or an error; a null beside the other one, which some servers send, counts
// for nothing. The version may be missing, unknown members are ignored.
func ScanAnswer(body []byte) (a Answer, ok bool) {
	var m message
	if !m.scan(body) || m.method != nil {
		return Answer{}, false
	}
	return m.answer()
}

// ScanMessage reads what a node sends on a connection that carries both answers and
// events. Exactly one of the two is set: the event if it has a Subscription.
func ScanMessage(text []byte) (a Answer, e Event, ok bool) {
	var m message
	if !m.scan(text) {
		return Answer{}, Event{}, false
	}
	if m.method != nil {
		e, ok = m.event()
		return Answer{}, e, ok
	}
	a, ok = m.answer()
	return a, Event{}, ok
}

// message holds the raw values of the members of a node's message.
type message struct{ jsonrpc, id, result, failure, method, params []byte }

func (m *message) scan(text []byte) bool {
	i := objectMembers(text, space(text, 0), 0, func(name, value []byte) bool {
		switch string(name) {
		case "jsonrpc":
			return set(&m.jsonrpc, value)
		case "id":
			return set(&m.id, value)
		case "result":
			return set(&m.result, value)
		case "error":
			return set(&m.failure, value)
		case "method":
			return set(&m.method, value)
		case "params":
			return set(&m.params, value)
		}
		return !spelled(name, "jsonrpc", "id", "result", "error", "method", "params")
	})
	return i >= 0 && space(text, i) == len(text) && (m.jsonrpc == nil || string(m.jsonrpc) == `"2.0"`)
}

// set notes the value of a member, and refuses a second one.
func set(slot *[]byte, value []byte) bool {
	first := *slot == nil
	*slot = value
	return first
}

func (m *message) answer() (Answer, bool) {
	a := Answer{ID: m.id}
	if !idToken(m.id) {
		return Answer{}, false
	}
	if m.failure == nil || isNull(m.failure) {
		a.Result = m.result
		return a, m.result != nil
	}
	if m.result != nil && !isNull(m.result) {
		return Answer{}, false
	}
	a.Error = new(AnswerError)
	return a, a.Error.scan(m.failure)
}

func (m *message) event() (e Event, ok bool) {
	if m.params == nil || m.id != nil && !isNull(m.id) || m.result != nil || m.failure != nil {
		return Event{}, false
	}
	i := objectMembers(m.params, 0, 1, func(name, value []byte) bool {
		switch string(name) {
		case "subscription":
			return set(&e.Subscription, value)
		case "result":
			return set(&e.Result, value)
		}
		return !spelled(name, "subscription", "result")
	})
	if i < 0 || e.Subscription == nil || isNull(e.Subscription) || !idToken(e.Subscription) || e.Result == nil {
		return Event{}, false
	}
	return e, true
}

// scan reads the error object of an answer.
func (e *AnswerError) scan(raw []byte) bool {
	var code, message []byte
	i := objectMembers(raw, 0, 1, func(name, value []byte) bool {
		switch string(name) {
		case "code":
			return set(&code, value)
		case "message":
			return set(&message, value)
		case "data":
			return set(&e.Data, value)
		}
		return !spelled(name, "code", "message", "data")
	})
	if i < 0 || message == nil || message[0] != '"' {
		return false
	}
	n, err := strconv.Atoi(string(code))
	e.Code, e.Message = n, unquote(message)
	return err == nil
}

// isNull reports whether a value, known to be JSON, is null.
func isNull(value []byte) bool { return value[0] == 'n' }

// spelled reports whether a name, between its quotes and undecoded, is a spelling of
// one of ours that some decoder would take for it: escaped, or in another case.
func spelled(name []byte, ours ...string) bool {
	const longest = len(`\u0073`) * len("subscription")
	if len(name) > longest {
		return false
	}
	var room [longest]byte
	if bytes.IndexByte(name, '\\') >= 0 {
		name = unescape(room[:0], name)
	}
	for _, one := range ours {
		if bytes.EqualFold(name, []byte(one)) {
			return true
		}
	}
	return false
}

// objectMembers steps over the object at d[i], inside depth open ones, and calls f
// with each member: its name as it stands between the quotes, and its raw value.
// It returns where the object ends, or bad, also when f says no.
func objectMembers(d []byte, i, depth int, f func(name, value []byte) bool) int {
	if !inside(d, i) || d[i] != '{' {
		return bad
	}
	i, more := first(d, i, '}')
	for more {
		end, at := member(d, i)
		stop := skipDeep(d, at, answerDepth-depth-1, nil)
		if stop < 0 || !f(d[i+1:end-1], d[at:stop:stop]) {
			return bad
		}
		i, more = next(d, stop, '}')
	}
	return i
}

// skipDeep steps over any value in which at most limit arrays and objects are open
// at once. It does not recurse: the bits say which of those that are open are objects.
// Between pieces of the text it calls pause, which may be nil.
func skipDeep(d []byte, i, limit int, pause func()) int {
	const piece = 16 << 10
	var objects [answerDepth/64 + 1]uint64
	paused := i
	for depth := 0; ; {
		if pause != nil && i-paused >= piece {
			pause()
			paused = i
		}
		if !inside(d, i) {
			return bad
		}
		more := false
		if c := d[i]; c == '{' || c == '[' {
			if depth++; depth > limit {
				return bad
			}
			objects[depth/64] &^= 1 << (depth % 64)
			if c == '{' {
				objects[depth/64] |= 1 << (depth % 64)
			}
			i, more = first(d, i, c+2) // both brackets close two places after they open
			if !more {
				depth--
			}
		} else {
			i = skipValue(d, i, 0)
		}
		for !more && depth > 0 {
			isObject := objects[depth/64]>>(depth%64)&1 != 0
			if i, more = nextOf(d, i, isObject); !more {
				depth--
			}
		}
		if !more {
			return i
		}
		if objects[depth/64]>>(depth%64)&1 != 0 {
			_, i = member(d, i)
		}
	}
}

// nextOf is next with the bracket that closes an object or an array.
func nextOf(d []byte, i int, isObject bool) (at int, more bool) {
	if isObject {
		return next(d, i, '}')
	}
	return next(d, i, ']')
}
