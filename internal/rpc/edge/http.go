package edge

import (
	"context"
	"errors"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/obs"
	"github.com/nodegate/nodegate/internal/tracing"
	"github.com/nodegate/nodegate/internal/web"
)

// Header values that every answer shares.
var (
	jsonType = []string{"application/json"}
	noSniff  = []string{"nosniff"}
)

// statusPath is the page that a network may have had for its name before there was one.
// JSON-RPC of such a network is below it.
const statusPath = "/status"

// ServeHTTP answers JSON-RPC addresses and /readyz with what is below it.
func (e *Edge) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r, ok := parseRoute(req.URL.Path)
	lost := false
	if !ok {
		if r, lost = e.site.Load().lost(req.URL.Path); !lost || e.cfg.StatusPage && req.URL.Path == statusPath {
			e.elsewhere(w, req)
			return
		}
	}
	h := w.Header()
	web.CORS(h, req.Header.Get("Origin"))
	id := e.ids.For(req.Header["X-Request-Id"])
	h["X-Request-Id"] = []string{id}
	err := errLost(r)
	if !lost || req.Method == http.MethodOptions {
		err = e.serve(w, req, r)
	}
	if err != nil {
		e.slowdown.refused(req, err)
		e.refuse(w, err)
		e.logRefusal(r, id, web.Status(nodegate.AsError(err).Code), err)
	}
}

// serve does one request; an error is what is answered instead.
func (e *Edge) serve(w http.ResponseWriter, req *http.Request, r route) error {
	if req.Method == http.MethodOptions {
		web.Preflight(w, req)
		return nil
	}
	if r.socket {
		return e.serveSocket(w, req, r)
	}
	if req.Method != http.MethodPost {
		w.Header().Set("Allow", "POST, OPTIONS")
		return &nodegate.Error{Op: "edge.http", Code: nodegate.HTTPMethod, Msg: "method not allowed: use POST"}
	}
	req, entry := enter(e.cfg.Tracer, req)
	n, grant, err := e.admit(w, req, r)
	req, span := admitted(&entry, w, req, grant, err)
	if err == nil && !jsonContent(req.Header.Get("Content-Type")) {
		err = &nodegate.Error{Op: "edge.http", Code: nodegate.MediaType, Msg: "invalid content type: only application/json is supported"}
	}
	if err == nil {
		err = e.post(w, req, n, grant, span, false)
	}
	if err != nil {
		err = e.fine(req.Context(), n, grant, idOf(w), err)
		span.End(err)
	}
	return err
}

// post reads the body, executes it and writes the answer. Who came by a session is told
// what it cost.
func (e *Edge) post(w http.ResponseWriter, req *http.Request, n *network, grant *nodegate.Grant, span *tracing.Span, session bool) (err error) {
	x := e.newExchange(n, grant, nil)
	defer x.release()
	x.id, x.span = idOf(w), span
	if x.body, err = web.ReadBody(w, req, x.body, x.reading(req.Context())); err != nil {
		return err
	}
	e.in.Add(float64(len(x.body)))
	ctx := nodegate.WithGrant(req.Context(), grant)
	if len(x.body) > 0 && firstByte(x.body) == '[' {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, requestTime)
		defer cancel()
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // a batch may outlast the deadline of its body
	}
	callErr := x.respond(ctx)
	setTold(w.Header(), x, req.Header.Get("X-Explain") == "1")
	if session {
		w.Header().Set("X-Credits", strconv.FormatInt(x.cost, 10))
		w.Header().Set("Server-Timing", string(appendTiming(nil, x)))
	}
	if callErr != nil {
		e.slowdown.refused(req, callErr)
	}
	status := e.answer(w, req, x, callErr)
	if status < http.StatusBadRequest {
		web.Welcome(req)
	}
	x.logAnswer(x.id, status, callErr)
	endSpan(x, status, callErr)
	return nil
}

