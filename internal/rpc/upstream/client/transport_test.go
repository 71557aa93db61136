package client

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/test/full"
	"github.com/nodegate/nodegate/test/tlstest"
)

func certPEM(c *x509.Certificate) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}))
}

// startEcho is a node that answers every call with its parameters, over HTTP and
// WebSocket. It returns its host and port.
func startEcho(t testing.TB, cfg *tls.Config) string {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") == "" {
			body, _ := io.ReadAll(r.Body)
			_, _ = w.Write(echo(body))
			return
		}
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer c.CloseNow()
		c.SetReadLimit(1 << 20)
		for {
			_, text, err := c.Read(context.Background())
			if err != nil || c.Write(context.Background(), websocket.MessageText, echo(text)) != nil {
				return
			}
		}
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that are meant to fail
	if server.TLS = cfg; cfg != nil {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

func echo(call []byte) []byte {
	var a ask
	_ = json.Unmarshal(call, &a)
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, a.ID, a.Params)
}

// callBoth makes the same call over HTTP and over a WebSocket.
func callBoth(t *testing.T, host string, secure bool, how Transport) (http, socket error) {
	t.Helper()
	s := ""
	if secure {
		s = "s"
	}
	params := []byte(`["` + strings.Repeat("x", 5_000) + `"]`)
	check := func(got []byte, err error) error {
		if err == nil && !bytes.Equal(got, params) {
			t.Errorf("got %.100q", got)
		}
		return err
	}
	c := newClient(t, Config{URL: "http" + s + "://" + host + "/SECRET", Transport: how})
	for range 2 { // a new connection, and a kept one
		http = check(c.Call(soon(t), "m", params))
	}
	ws, err := DialSocket(soon(t), Config{URL: "ws" + s + "://" + host + "/SECRET", Transport: how})
	if err != nil {
		return http, err
	}
	defer ws.Close()
	return http, check(ws.Call(soon(t), "m", params))
}

// TestTransport reaches a node in every way that there is.
func TestTransport(t *testing.T) {
	ours, theirs := tlstest.NewAuthority(t), tlstest.NewAuthority(t)
	cert, key := ours.Issue(t)
	mutual, plain := startEcho(t, ours.MutualTLS(t)), startEcho(t, nil)
	open := tlstest.StartProxy(t, tlstest.ProxyConfig{})
	guarded := tlstest.StartProxy(t, tlstest.ProxyConfig{User: "me:swordfish", TLS: ours.ServerTLS(t)})
	foreign := tlstest.StartProxy(t, tlstest.ProxyConfig{TLS: theirs.ServerTLS(t)})
	stranger := strings.Replace(guarded.URL, "swordfish", "swordfash", 1)
	known := Transport{CA: ours.CA, Cert: cert, Key: key}
	foreignCert, foreignKey := theirs.Issue(t)
	for name, tt := range map[string]struct {
		host   string
		how    Transport
		change func(*Transport)
		want   string // in the error; "" for none
	}{
		"CA and client certificate":           {mutual, known, func(*Transport) {}, ""},
		"through a proxy":                     {mutual, known, func(how *Transport) { how.Proxy = open.URL }, ""},
		"through a proxy with TLS and a user": {mutual, known, func(how *Transport) { how.Proxy = guarded.URL }, ""},
		"plain through a proxy":               {plain, Transport{}, func(how *Transport) { how.Proxy = open.URL }, ""},
		"plain through a proxy with TLS":      {plain, Transport{CA: ours.CA}, func(how *Transport) { how.Proxy = guarded.URL }, ""},
		"without the CA":                      {mutual, known, func(how *Transport) { how.CA = "" }, "certificate signed by unknown authority"},
		"with another CA":                     {mutual, known, func(how *Transport) { how.CA = theirs.CA }, "certificate signed by unknown authority"},
		"without a client certificate":        {mutual, known, func(how *Transport) { how.Cert, how.Key = "", "" }, "certificate required"},
		"with a client certificate of others": {mutual, known, func(how *Transport) { how.Cert, how.Key = foreignCert, foreignKey }, "certificate"},
		"with a wrong password":               {mutual, known, func(how *Transport) { how.Proxy = stranger }, guarded.Host + ": it answers CONNECT with status 407; check the user and password"},
		"through a proxy that isn't there":    {plain, Transport{Proxy: "http://127.9.9.9:1"}, func(*Transport) {}, "through the proxy 127.9.9.9:1: dial tcp"},
		"through a proxy of another CA":       {mutual, known, func(how *Transport) { how.Proxy = foreign.URL }, "through the proxy " + foreign.Host + ": tls: failed to verify certificate"},
		"to a node that isn't there":          {"127.9.9.9:1", Transport{Proxy: open.URL}, func(*Transport) {}, open.Host + ": it answers CONNECT with status 502"},
	} {
		t.Run(name, func(t *testing.T) {
			tt.change(&tt.how)
			httpErr, socketErr := callBoth(t, tt.host, tt.host == mutual, tt.how)
			for _, err := range []error{httpErr, socketErr} {
				if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got %v, want %q", err, tt.want)
				}
				if err != nil && (strings.Contains(err.Error(), "swordf") || strings.Contains(err.Error(), "SECRET") || asFault(t, err).Status != 0) {
					t.Errorf("got %v", err)
				}
			}
		})
	}
	if got := open.Tunnels(); len(got) != 4 {
		t.Errorf("the open proxy connected to %q", got)
	}
	for _, to := range guarded.Tunnels() {
		if to != mutual && to != plain {
			t.Errorf("the proxy connected to %s", to)
		}
	}
}

