package web_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/nodegate/nodegate/internal/localca"
	"github.com/nodegate/nodegate/internal/web"
)

// TestEither reaches one port by plain HTTP, by HTTPS and by HTTP/2, while silent
// connections wait beside them.
func TestEither(t *testing.T) {
	ca, err := localca.Open(t.TempDir(), []string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln := web.Either(inner, &tls.Config{GetCertificate: ca.Certificate, NextProtos: []string{"h2", "http/1.1"}})
	srv := web.NewServer(&http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Proto)
		if r.TLS != nil {
			_, _ = io.WriteString(w, " TLS")
		}
	})})
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(ln) }()
	addr := ln.Addr().String()
	for range 3 {
		silent, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer silent.Close()
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca.PEM())
	for _, c := range []struct {
		url, want string
		http2     bool
	}{{"http://" + addr, "HTTP/1.1", false}, {"https://" + addr, "HTTP/1.1 TLS", false}, {"https://" + addr, "HTTP/2.0 TLS", true}} {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: c.http2}
		res, err := (&http.Client{Transport: transport, Timeout: time.Minute}).Get(c.url)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if string(body) != c.want {
			t.Errorf("%s answers %q, want %q", c.url, body, c.want)
		}
		transport.CloseIdleConnections()
	}
	_ = srv.Close()
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		t.Errorf("serving ended with %v", err)
	}
	if c, err := net.Dial("tcp", addr); err == nil {
		_ = c.Close()
		t.Error("still listening")
	}
}
