package gateway

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/ipfs/unixfs"
	"github.com/nodegate/nodegate/internal/web"
)

// Access says who may use the read gateway.
type Access uint8

// The accesses.
const (
	Nobody    Access = iota
	Holders          // of a key with its secret, as for the API
	Everybody        // at a rate for each address
)

// readCommand is what requests to the read gateway count as.
var readCommand = &command{name: "gateway", streams: true}

func isReadPath(path string) bool {
	return path == "/ipfs" || path == "/ipns" || strings.HasPrefix(path, "/ipfs/") || strings.HasPrefix(path, "/ipns/")
}

// serveReader answers what the read gateway is asked for, by the host or by the path, and
// reports whether it was.
func (g *Gateway) serveReader(w http.ResponseWriter, req *http.Request) bool {
	name, port := g.hosts.hostOf(req)
	if s := g.hosts.siteOf(name, port); s != nil {
		g.serveSite(w, req, s)
		return true
	}
	if !isReadPath(req.URL.Path) {
		return false
	}
	switch to, err := g.elsewhere(req, name, port); {
	case err != nil:
		g.readHead(w.Header())
		plain(w, http.StatusBadRequest, nodegate.AsError(err).Msg)
	case to != "":
		g.redirect(w, to)
	default:
		g.serveContent(w, req, nil)
	}
	return true
}

// elsewhere is where a path redirects, or "".
func (g *Gateway) elsewhere(req *http.Request, name, port string) (to string, err error) {
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		return "", nil
	}
	if uri := req.URL.Query().Get("uri"); uri != "" && strings.Count(strings.TrimSuffix(req.URL.Path, "/"), "/") == 1 {
		return uriTarget(uri)
	}
	return g.hosts.toSite(req, name, port)
}

// serveContent answers GET and HEAD of a site, or below /ipfs where there is none. There,
// whatever was stored, a browser shows it in a sandbox: it runs no script and reaches
// nothing of this origin.
func (g *Gateway) serveContent(w http.ResponseWriter, req *http.Request, s *site) {
	start, text := time.Now(), req.URL.Path
	if g.readHead(w.Header()); s != nil {
		siteHead(w.Header())
		text = s.path(text)
	}
	switch req.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodOptions:
		w.Header().Set("Allow", readMethods)
		w.WriteHeader(http.StatusNoContent)
		return
	default:
		w.Header().Set("Allow", readMethods)
		plain(w, http.StatusMethodNotAllowed, "Method "+req.Method+" not allowed: read only access")
		return
	}
	r := &reading{call: g.newCall(w, req), text: text, site: s}
	r.command = readCommand
	err := r.guarded(r.answerContent)
	endSpan(r.call, err)
	slow(r.call, err)
	if err != nil && !r.answer.begun {
		r.refuseRead(err)
	}
	r.end(err, time.Since(start))
}

const readMethods = "GET, HEAD, OPTIONS"

// readHead sets what every answer has, errors too.
func (g *Gateway) readHead(h http.Header) {
	h.Set("Content-Security-Policy", "sandbox")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Server", "nodegate")
	h.Set("Vary", "Accept")
	h.Set("Access-Control-Allow-Methods", readMethods)
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Range, User-Agent, X-Requested-With")
	h.Set("Access-Control-Expose-Headers", "Content-Length, Content-Range, X-Chunked-Output, X-Ipfs-Path, X-Ipfs-Roots, X-Stream-Output, "+web.ExposedHeaders)
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	if g.cfg.Read != Everybody { // a browser sends the secret along with every request for an image
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
	}
}

// reading is one request to the read gateway on its way.
type reading struct {
	*call
	text   string // the path, unescaped, with the CID also where the host has it
	site   *site  // nil where the path has it
	format string // "" or one of formats
	params map[string]string
	found  *unixfs.Found
}

// answerContent does one request.
func (r *reading) answerContent() error {
	if err := letIn(r.call, r.mayRead); err != nil {
		return err
	}
	web.Welcome(r.req)
	if err := r.holdRead(); err != nil {
		return err
	}
	if err := r.check(); err != nil {
		return err
	}
	done, err := r.enter()
	if err != nil {
		return err
	}
	defer done()
	return inSpan(r.req.Context(), r.call, "command", func(ctx context.Context) error { return answerFound(ctx, r) })
}