// TestHostileProxy: whatever a proxy says, there is an error in time that names it.
func TestHostileProxy(t *testing.T) {
	for name, tt := range map[string]struct {
		say  func(c net.Conn)
		want string
	}{
		"nothing":   {func(c net.Conn) { _, _ = c.Read(make([]byte, 1)) }, "deadline exceeded"},
		"no HTTP":   {func(c net.Conn) { _, _ = io.WriteString(c, "SSH-2.0-x\r\n") }, "it does not answer CONNECT in HTTP/1.1"},
		"a hang-up": {func(net.Conn) {}, "it does not answer CONNECT in HTTP/1.1"},
		"an endless head": {func(c net.Conn) {
			_, err := io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			for err == nil {
				_, err = io.WriteString(c, "X: y\r\n")
			}
		}, "it does not answer CONNECT in HTTP/1.1"},
		"a page":    {func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>") }, "it sends bytes into the tunnel before the node does"},
		"a refusal": {func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 403 SECRET\r\n\r\n") }, "status 403; allow CONNECT"},
	} {
		t.Run(name, func(t *testing.T) {
			host, timeout := startRaw(t, tt.say), patience
			if name == "nothing" {
				timeout = 300 * time.Millisecond
			}
			c := newClient(t, Config{URL: "http://node.test/", Timeout: timeout, Transport: Transport{Proxy: "http://u:SECRET@" + host}})
			_, err := c.Call(soon(t), "m", nil)
			_, socketErr := DialSocket(soon(t), Config{URL: "ws://node.test/", Timeout: timeout, Transport: c.end.Transport})
			for _, err := range []error{err, socketErr} {
				if f := asFault(t, err); f.Sent || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "SECRET") {
					t.Errorf("got %v", err)
				}
			}
			if !strings.Contains(err.Error(), host) || name == "nothing" != errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// startRaw reads what comes first on each connection, and answers by a function.
func startRaw(t testing.TB, say func(net.Conn)) (host string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = c.Read(make([]byte, 1024))
				say(c)
			}()
		}
	}()
	return ln.Addr().String()
}

func TestBadTransport(t *testing.T) {
	a := tlstest.NewAuthority(t)
	cert, key := a.Issue(t)
	_, other := a.Issue(t)
	for name, how := range map[string]Transport{
		"a CA that is none": {CA: "swordfish"}, "a key alone": {Key: key}, "a certificate alone": {Cert: cert}, "another key": {Cert: cert, Key: other},
		"a socks proxy": {Proxy: "socks5://swordfish@h"}, "a proxy without a host": {Proxy: "http:///swordfish"}, "no URL": {Proxy: "swordfish\n"},
	} {
		_, err := NewClient(Config{URL: "https://h/", Transport: how})
		_, socketErr := DialSocket(soon(t), Config{URL: "wss://h/", Transport: how})
		for _, err := range []error{err, socketErr} {
			if !errors.Is(err, nodegate.BadConfig) || strings.Contains(err.Error(), "swordfish") {
				t.Errorf("%s: got %v", name, err)
			}
		}
	}
}

func zip(t testing.TB, plain []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// zipped answers with a body in gzip.
func (r *request) zipped(status int, lines string, body []byte) bool {
	return r.say("HTTP/1.1 %d X\r\nContent-Encoding: gzip\r\n%sContent-Length: %d\r\n\r\n%s", status, lines, len(body), body)
}

// noise is JSON text that gzip can't do much about.
func noise(size int) string {
	b := make([]byte, size)
	for i := range b {
		b[i] = "0123456789abcdef"[rand.N(16)]
	}
	return `"` + string(b) + `"`
}

func TestGzip(t *testing.T) {
	full.Slow(t)
	if testing.Short() {
		t.Skip("one goroutine, which takes long under the race detector")
	}
	const limit = 1 << 20
	text, large := noise(200_000), noise(limit)
	result := func(r *request, result string) []byte {
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, r.id, result)
	}
	whole := func(r *request) []byte { return zip(t, result(r, text)) }
	for name, tt := range map[string]struct {
		answer func(r *request) bool
		want   error // nil for the text
	}{
		"gzip":               {func(r *request) bool { return r.zipped(200, "", whole(r)) }, nil},
		"plain all the same": {func(r *request) bool { return r.result(text) }, nil},
		"in two members": {func(r *request) bool {
			b := result(r, text)
			return r.zipped(200, "", append(zip(t, b[:99]), zip(t, b[99:])...))
		}, nil},
		"an error": {func(r *request) bool {
			return r.zipped(400, "", zip(t, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"no"}}`, r.id)))
		}, &CallError{}},
		"too large":        {func(r *request) bool { return r.zipped(200, "", zip(t, result(r, large))) }, ErrTooLarge},
		"a bomb":           {func(r *request) bool { return r.zipped(200, "", bomb(t)) }, zipBomb},
		"not gzip":         {func(r *request) bool { return r.zipped(200, "", result(r, text)) }, badGzip},
		"cut short":        {func(r *request) bool { b := whole(r); return r.zipped(200, "", b[:len(b)-1]) }, badGzip},
		"a wrong checksum": {func(r *request) bool { b := whole(r); b[len(b)-5] ^= 1; return r.zipped(200, "", b) }, badGzip},
		"something behind": {func(r *request) bool { return r.zipped(200, "", append(whole(r), "{}"...)) }, badGzip},
		"nothing":          {func(r *request) bool { return r.zipped(200, "", nil) }, badGzip},
		"nothing in gzip":  {func(r *request) bool { return r.zipped(200, "", zip(t, nil)) }, notJSONRPC},
		"twice":            {func(r *request) bool { return r.zipped(200, "Content-Encoding: gzip\r\n", zip(t, whole(r))) }, encoded},
		"in another way": {func(r *request) bool {
			return r.say("HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 2\r\n\r\n{}")
		}, encoded},
	} {
		t.Run(name, func(t *testing.T) {
			node := startNode(t, tt.answer)
			c := newClient(t, Config{URL: node.URL, MaxAnswer: limit, Transport: Transport{Gzip: true}})
			var refused *CallError
			for range 3 {
				got, err := c.Call(soon(t), "m", nil)
				switch {
				case tt.want == nil && (err != nil || string(got) != text):
					t.Fatalf("got %d bytes, %v", len(got), err)
				case errors.As(tt.want, &refused):
					if !errors.As(err, &refused) || refused.Message != "no" {
						t.Fatalf("got %v", err)
					}
				case tt.want != nil && !errors.Is(err, tt.want):
					t.Fatalf("got %v, want %v", err, tt.want)
				}
			}
			if got := node.last.Load().Header.Get("Accept-Encoding"); got != "gzip" || tt.want == nil && node.conns.Load() != 1 {
				t.Errorf("accepts %q, %d connections", got, node.conns.Load())
			}
		})
	}
}

// TestGzipMemory: a bomb doesn't get more memory than a large answer.
func TestGzipMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, which takes long under the race detector")
	}
	packed, z := bomb(t), new(inflater)
	got, err := z.inflate(nil, packed, 1<<20)
	if err != zipBomb || cap(got) > 1<<20+1 {
		t.Errorf("%v, with %d bytes", err, cap(got))
	}
	if got, err := z.inflate(nil, zip(t, bytes.Repeat([]byte("a"), 1<<20)), 1<<20); err != nil || len(got) != 1<<20 {
		t.Errorf("as much as is allowed: %v", err)
	}
	if got := testing.AllocsPerRun(20, func() { _, _ = z.inflate(got[:0], packed, 1<<20) }); got > 0 {
		t.Errorf("%v allocations", got)
	}
}
