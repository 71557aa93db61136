package client

import (
	"errors"
	"strconv"
	"time"

	"github.com/nodegate/nodegate/internal/method"
)

// CallError is the node's own JSON-RPC error: the node is well, and it is the
// caller's business what it says. Over HTTP it may have come with a status of the
// 400s; 401, 403 and 429 are faults, whatever their body is.
type CallError struct {
	Code    int
	Message string
	Data    []byte // one JSON value; nil when absent
}

func (e *CallError) Error() string {
	return "the node answers with error " + strconv.Itoa(e.Code) + ": " + e.Message
}

// Fault says that there is no answer, or none that can be used: the node or the way
// to it failed, or the caller's context ended, which errors.Is finds. Its text names no URL: the
// path of one may be a key.
type Fault struct {
	Sent       bool          // the node may have got the call, whole or in part
	Status     int           // the HTTP status, where one was read
	RetryAfter time.Duration // when the node wants to be asked again; 0 when it doesn't say
	Err        error
}

func (f *Fault) Error() string { return f.Err.Error() }

// Unwrap yields the cause.
func (f *Fault) Unwrap() error { return f.Err }

// Causes of faults that a caller may want to tell apart.
var (
	// ErrTooLarge: the answer is larger than MaxAnswer. The node is well.
	ErrTooLarge = errors.New("the node's answer is larger than allowed")
	// ErrBusy: every connection is in use and too many calls wait for one.
	ErrBusy = errors.New("too many calls wait for a connection to the node")
	// ErrClosed: the client or the socket was closed on this side.
	ErrClosed = errors.New("the connection to the node is closed")
	// ErrBehind: the subscription's reader was so slow that events would be lost.
	ErrBehind = errors.New("the reader of the subscription is too slow")
)

// breach is a rule of HTTP, JSON-RPC or our own that the node's bytes break.
type breach string

func (b breach) Error() string { return string(b) }

// What a node may be caught at.
const (
	notHTTP        breach = "the node does not answer in HTTP/1.1"
	badHead        breach = "the node's answer has a malformed head"
	hugeHead       breach = "the head of the node's answer is too large"
	badLength      breach = "the node's answer does not say clearly how long it is"
	badChunk       breach = "the node's answer has malformed chunks"
	manyInterim    breach = "the node sends interim answers without end"
	cutShort       breach = "the node closed the connection in the middle of its answer"
	hungUp         breach = "the node closed the connection without an answer"
	encoded        breach = "the node's answer is compressed, although that was not asked for"
	badGzip        breach = "the node's answer is not valid gzip"
	zipBomb        breach = "the node's answer is compressed more than a hundredfold and too large when it is inflated"
	proxyNotHTTP   breach = "it does not answer CONNECT in HTTP/1.1"
	proxyTalks     breach = "it sends bytes into the tunnel before the node does"
	notJSONRPC     breach = "the node's answer is not JSON-RPC"
	aPage          breach = "the node answers with a page instead of JSON-RPC: check its URL"
	wrongID        breach = "the node's response has another id than the request"
	notAnID        breach = "the node answers " + method.EthSubscribe + " with something that is not an id"
	strayMessages  breach = "the node sends messages that were not requested"
	tooManyStalled breach = "too many calls to the node are unanswered"
)
