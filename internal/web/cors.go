package web

import (
	"net/http"
	"strings"
)

// ExposedHeaders are those that a page may read of an answer.
const ExposedHeaders = "Retry-After, X-Cache, Server-Timing, X-Request-Id"

// The header values are shared slices, so that a hot response allocates none.
var (
	anyOrigin      = []string{"*"}
	exposedHeaders = []string{ExposedHeaders}
	allowedHeaders = []string{"Content-Type, Authorization, X-API-Key, X-Explain, Idempotency-Key"}
	allowedMethods = []string{"POST, OPTIONS"}
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

// Preflight answers a browser's question before a cross-origin request.
func Preflight(w http.ResponseWriter) {
	h := w.Header()
	h["Access-Control-Allow-Origin"] = anyOrigin
	h["Access-Control-Allow-Headers"] = allowedHeaders
	h["Access-Control-Allow-Methods"] = allowedMethods
	h["Access-Control-Max-Age"] = preflightAge
	w.WriteHeader(http.StatusNoContent)
}
