package client

import (
	"crypto/tls"
	"encoding/base64"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/nodegate/nodegate"
)

// Config says how to reach a node.
type Config struct {
	URL       string            // http or https for a Client, ws or wss for a Socket; a user and password become basic auth
	Headers   map[string]string // sent with every request, or with the handshake
	MaxConns  int               // of a Client, in all; 64 when 0
	MaxAnswer int64             // bytes; 64 MiB when 0
	Timeout   time.Duration     // of one call, connecting and waiting included; 30 s when 0
	Transport
}

const (
	defaultConns   = 64
	defaultAnswer  = 64 << 20
	defaultTimeout = 30 * time.Second
	userAgent      = "nodegate"
)

// reserved are headers that say how a request is framed or answered. They are ours.
var reserved = []string{
	"Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Expect", "Host", "Keep-Alive",
	"Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// endpoint is a checked Config.
type endpoint struct {
	Config
	url     *url.URL // without user and password
	address string   // to dial: host:port
	secure  bool
	tls     *tls.Config // nil unless secure
	proxy   *proxy      // nil without one
	headers http.Header
}

func bad(msg string) error {
	return &nodegate.Error{Op: "client", Code: nodegate.BadConfig, Msg: msg}
}

// check fills in defaults. The errors never show the URL, not even a broken one.
func check(cfg Config, plain, secure string) (*endpoint, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, bad("the node's URL can't be read: write " + plain + "://host:port/path")
	}
	if u.Scheme != plain && u.Scheme != secure {
		return nil, bad("the node's URL must begin with " + plain + ":// or " + secure + "://")
	}
	if u.Hostname() == "" || !visible(u.Host) {
		return nil, bad("the node's URL has no host that can be used: write its name in ASCII")
	}
	e := &endpoint{Config: cfg, url: u, secure: u.Scheme == secure}
	e.address = hostPort(u, e.secure)
	if e.headers, err = checkHeaders(cfg.Headers, u.User); err != nil {
		return nil, err
	}
	u.User, u.Fragment = nil, ""
	if e.secure {
		if e.tls, err = cfg.tlsConfig(u.Hostname()); err != nil {
			return nil, err
		}
	}
	if e.proxy, err = newProxy(cfg.Transport, e.address); err != nil {
		return nil, err
	}
	e.MaxConns = positive(cfg.MaxConns, defaultConns)
	e.MaxAnswer = positive(cfg.MaxAnswer, defaultAnswer)
	e.Timeout = positive(cfg.Timeout, defaultTimeout)
	return e, nil
}

// hostPort is where to dial for a URL.
func hostPort(u *url.URL, secure bool) string {
	port := u.Port()
	switch {
	case port == "" && secure:
		port = "443"
	case port == "":
		port = "80"
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// basicAuth is the value of a header that names a user.
func basicAuth(user *url.Userinfo) string {
	password, _ := user.Password()
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password))
}

// positive is a limit, or what it is when it is not set.
func positive[T int | int64 | time.Duration](value, otherwise T) T {
	if value > 0 {
		return value
	}
	return otherwise
}

func checkHeaders(given map[string]string, user *url.Userinfo) (http.Header, error) {
	headers := http.Header{"User-Agent": {userAgent}}
	if user != nil {
		headers.Set("Authorization", basicAuth(user))
	}
	for name, value := range given {
		canonical := http.CanonicalHeaderKey(name)
		if name == "" || !isToken([]byte(name)) {
			return nil, bad("a header of the node has a name that is not allowed: use letters, digits and hyphens")
		}
		if slices.Contains(reserved, canonical) || strings.HasPrefix(canonical, "Sec-Websocket-") {
			return nil, bad("the header " + canonical + " of the node is written by nodegate itself: remove it")
		}
		if !isValue([]byte(value)) || strings.TrimSpace(value) != value {
			return nil, bad("the header " + canonical + " of the node has a value with characters that are not allowed")
		}
		headers.Set(canonical, value)
	}
	return headers, nil
}

// requestHead is all of a request that is the same every time, up to its length.
func (e *endpoint) requestHead() []byte {
	encoding := "identity"
	if e.Gzip {
		encoding = "gzip"
	}
	var b strings.Builder
	b.WriteString("POST " + e.url.RequestURI() + " HTTP/1.1\r\nHost: " + e.url.Host +
		"\r\nAccept-Encoding: " + encoding + "\r\nContent-Type: application/json\r\n")
	for _, name := range slices.Sorted(maps.Keys(e.headers)) {
		b.WriteString(name + ": " + e.headers.Get(name) + "\r\n")
	}
	b.WriteString("Content-Length: ")
	return []byte(b.String())
}

// visible takes ASCII without spaces and control characters.
func visible(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
