package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// Client makes JSON-RPC calls to one node over kept HTTP/1.1 connections. It uses the
// proxy of its configuration, and none of the environment. All its methods may be called
// at the same time.
type Client struct {
	end     *endpoint
	head    []byte // of every request, up to the length
	pool    pool
	buffers sync.Pool // *[]byte: a request, then its answer
	ids     atomic.Uint64

	inflaters sync.Pool // *inflater
}

// maxKept is the largest buffer that is kept for another call.
const maxKept = 1 << 20

// NewClient checks the configuration. Nothing is dialled before the first call.
//
// Returns BadConfig for a URL or a header that can't be used.
func NewClient(cfg Config) (*Client, error) {
	end, err := check(cfg, "http", "https")
	if err != nil {
		return nil, err
	}
	c := &Client{end: end, head: end.requestHead(), pool: pool{dial: end.dial, most: end.MaxConns}}
	c.buffers.New = func() any {
		b := make([]byte, 0, firstBuffer)
		return &b
	}
	c.inflaters.New = func() any { return new(inflater) }
	return c, nil
}

// Close closes idle connections. Calls in progress finish; new ones fail with ErrClosed.
func (c *Client) Close() { c.pool.shut() }

// Call makes one call and returns its result: one JSON value in a slice of its own.
// params is one JSON array, or nil for none; both it and the method must be ours, not
// a client's bytes. The call is never sent twice.
//
// Every error is a *CallError or a *Fault. The context's end shows as a Fault whose
// cause is the context's error, within a few milliseconds.
func (c *Client) Call(ctx context.Context, method string, params []byte) ([]byte, error) {
	return c.call(ctx, method, params, nil, false)
}

// CallSafe is Call for what does no harm when it is executed twice. When a kept
// connection ends before a byte of the answer, which is what happens when the node
// closes it just then, the call is sent once more on a new one.
func (c *Client) CallSafe(ctx context.Context, method string, params []byte) ([]byte, error) {
	return c.call(ctx, method, params, nil, true)
}

// more are lines of the head beyond those that every request has.
func (c *Client) call(ctx context.Context, method string, params, more []byte, safe bool) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, &Fault{Err: err}
	}
	deadline := time.Now().Add(c.end.Timeout)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	conn, err := c.pool.get(ctx, deadline, safe)
	if err != nil {
		return nil, &Fault{Err: dialCause(ctx, err)}
	}
	buf := c.buffers.Get().(*[]byte)
	id := strconv.AppendUint(make([]byte, 0, 20), c.ids.Add(1), 10)
	x := exchange{client: c, conn: conn, ctx: ctx, deadline: deadline, more: more, in: incoming{buf: *buf}}
	err = x.do(id, method, params, safe)
	var result []byte
	if err == nil {
		result, err = x.answer(id)
	}
	x.giveBack(err)
	*buf = x.in.buf
	c.keep(buf)
	return result, err
}

// keep takes back a buffer for other calls, unless it has become very large.
func (c *Client) keep(buf *[]byte) {
	if *buf = (*buf)[:0]; cap(*buf) <= maxKept {
		c.buffers.Put(buf)
	}
}

// dialCause puts the end of the context, or of our own time, in place of what the
// dialler makes of it.
func dialCause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return fmt.Errorf("%w: %w", context.DeadlineExceeded, err)
	}
	return err
}

// exchange is one request and its answer on one connection, or on two of them.
type exchange struct {
	client   *Client
	conn     *conn // nil when it is gone already
	ctx      context.Context
	deadline time.Time
	more     []byte // of the head
	in       incoming
	sent     bool
}

// do sends the request and reads the answer, again if that is allowed.
func (x *exchange) do(id []byte, method string, params []byte, safe bool) error {
	err := x.once(id, method, params)
	if err == nil {
		return nil
	}
	hopeless := !x.conn.reused || len(x.in.buf) > 0 || x.sent && !safe
	cause := x.conn.cause(err)
	if hopeless || errors.Is(cause, context.DeadlineExceeded) || errors.Is(cause, context.Canceled) {
		return x.fault(cause)
	}
	x.conn.finish()
	x.conn.close()
	if x.conn, err = x.client.pool.connect(x.ctx, x.deadline); err != nil {
		return x.fault(dialCause(x.ctx, err))
	}
	if err = x.once(id, method, params); err != nil {
		return x.fault(x.conn.cause(err))
	}
	return nil
}

