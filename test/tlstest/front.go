package tlstest

import (
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
)

// StartFront puts TLS before a server that has none, and returns the host and port.
// WebSockets pass too.
func StartFront(t testing.TB, cfg *tls.Config, to string) string {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "http", target.Host, target.Host
		},
		ErrorLog: log.New(io.Discard, "", 0),
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(proxy.ServeHTTP))
	server.Config.ErrorLog = proxy.ErrorLog // of handshakes that are meant to fail
	server.TLS = cfg
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}
