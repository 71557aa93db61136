package chaos

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"syscall"
	"testing"
)

func isRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// relay stands before a node, writes down what it is asked, and may answer itself.
type relay struct {
	*httptest.Server
	mu   sync.Mutex
	seen []sighting
	// trouble answers instead of the node if it returns true. nil is no trouble.
	trouble func(w http.ResponseWriter, r *http.Request, method string, body []byte) bool
}

// sighting is one request at a node.
type sighting struct{ method, body string }

func startRelay(t *testing.T, to string) *relay {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	r := new(relay)
	proxy := &httputil.ReverseProxy{
		Rewrite:      func(p *httputil.ProxyRequest) { p.Out.URL, p.Out.Host = target, target.Host },
		Transport:    &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body) // what was cut short is not JSON, and is seen as that
		var envelope struct{ Method string }
		_ = json.Unmarshal(body, &envelope)
		if trouble := r.note(envelope.Method, body); trouble != nil && trouble(w, req, envelope.Method, body) {
			return
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, req)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *relay) note(method string, body []byte) (trouble func(http.ResponseWriter, *http.Request, string, []byte) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, sighting{method, string(body)})
	return r.trouble
}

// make has the relay misbehave from now on; nil ends it.
func (r *relay) make(trouble func(w http.ResponseWriter, r *http.Request, method string, body []byte) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trouble = trouble
}

// count is how many requests of a method were seen.
func (r *relay) count(method string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.seen {
		if s.method == method {
			n++
		}
	}
	return n
}

// bodies are the requests seen so far.
func (r *relay) bodies() []sighting {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]sighting(nil), r.seen...)
}