// once writes the request in one piece and reads the answer into the same buffer.
func (x *exchange) once(id []byte, method string, params []byte) error {
	buf, from := x.client.frame(x.in.buf, id, method, params, x.more)
	x.in.buf = buf[:0]
	if err := x.conn.begin(x.ctx, x.deadline, len(buf)); err != nil {
		return err
	}
	n, err := x.conn.Write(buf[from:])
	secure := x.conn.Conn != x.conn.raw // TLS doesn't say how much of a failed write went out
	x.sent = x.sent || n > 0 || err == nil || secure
	if err != nil && secure {
		return x.conn.farewell(err)
	}
	if err != nil {
		return err
	}
	x.in.src = x.conn
	return x.in.read(x.client.end.MaxAnswer)
}

func (x *exchange) fault(err error) *Fault { return &Fault{Sent: x.sent, Err: err} }

// frame writes a request over b and returns where in it the request begins. The
// envelope is written first, after room for the head, whose last word is its length.
func (c *Client) frame(b, id []byte, method string, params, more []byte) (_ []byte, from int) {
	const digits = 20
	room := len(c.head) + digits + len(more) + len(headEnd)
	b = appendCall(slices.Grow(b[:0], room)[:room], id, method, params)
	var number [digits]byte
	length := strconv.AppendInt(number[:0], int64(len(b)-room), 10)
	from = digits - len(length)
	at := from + copy(b[from:], c.head)
	at += copy(b[at:], length)
	at += copy(b[at:], more)
	copy(b[at:], headEnd)
	return b, from
}

// appendCall appends the envelope of a call.
func appendCall(b, id []byte, method string, params []byte) []byte {
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = append(b, id...)
	b = append(b, `,"method":`...)
	b = jsonrpc.AppendString(b, method)
	b = append(b, `,"params":`...)
	if params == nil {
		params = []byte("[]")
	}
	b = append(b, params...)
	return append(b, '}')
}

// answer judges what came.
func (x *exchange) answer(id []byte) ([]byte, error) {
	h := &x.in.head
	fault := &Fault{Sent: true, Status: h.status, RetryAfter: h.retryAfter}
	ok := h.status >= 200 && h.status < 300
	if !ok && (h.status < 400 || h.status >= 500 || refusal(h.status)) || h.encoded && !x.inflatable() {
		fault.Err = statusCause(h)
		return nil, fault
	}
	if h.encoded {
		if fault.Err = x.inflate(); fault.Err != nil {
			return nil, fault
		}
	}
	a, isAnswer := jsonrpc.ScanAnswer(x.in.body)
	switch {
	case !ok && (!isAnswer || a.Error == nil):
		fault.Err = statusCause(h)
	case !isAnswer:
		fault.Err = garbage(x.in.body)
	case !bytes.Equal(a.ID, id) && !(a.Error != nil && isNobody(a.ID)):
		fault.Err = wrongID
	case a.Error != nil:
		return nil, callError(a.Error)
	default:
		return bytes.Clone(a.Result), nil
	}
	return nil, fault
}

// refusal tells the statuses by which a node turns us away, not the call.
func refusal(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusTooManyRequests
}

// isNobody tells whether an answer names no call. Errors may: the connection says
// whose they are.
func isNobody(id []byte) bool { return id == nil || string(id) == "null" }

func callError(e *jsonrpc.AnswerError) *CallError {
	return &CallError{Code: e.Code, Message: string(e.Message), Data: bytes.Clone(e.Data)}
}

// statusCause says why an answer is of no use, by its head.
func statusCause(h *head) error {
	status := strconv.Itoa(h.status)
	switch {
	case h.status >= 300 && h.status < 400:
		return breach("the node answers with a redirect (status " + status + "): configure the URL it leads to")
	case h.status == http.StatusUnauthorized || h.status == http.StatusForbidden:
		return breach("the node rejected the request with status " + status + ": check its key or headers")
	case h.status >= 300:
		return breach("the node answers with status " + status)
	}
	return encoded
}

// garbage says what a body is that is not JSON-RPC.
func garbage(body []byte) error {
	if trimmed := bytes.TrimLeft(body, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '<' {
		return aPage
	}
	return notJSONRPC
}

// giveBack keeps the connection if the answer was whole, ours and alone.
func (x *exchange) giveBack(err error) {
	if x.conn == nil {
		return
	}
	open := x.conn.finish()
	h := &x.in.head
	if open && x.in.clean && !h.last && trusted(err) {
		if h.idle > 0 {
			x.conn.idleFor = min(h.idle, idleTime)
		}
		x.client.pool.put(x.conn)
		return
	}
	x.client.pool.drop(x.conn)
}

// trusted tells whether an outcome leaves no doubt about where on the connection the
// next answer begins.
func trusted(err error) bool {
	var fault *Fault
	return !errors.As(err, &fault) || fault.Status >= 300
}