// idOf is the id that a response has, as logs and spans show it: a client may have chosen one
// that looks like a key.
func idOf(w http.ResponseWriter) string { return obs.Redact(w.Header().Get("X-Request-Id")) }

func firstByte(b []byte) byte {
	for _, c := range b {
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return c
		}
	}
	return 0
}

// answer writes a finished envelope, compressed when the client asks and it pays.
func (e *Edge) answer(w http.ResponseWriter, req *http.Request, x *exchange, callErr error) (status int) {
	body := x.answer
	status, retry := outcome(callErr)
	h := w.Header()
	if retry != "" {
		h.Set("Retry-After", retry)
	}
	if len(body) == 0 {
		w.WriteHeader(http.StatusNoContent)
		return http.StatusNoContent
	}
	h["Content-Type"] = jsonType
	h["X-Content-Type-Options"] = noSniff
	e.out.Add(float64(len(body)))
	if len(body) >= web.CompressFrom {
		h.Add("Vary", "Accept-Encoding")
		if web.AcceptsGzip(req.Header) && x.memory.mayCompress(len(body)) {
			if packed := e.large.compress(req.Context(), x.grant.AccountID, make([]byte, 0, len(body)/4), body); packed != nil {
				h.Set("Content-Encoding", "gzip")
				body = packed
			}
		}
	}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that left can't be told
	return status
}

// outcome is the status of a single call's answer, and when to try again.
func outcome(callErr error) (status int, retry string) {
	if callErr == nil {
		return http.StatusOK, ""
	}
	x := nodegate.AsError(callErr)
	if x.RetryAfter > 0 {
		retry = web.RetryAfter(x.RetryAfter)
	}
	return web.Status(x.Code), retry
}

// refuse answers what was not admitted. There is no WWW-Authenticate:
// browsers would pop up a login.
func (e *Edge) refuse(w http.ResponseWriter, err error) {
	x := nodegate.AsError(err)
	e.cfg.Metrics.Refused(x.Code)
	body := e.appendError(nil, nil, err)
	h := w.Header()
	h["Content-Type"] = jsonType
	h["X-Content-Type-Options"] = noSniff
	if x.RetryAfter > 0 {
		h.Set("Retry-After", web.RetryAfter(x.RetryAfter))
	}
	if x.Op == web.BodyOp {
		h.Set("Connection", "close") // the rest of the body is not read
	}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(web.Status(x.Code))
	_, _ = w.Write(body)
}

// Crowded refuses requests of clients that have too many in progress.
func Crowded(e *Edge) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		web.CORS(w.Header(), req.Header.Get("Origin"))
		w.Header()["X-Request-Id"] = []string{e.ids.New()}
		e.refuse(w, &nodegate.Error{Op: "edge.http", Code: nodegate.Busy, Msg: web.Crowded, RetryAfter: time.Second})
	}
}

// elsewhere answers paths that are not JSON-RPC.
func (e *Edge) elsewhere(w http.ResponseWriter, req *http.Request) {
	switch {
	case req.URL.Path == "/readyz" || strings.HasPrefix(req.URL.Path, "/readyz/"):
		e.ready.ServeHTTP(w, req)
	case e.cfg.Elsewhere != nil:
		e.cfg.Elsewhere.ServeHTTP(w, req)
	case req.URL.Path == "/":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("nodegate\n\nJSON-RPC: POST /<network>/v3/<API_KEY>, WebSocket: /<network>/ws/v3/<API_KEY>\n"))
	default:
		http.Error(w, "not found: JSON-RPC is at /<network>/v3/<API_KEY>", http.StatusNotFound)
	}
}

// jsonContent accepts the content types that mean JSON-RPC.
func jsonContent(value string) bool {
	if value == "application/json" {
		return true
	}
	kind, _, err := mime.ParseMediaType(value)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		return false
	}
	switch strings.ToLower(kind) {
	case "application/json", "application/json-rpc", "application/jsonrequest":
		return true
	}
	return false
}
