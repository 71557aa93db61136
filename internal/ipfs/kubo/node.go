package kubo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/tracing"
)

const (
	maxRequests = 64       // at once to one node, uploads not counted
	maxUploads  = 64       // at once to one node
	maxAnswer   = 1 << 20  // of JSON that is read whole
	maxMessage  = 16 << 10 // of an error
	dialTime    = 3 * time.Second
	idleTime    = time.Minute
)

// node is one remote node.
type node struct {
	number  int // from 1, for logs: the address may say too much
	url     string
	headers map[string]string
	client  *http.Client
	log     *slog.Logger
	now     func() time.Time
	limits  limits

	traceparent bool // send it the trace that a request is a part of

	turns   chan struct{} // taken by each request
	uploads chan struct{}
	health  health
	doubt   chan struct{} // asks for a probe

	requests, failures, wrong atomic.Int64
}

func newNode(number int, p Endpoint, c Config) *node {
	return &node{
		number: number, url: strings.TrimSuffix(p.URL, "/") + "/api/v0/", headers: p.Headers, traceparent: p.Traceparent, log: c.Log, now: c.now, limits: c.limits,
		turns: make(chan struct{}, maxRequests), uploads: make(chan struct{}, maxUploads), doubt: make(chan struct{}, 1),
		client: &http.Client{
			Transport: &http.Transport{
				DialContext:         (&net.Dialer{Timeout: dialTime}).DialContext,
				TLSHandshakeTimeout: dialTime, MaxIdleConnsPerHost: maxRequests, IdleConnTimeout: idleTime,
				DisableCompression: true, MaxResponseHeaderBytes: 64 << 10,
				WriteBufferSize: 64 << 10, ReadBufferSize: 64 << 10,
			},
			// Following a redirect would carry credentials to whom it names.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// request is a command for a node.
type request struct {
	command   string
	query     url.Values
	body      io.Reader
	kind      string        // of the body
	wait      time.Duration // without progress; limits.answer if 0
	unlimited bool          // takes no turn
	progress  bool          // only the caller knows what progress is: reading is none
}

// answer is what a node sends. It must be closed.
type answer struct {
	node   *node
	res    *http.Response
	ctx    context.Context
	watch  *watch
	counts bool // reading is progress
	done   []func()
}

// watch ends a request that does not get on.
type watch struct {
	timer *time.Timer
	wait  time.Duration
	begun time.Time // the answer, once it has
	bytes int64     // of it
}

// minRate is how many bytes of an answer must come a second, beyond the first wait.
const minRate = 32 << 10

// errStalled is why a request was ended that did not get on.
var errStalled = errors.New("it makes no progress")

// renew gives the request its full wait again.
func (w *watch) renew() { w.timer.Reset(w.wait) }

// pace gives it time for what came, so that an answer can't drip forever.
func (w *watch) pace(n int) {
	if w.begun.IsZero() {
		w.begun = time.Now()
	}
	w.bytes += int64(n)
	w.timer.Reset(time.Until(w.begun.Add(w.wait + time.Duration(w.bytes)*time.Second/minRate)))
}

// do sends a command and returns the answer of status 200. Anything else is a fault.
func (n *node) do(ctx context.Context, r *request) (*answer, error) {
	a := &answer{node: n, counts: !r.progress}
	if !r.unlimited {
		select {
		case n.turns <- struct{}{}:
			a.done = append(a.done, func() { <-n.turns })
		case <-ctx.Done():
			return nil, &fault{kind: faultSlow, node: n.number, msg: "is busy", err: ctx.Err()}
		}
	}
	wait := r.wait
	if wait == 0 {
		wait = n.limits.answer
	}
	ctx, cancel := context.WithCancelCause(ctx)
	a.ctx, a.watch = ctx, &watch{timer: time.AfterFunc(wait, func() { cancel(errStalled) }), wait: wait}
	a.done = append(a.done, func() { a.watch.timer.Stop(); cancel(nil) })
	if err := a.sendTraced(r); err != nil {
		a.close()
		return nil, err
	}
	return a, nil
}

// sendTraced is send with a span, if the request is traced. It ends when the answer begins.
func (a *answer) sendTraced(r *request) error {
	_, span := tracing.Client(a.ctx, "storage node")
	if span == nil {
		return a.send(r, "")
	}
	span.Count("nodegate.node", a.node.number)
	traceparent := ""
	if a.node.traceparent {
		traceparent = span.Traceparent()
	}
	err := a.send(r, traceparent)
	outcome := nodegate.OutcomeOK
	if err != nil {
		outcome = "fault"
	}
	span.Outcome(outcome, err == nil)
	return err
}

func (a *answer) send(r *request, traceparent string) error {
	n := a.node
	req, err := http.NewRequestWithContext(a.ctx, http.MethodPost, n.url+r.command+"?"+r.query.Encode(), r.body)
	if err != nil {
		return &fault{node: n.number, msg: "can't be called", err: err}
	}
	for name, value := range n.headers {
		req.Header.Set(name, value)
	}
	if r.kind != "" {
		req.Header.Set("Content-Type", r.kind)
	}
	if traceparent != "" {
		req.Header.Set("Traceparent", traceparent)
	}
	n.requests.Add(1)
	if a.res, err = n.client.Do(req); err != nil {
		return a.broken(err)
	}
	if a.counts {
		a.watch.pace(0)
	}
	if a.res.StatusCode == http.StatusOK {
		return nil
	}
	text, _ := io.ReadAll(io.LimitReader(a.res.Body, maxMessage))
	var failure struct{ Message, Type string }
	isCommand := json.Unmarshal(text, &failure) == nil && failure.Type == "error"
	if !isCommand {
		failure.Message = string(bytes.TrimSpace(text[:min(len(text), 200)]))
	}
	return n.failure(refusal(n.number, a.res.StatusCode, failure.Message, isCommand))
}

// broken is the fault of an exchange that broke off. The caller's own end is not the
// node's fault.
func (a *answer) broken(err error) error {
	var about *url.Error
	if errors.As(err, &about) {
		err = about.Err // without the address
	}
	cause := context.Cause(a.ctx)
	if cause != nil && !errors.Is(cause, errStalled) {
		return &fault{kind: faultSlow, node: a.node.number, msg: "was not waited for", err: cause}
	}
	if cause != nil {
		err = cause
	}
	return a.node.failure(&fault{node: a.node.number, msg: "does not answer", err: err})
}

// Read reads the body. At its end it looks for the error that Kubo hides there.
func (a *answer) Read(b []byte) (int, error) {
	count, err := a.res.Body.Read(b)
	if a.counts && count > 0 {
		a.watch.pace(count)
	}
	if err == io.EOF {
		if hidden := a.res.Trailer.Get("X-Stream-Error"); hidden != "" {
			return count, a.node.failure(refusal(a.node.number, http.StatusInternalServerError, hidden, true))
		}
		return count, io.EOF
	}
	if err != nil {
		return count, a.broken(err)
	}
	return count, nil
}

func (a *answer) close() {
	if a.res != nil {
		_ = a.res.Body.Close()
	}
	for _, do := range a.done {
		do()
	}
}

// whole sends a command and reads its answer, which must not be longer than limit.
func (n *node) whole(ctx context.Context, r *request, limit int64) ([]byte, error) {
	a, err := n.do(ctx, r)
	if err != nil {
		return nil, err
	}
	defer a.close()
	body, err := io.ReadAll(io.LimitReader(a, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(body)) > limit {
		return nil, n.failure(&fault{node: n.number, msg: "sent a response that is too large"})
	}
	if r.command != "version" { // what a node says of itself does not make it well
		n.health.ok()
	}
	return body, nil
}
