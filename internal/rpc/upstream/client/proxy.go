package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
)

// proxy opens tunnels to one node. Its errors name the proxy by its host, never by its
// URL, which may hold a password.
type proxy struct {
	address string      // to dial: host:port
	tls     *tls.Config // nil for http
	request []byte      // that asks for a tunnel
}

// newProxy checks the proxy of a transport and prepares the request for tunnels to node,
// a host:port. It returns nil where there is no proxy.
func newProxy(t Transport, node string) (*proxy, error) {
	if t.Proxy == "" {
		return nil, nil
	}
	u, err := url.Parse(t.Proxy)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || !visible(u.Host) {
		return nil, bad("the node's proxy can't be used: write it like http://host:port or https://host:port")
	}
	p := &proxy{address: hostPort(u, u.Scheme == "https")}
	if u.Scheme == "https" {
		p.tls = t.proxyTLS(u.Hostname())
	}
	head := "CONNECT " + node + " HTTP/1.1\r\nHost: " + node + "\r\nUser-Agent: " + userAgent + "\r\n"
	if u.User != nil {
		head += "Proxy-Authorization: " + basicAuth(u.User) + "\r\n"
	}
	p.request = []byte(head + "\r\n")
	return p, nil
}

// open connects to the proxy and has it connect to the node, before ctx ends.
func (p *proxy) open(ctx context.Context) (spoken, raw net.Conn, err error) {
	raw, err = new(net.Dialer).DialContext(ctx, "tcp", p.address)
	if err == nil {
		if spoken, err = p.tunnel(ctx, raw); err != nil {
			_ = raw.Close()
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("no connection through the proxy %s: %w", p.address, err)
	}
	return spoken, raw, nil
}

func (p *proxy) tunnel(ctx context.Context, raw net.Conn) (net.Conn, error) {
	c := raw
	if p.tls != nil {
		secure := tls.Client(raw, p.tls)
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, err
		}
		c = secure
	}
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	err := p.ask(c)
	if !stop() {
		return nil, ctx.Err()
	}
	return c, err
}

// ask sends the request and reads the head of the answer. Only its status counts: a
// tunnel begins right behind the head, whatever the head says about a body.
func (p *proxy) ask(c net.Conn) error {
	if _, err := c.Write(p.request); err != nil {
		return err
	}
	in := incoming{src: c}
	end, err := in.wholeHead(0)
	var answer fields
	if err == nil {
		line, _, _ := bytes.Cut(in.buf, lineEnd)
		err = answer.statusLine(line)
	}
	var odd breach
	switch {
	case errors.As(err, &odd):
		return proxyNotHTTP
	case err != nil:
		return err
	case answer.status/100 != 2:
		return proxyRefusal(answer.status)
	case len(in.buf) > end: // the node can't have said anything before we do
		return proxyTalks
	}
	return nil
}

func proxyRefusal(status int) error {
	text := "it answers CONNECT with status " + strconv.Itoa(status)
	switch status {
	case http.StatusProxyAuthRequired, http.StatusUnauthorized:
		text += "; check the user and password in its URL"
	case http.StatusForbidden, http.StatusMethodNotAllowed:
		text += "; allow CONNECT to the node's host and port there"
	}
	return breach(text)
}