// answerFound finds what the path names and answers with it.
func answerFound(ctx context.Context, r *reading) (err error) {
	carry(ctx, r.call)
	short, cancel := r.shortly()
	defer cancel()
	if r.found, err = r.gateway.objects.Find(short, r.text); err != nil {
		r.found, err = r.follow(short, err)
	}
	if r.found == nil && err == nil {
		return nil // a rule of the site has answered
	}
	if err != nil {
		if errors.Is(err, nodegate.InvalidInput) {
			r.w.Header().Del("X-Ipfs-Path") // it is none
		}
		return timedOut(err)
	}
	if err := r.setRoots(); err != nil {
		return err
	}
	switch r.format {
	case formatRaw:
		return timedOut(r.block(short))
	case formatCAR:
		return r.apart(r.car)
	case formatTAR:
		return timedOut(r.apart(r.tar))
	}
	if err := checkCodec(r.format, r.found.CID.Type()); err != nil {
		r.status = http.StatusNotAcceptable
		return err
	}
	return timedOut(r.entity(short))
}

// enter begins the request as one of its account, or of its address. A CAR or a tar may be
// of a DAG without an end.
func (r *reading) enter() (done func(), err error) {
	_, step := r.span.Step(r.req.Context(), "limits")
	ctx, place, err := r.gateway.shares.enter(r.context(), owner(r.call), r.format == formatCAR || r.format == formatTAR)
	step.End(err)
	if err != nil {
		return nil, err
	}
	r.req, r.place = r.req.WithContext(ctx), place
	return place.leave, nil
}

// apart runs work in a goroutine of its own, where long work gets low priority.
func (r *reading) apart(work func(short context.Context) error) error {
	return r.place.apart(r.req.Context(), within(r, work))
}

// within does work in a context that takes the place of the request's.
func within(r *reading, work func(short context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		r.req = r.req.WithContext(ctx)
		short, cancel := r.shortly()
		defer cancel()
		return work(short)
	}
}

// shortly bounds what is done before content is sent. Content may take as long as it
// moves.
func (r *reading) shortly() (context.Context, context.CancelFunc) {
	if d := r.gateway.cfg.Timeout; d > 0 {
		return context.WithTimeout(r.req.Context(), d)
	}
	return context.WithCancel(r.req.Context())
}

// mayRead lets holders of keys in as the API does, or everybody at a rate.
func (r *reading) mayRead() (err error) {
	g := r.gateway
	if g.cfg.Read == Everybody {
		return g.mayVisit(web.ClientAddr(r.req, g.cfg.TrustedProxies))
	}
	if r.grant, err = g.admit(r.w, r.req); err != nil {
		return err
	}
	return g.mayUse(r.grant, false)
}

// mayVisit holds an address to its rate.
func (g *Gateway) mayVisit(from netip.Addr) error {
	if !g.rates.allow(addressOwner(from), false, g.cfg.ReadRate) {
		return &nodegate.Error{Op: "storage.read", Code: nodegate.RateLimited, Msg: "rate limit exceeded", RetryAfter: time.Second}
	}
	return nil
}

// check refuses what can't be answered before anything is read.
func (r *reading) check() error {
	names := strings.Split(r.text, "/")[1:]
	switch {
	case names[0] == "ipns":
		return &nodegate.Error{Op: "storage.read", Code: nodegate.NotFound, Msg: "names (IPNS and DNSLink) are not resolved here: use /ipfs/ and the CID that the name stands for"}
	case len(names) < 2 || names[1] == "":
		return usageError(fmt.Sprintf("invalid path %q: path does not have enough components", r.text))
	case slices.Contains(names, ".") || slices.Contains(names, ".."):
		return usageError("invalid path: . and .. are not resolved here")
	case r.site == nil && r.req.Header.Get("Service-Worker") == "script":
		return usageError("service workers are not served here")
	}
	if plainText(r.text) {
		r.w.Header().Set("X-Ipfs-Path", r.text)
	}
	return r.readFormat()
}

