package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
)

// Transport is what connections to a node have beyond its URL. Two that are equal
// reach the node in the same way.
type Transport struct {
	CA    string // PEM: the authorities that may sign the node's certificate; "" for the system's
	Cert  string // PEM: the certificate that we show the node, and what is between it and its authority; "" for none
	Key   string // PEM: its private key
	Proxy string // http or https; it tunnels every connection with CONNECT. A user and password become basic auth; "" for none
	Gzip  bool   // a Client asks for answers in gzip
}

// tlsConfig is for connections to the node. It offers HTTP/1.1 only, which is all that
// is spoken here.
func (t Transport) tlsConfig(host string) (*tls.Config, error) {
	cfg := &tls.Config{ServerName: host, NextProtos: []string{"http/1.1"}}
	if t.CA != "" {
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM([]byte(t.CA)) {
			return nil, bad("the node's authorities have no certificate in PEM")
		}
	}
	if t.Cert == "" && t.Key == "" {
		return cfg, nil
	}
	pair, err := tls.X509KeyPair([]byte(t.Cert), []byte(t.Key))
	if err != nil {
		return nil, bad("the client certificate and key for the node are not a pair in PEM")
	}
	cfg.Certificates = []tls.Certificate{pair}
	return cfg, nil
}

// proxyTLS is for connections to the proxy. It may be a public one before a private
// node, or have the same private authority, so both are believed.
func (t Transport) proxyTLS(host string) *tls.Config {
	cfg := &tls.Config{ServerName: host, NextProtos: []string{"http/1.1"}}
	if t.CA == "" {
		return cfg
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	roots.AppendCertsFromPEM([]byte(t.CA))
	cfg.RootCAs = roots
	return cfg
}

// open connects to the node, through its proxy if it has one. It returns what to speak
// on, TLS to the node excluded, and the TCP connection below it, which is what to close.
func (e *endpoint) open(ctx context.Context) (spoken, raw net.Conn, err error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	if e.proxy != nil {
		return e.proxy.open(ctx)
	}
	raw, err = new(net.Dialer).DialContext(ctx, "tcp", e.address)
	return raw, raw, err
}

// HTTPTransport reaches a node as a Client does, for requests that a Client can't make.
//
// Returns BadConfig as NewClient does.
func HTTPTransport(cfg Config) (*http.Transport, error) {
	end, err := check(cfg, "http", "https")
	if err != nil {
		return nil, err
	}
	t := end.httpTransport(func(net.Conn) {})
	t.DisableCompression = !end.Gzip
	return t, nil
}

// httpTransport is net/http over our own connections. dialled gets each TCP connection.
func (e *endpoint) httpTransport(dialled func(raw net.Conn)) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			spoken, raw, err := e.open(ctx)
			if err != nil {
				return nil, err
			}
			dialled(raw)
			return spoken, nil
		},
		TLSClientConfig: e.tls, TLSHandshakeTimeout: dialTime, MaxResponseHeaderBytes: maxHead,
		DisableCompression: true, DisableKeepAlives: true,
	}
}
