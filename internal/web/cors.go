package web

import (
	"net/http"
	"strings"
)

// ExposedHeaders are those that a page may read of an answer.
const ExposedHeaders = "Retry-After, X-Cache, X-Verified, X-Head-Age, Server-Timing, X-Request-Id"

// The header values are shared slices, so that a hot response allocates none.
var (
	anyOrigin      = []string{"*"}
	exposedHeaders = []string{ExposedHeaders}
	preflightAge   = []string{"86400"}
)

// Origin is the page that a request says it comes from. One that says several things
// comes from none that could be listed.
func Origin(h http.Header) string {
	if list := h["Origin"]; len(list) > 1 {
		return strings.Join(list, ", ")
	}
	return h.Get("Origin")
}

// CORS lets every origin read an answer, errors too. Credentials are never
// allowed, so no cookie travels.
func CORS(h http.Header, origin string) {
	h["Access-Control-Allow-Origin"] = anyOrigin
	if origin != "" {
		h["Access-Control-Expose-Headers"] = exposedHeaders
	}
}

// CORSOnly narrows CORS to the pages that a key's owner has listed: an allowed
// origin is named, any other gets nothing to read.
func CORSOnly(h http.Header, origin string, allowed bool) {
	h.Add("Vary", "Origin")
	if allowed {
		h.Set("Access-Control-Allow-Origin", origin)
		return
	}
	h.Del("Access-Control-Allow-Origin")
}

// allowedHeaders are those that a page may always send.
const allowedHeaders = "Content-Type, Authorization, X-API-Key, X-Explain, Idempotency-Key"

// safeHeaders are those that libraries, caches and tracers add to a request, and that
// change nothing here. A browser drops the whole request if one of them isn't allowed.
var safeHeaders = []string{
	"Accept", "Accept-Language", "Baggage", "B3", "Cache-Control", "Content-Language", "If-Modified-Since", "If-None-Match", "Pragma", "Range",
	"Sentry-Trace", "Traceparent", "Tracestate", "User-Agent", "X-B3-Sampled", "X-B3-SpanId", "X-B3-TraceId", "X-Client-Name", "X-Client-Version",
	"X-Request-Id", "X-Requested-With",
}

// asked returns the headers to allow: the usual ones, and of those that a preflight asks
// for the safe ones.
func asked(requested string) string {
	allowed := allowedHeaders
	for _, name := range safeHeaders {
		if names(requested, name) {
			allowed += ", " + name
		}
	}
	return allowed
}

// names tells whether a list of header names has one.
func names(list, name string) bool {
	for one := range strings.SplitSeq(list, ",") {
		if strings.EqualFold(strings.TrimSpace(one), name) {
			return true
		}
	}
	return false
}

// Preflight answers a browser's question before a cross-origin request.
func Preflight(w http.ResponseWriter, req *http.Request) { PreflightFor(w, req, "POST, OPTIONS") }

// PreflightFor is Preflight where other methods are allowed.
func PreflightFor(w http.ResponseWriter, req *http.Request, methods string) {
	h := w.Header()
	h["Access-Control-Allow-Origin"] = anyOrigin
	h.Set("Access-Control-Allow-Headers", asked(req.Header.Get("Access-Control-Request-Headers")))
	h.Add("Vary", "Access-Control-Request-Headers")
	h.Set("Access-Control-Allow-Methods", methods)
	h["Access-Control-Max-Age"] = preflightAge
	w.WriteHeader(http.StatusNoContent)
}
