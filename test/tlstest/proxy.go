package tlstest

import (
	"crypto/tls"
	"encoding/base64"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// ProxyConfig says what a proxy is like.
type ProxyConfig struct {
	User string      // user:password that it requires; "" lets everybody in
	TLS  *tls.Config // nil for http
}

// Proxy opens tunnels by CONNECT, and does nothing else.
type Proxy struct {
	URL  string // with the user
	Host string // host:port

	user string
	mu   sync.Mutex
	to   []string
}

// StartProxy runs a proxy until the test ends.
func StartProxy(t testing.TB, cfg ProxyConfig) *Proxy {
	t.Helper()
	p := &Proxy{user: cfg.User}
	server := httptest.NewUnstartedServer(http.HandlerFunc(p.serve))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that are meant to fail
	if server.TLS = cfg.TLS; cfg.TLS != nil {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	scheme, host, _ := strings.Cut(server.URL, "://")
	if p.Host, p.URL = host, server.URL; cfg.User != "" {
		p.URL = scheme + "://" + cfg.User + "@" + host
	}
	return p
}

// Tunnels are where the proxy connected to, in order.
func (p *Proxy) Tunnels() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.to...)
}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte(p.user))
	switch {
	case r.Method != http.MethodConnect:
		http.Error(w, "tunnels only", http.StatusMethodNotAllowed)
		return
	case p.user != "" && r.Header.Get("Proxy-Authorization") != want:
		http.Error(w, "who are you, "+r.Header.Get("Proxy-Authorization"), http.StatusProxyAuthRequired)
		return
	}
	node, err := net.Dial("tcp", r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer node.Close()
	p.mu.Lock()
	p.to = append(p.to, r.Host)
	p.mu.Unlock()
	client, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	join(client, node)
}

// join copies both ways until one side ends.
func join(client, node net.Conn) {
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	done := make(chan struct{}, 2)
	pass := func(to, from net.Conn) { _, _ = io.Copy(to, from); done <- struct{}{} }
	go pass(node, client)
	go pass(client, node)
	<-done
}