// plainText tells whether a text can stand in a header as it is.
func plainText(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c > '~' })
}

// maxRoots is how long the header with the roots may be: proxies refuse longer ones.
const maxRoots = 8 << 10

// setRoots names what the names of the path stand for.
func (r *reading) setRoots() error {
	var list []string
	for _, c := range r.found.Roots {
		list = append(list, c.String())
	}
	if text := strings.Join(list, ","); len(text) <= maxRoots {
		r.w.Header().Set("X-Ipfs-Roots", text)
	}
	if len(r.found.Rest) > 0 && r.format != formatCAR {
		r.status = http.StatusNotImplemented
		return usageError("the path ends inside a block: read " + r.found.CID.String() + " and look there")
	}
	return nil
}

// readFormat finds the form that a client wants. The query goes before the header.
func (r *reading) readFormat() error {
	kind, params, err := accepted(r.req.Header)
	if err != nil {
		return err
	}
	r.format, r.params = kind, params
	if q := r.req.URL.Query(); q.Has("format") {
		var known bool
		if r.format, known = formats[q.Get("format")]; !known {
			return errFormat()
		}
		if r.format != kind {
			r.params = nil
		}
	}
	return nil
}

func errFormat() error {
	return usageError("unsupported response format requested: use raw, car, tar, dag-json, dag-cbor, json or cbor")
}

// accepted is the first form in the Accept header that is one of the formats. Others
// are what browsers send, and mean plain content.
func accepted(h http.Header) (kind string, params map[string]string, err error) {
	for _, value := range h.Values("Accept") {
		for part := range strings.SplitSeq(value, ",") {
			part = strings.TrimSpace(part)
			kind, params, err := mime.ParseMediaType(part)
			if general := kind == formatJSON || kind == formatCBOR; general && strings.Contains(value, "*/*") {
				continue // what libraries always send: they take anything
			}
			if err == nil && isFormat(kind) {
				return kind, params, nil
			}
			if strings.HasPrefix(part, "application/vnd.ipld.") || strings.HasPrefix(part, "application/vnd.ipfs.") {
				return "", nil, errFormat()
			}
		}
	}
	return "", nil, nil
}

// cacheControl is for content that never changes. What a key opened is for its
// holder's own cache.
func (g *Gateway) cacheControl(how string) string {
	if g.cfg.Read == Everybody {
		return "public, " + how
	}
	return "private, " + how
}

const forGood = "max-age=29030400, immutable"

// refuseRead answers an error with a line of text.
func (r *reading) refuseRead(err error) {
	e, h := nodegate.AsError(err), r.w.Header()
	if r.status == 0 {
		r.status = readStatus(e.Code)
		for _, name := range []string{"Content-Length", "Content-Disposition", "Cache-Control", "Etag", "Accept-Ranges", "X-Ipfs-Roots"} {
			h.Del(name) // of an answer that was not begun
		}
	}
	switch {
	case e.Code == nodegate.KeyRequired || e.Code == nodegate.KeyInvalid || e.Code == nodegate.SecretInvalid:
		h.Set("WWW-Authenticate", `Basic realm="storage"`)
	case e.RetryAfter > 0:
		h.Set("Retry-After", web.RetryAfter(e.RetryAfter))
	}
	msg := e.Msg
	if e.Code == nodegate.Internal {
		msg = r.gateway.logged(err)
	}
	if e.Code == nodegate.NotFound && onlyCached(r.req.Header) {
		r.status = http.StatusPreconditionFailed
	}
	if e.Code == nodegate.NotFound {
		msg = "failed to resolve " + strings.Trim(strconv.QuoteToASCII(r.text), `"`) + ": " + msg
	}
	plain(r.w, r.status, bounded(msg))
}

func readStatus(code nodegate.Code) int {
	switch code {
	case nodegate.InvalidInput, nodegate.InvalidRequest:
		return http.StatusBadRequest
	case nodegate.Timeout:
		return http.StatusGatewayTimeout
	}
	if status := web.Status(code); status >= http.StatusBadRequest {
		return status
	}
	return http.StatusInternalServerError
}
