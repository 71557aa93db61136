package edge_test

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/edge"
	"github.com/nodegate/nodegate/test/full"
)

// refusal is an envelope with an error.
type refusal struct {
	ID    json.RawMessage `json:"id"`
	Error struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// mustRefuse checks that an answer is an envelope of the right kind.
func mustRefuse(t *testing.T, res *http.Response, body string, status int, message string) {
	t.Helper()
	var r refusal
	err := json.Unmarshal([]byte(body), &r)
	if err != nil || res.StatusCode != status || r.Error.Code == 0 || string(r.ID) != "null" || !strings.Contains(r.Error.Message, message) {
		t.Errorf("got %d %q (%v), want %d and %q", res.StatusCode, body, err, status, message)
	}
	if kind := res.Header.Get("Content-Type"); kind != "application/json" {
		t.Errorf("the content type is %q", kind)
	}
}

// page is what the dashboard would answer.
var page = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") })

// TestLostPaths: whatever is below a network's name is answered with an envelope, with
// any method; the pages beside it stay pages.
func TestLostPaths(t *testing.T) {
	h := buildWith(t, func(c *edge.Config) { c.Elsewhere = page })
	for _, path := range []string{"/net", "/net/", "/net/v2/" + goodKey, "/net/ws", "/net/ws/v2/" + goodKey, "/ws", "/ws/v2", "/net/x"} {
		for _, method := range []string{"POST", "GET", "PUT", "DELETE"} {
			t.Run(method+path, func(t *testing.T) {
				req, err := http.NewRequest(method, "http://"+h.addr+path, strings.NewReader(envelope("x")))
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Content-Type", "application/json")
				res, body := do(t, http.DefaultClient, req)
				mustRefuse(t, res, body, http.StatusNotFound, "JSON-RPC is at ")
				if strings.Contains(body, goodKey) || res.Header.Get("Access-Control-Allow-Origin") != "*" {
					t.Errorf("%v %s", res.Header, body)
				}
			})
		}
	}
	for _, path := range []string{"/", "/keys", "/network", "/nets/v2"} {
		req, _ := http.NewRequest("GET", "http://"+h.addr+path, nil)
		if _, body := do(t, http.DefaultClient, req); body != "<html>" {
			t.Errorf("%s answers %q", path, body)
		}
	}
	if n := h.let.Load(); n != 0 {
		t.Errorf("%d were let in", n)
	}
}

func do(t *testing.T, c *http.Client, req *http.Request) (*http.Response, string) {
	t.Helper()
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

// TestUnreadable: what net/http refuses by itself is an envelope too, also behind a
// plain request, and the last answer of its connection.
func TestUnreadable(t *testing.T) {
	h := build(t)
	for _, c := range []struct {
		name, raw string
		status    int
		message   string
	}{
		{"large header", wire("", "X-Large: "+strings.Repeat("x", 40<<10)), 431, "request headers too large"},
		{"HTTP/2.0", "POST /net/v3/good HTTP/2.0\r\nHost: x\r\n\r\n", 505, "HTTP version not supported: use HTTP/1.1"},
		{"HTTP/3.1", "GET / HTTP/3.1\r\nHost: x\r\n\r\n", 505, "HTTP version not supported"},
		{"no host", "POST /net/v3/good HTTP/1.1\r\nContent-Length: 0\r\n\r\n", 400, "invalid request: missing required Host header"},
		{"no HTTP", "hello\r\n\r\n", 400, "invalid request: 400 Bad Request"},
		{"coding", wire("", "Transfer-Encoding: squeezed"), 501, "transfer encoding not supported"},
		{"TLS", "\x16\x03\x01\x00\x05hello\r\n\r\n", 400, "invalid request"},
	} {
		t.Run(c.name, func(t *testing.T) {
			answers, bodies := h.raw(t, wire(envelope("first"))+c.raw)
			if len(answers) != 2 {
				t.Fatalf("got %q", bodies)
			}
			mustRefuse(t, answers[1], bodies[1], c.status, c.message)
			if !answers[1].Close {
				t.Error("it does not say that the connection closes")
			}
		})
	}
}

// TestNoOwnAnswerInside: an answer of a handler that looks like one of net/http's own
// goes out as it is.
func TestNoOwnAnswerInside(t *testing.T) {
	own := "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400 Bad Request"
	h := buildWith(t, func(c *edge.Config) {
		c.Elsewhere = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				return
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, own)
		})
	})
	req, _ := http.NewRequest("GET", "http://"+h.addr+"/page", nil)
	if res, body := do(t, http.DefaultClient, req); res.StatusCode != 400 || body != "400 Bad Request" {
		t.Errorf("got %d %q", res.StatusCode, body)
	}
}

// TestUpgradeRequired: a request without an upgrade on a WebSocket address.
func TestUpgradeRequired(t *testing.T) {
	h := build(t)
	for method, status := range map[string]int{"GET": http.StatusUpgradeRequired, "POST": http.StatusMethodNotAllowed} {
		req, _ := http.NewRequest(method, "http://"+h.addr+"/net/ws/v3/"+goodKey, nil)
		res, body := do(t, http.DefaultClient, req)
		mustRefuse(t, res, body, status, "this URL is for WebSockets")
		if res.Header.Get("Sec-WebSocket-Version") != "13" || method == "GET" && (res.Header.Get("Upgrade") != "websocket" || res.Header.Get("Connection") != "Upgrade") {
			t.Errorf("%s: %v", method, res.Header)
		}
	}
	req, _ := http.NewRequest("GET", "http://"+h.addr+"/net/ws/v3/bad", nil)
	res, body := do(t, http.DefaultClient, req)
	mustRefuse(t, res, body, http.StatusUnauthorized, "invalid API key")
}

// TestDisputedLength: a request with both lengths is answered and ends its connection,
// first on it or not. Chunks alone keep it.
func TestDisputedLength(t *testing.T) {
	full.Slow(t)
	h := build(t)
	body := envelope("open")
	chunked := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	both := wire(chunked, "Content-length: 5", "TRANSFER-ENCODING: chunked")
	next := wire(envelope("next"))
	for name, c := range map[string]struct {
		raw  []string
		want []string
	}{
		"first":         {[]string{both, next}, []string{"open"}},
		"reversed":      {[]string{wire(chunked, "Transfer-Encoding: chunked", "Content-Length: 5"), next}, []string{"open"}},
		"in two pieces": {[]string{both[:90], both[90:], next}, []string{"open"}},
		"after another": {[]string{wire(chunked, "Transfer-Encoding: chunked"), both, next}, []string{"open", "open"}},
		"chunks only":   {[]string{wire(chunked, "Transfer-Encoding: chunked"), wire(chunked, "Transfer-Encoding: chunked"), next}, []string{"open", "open", "next"}},
	} {
		t.Run(name, func(t *testing.T) {
			answers, bodies := h.slowly(t, c.raw)
			for i, want := range c.want {
				if i >= len(bodies) || !strings.Contains(bodies[i], `"result":"`+want+`"`) {
					t.Fatalf("got %q, want %q", bodies, c.want)
				}
			}
			if len(bodies) != len(c.want) || answers[len(answers)-1].Close != (name != "chunks only") {
				t.Errorf("got %q, want %q; closed: %t", bodies, c.want, answers[len(answers)-1].Close)
			}
		})
	}
}

// slowly sends pieces with a moment between them, and collects the answers.
func (h *house) slowly(t *testing.T, pieces []string) (answers []*http.Response, bodies []string) {
	t.Helper()
	c := h.dial(t)
	go func() {
		for _, piece := range pieces {
			if _, err := io.WriteString(c, piece); err != nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	in := bufio.NewReader(c)
	for {
		_ = c.SetReadDeadline(time.Now().Add(silence))
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			return answers, bodies
		}
		body, _ := io.ReadAll(res.Body)
		answers, bodies = append(answers, res), append(bodies, string(body))
	}
}

func (h *house) dial(t *testing.T) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", h.addr)
	if h.tls != nil && err == nil {
		c = tls.Client(c, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// lentTLS is a configuration with somebody's certificate.
func lentTLS() *tls.Config {
	lender := httptest.NewTLSServer(nil)
	defer lender.Close()
	return &tls.Config{Certificates: lender.TLS.Certificates, NextProtos: []string{"http/1.1"}}
}

// TestEarlyRefusals: a client that sends all of a large body before it reads gets the
// answer that was given while it sent, with its whole body, with TLS and without.
func TestEarlyRefusals(t *testing.T) {
	const size = 6 << 20
	for _, secure := range []*tls.Config{nil, lentTLS()} {
		h := buildOn(t, secure, func(c *edge.Config) { c.Elsewhere = page })
		h.refuse = map[string]error{"limited": &nodegate.Error{Code: nodegate.AccountBusy, Msg: "busy", RetryAfter: time.Second}}
		for _, c := range []struct {
			name, line, kind string
			status           int
			message          string
		}{
			{"too large", "POST /net/v3/good", "application/json", 413, "request body too large"},
			{"no key", "POST /net/v3/", "application/json", 401, "invalid API key"},
			{"no such network", "POST /nowhere/v3/good", "application/json", 404, "unknown network"},
			{"no such path", "POST /net/v2/good", "application/json", 404, "JSON-RPC is at"},
			{"method", "PUT /net/v3/good", "application/json", 405, "method not allowed"},
			{"content type", "POST /net/v3/good", "text/plain", 415, "invalid content type"},
			{"account", "POST /net/v3/limited", "application/json", 429, "busy"},
			{"WebSocket", "POST /net/ws/v3/good", "application/json", 405, "WebSockets"},
		} {
			for _, length := range []string{fmt.Sprintf("Content-Length: %d", size), "Transfer-Encoding: chunked"} {
				t.Run(fmt.Sprintf("%s, %.5s, TLS %t", c.name, length, secure != nil), func(t *testing.T) {
					t.Parallel()
					conn := h.dial(t)
					fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\n%s\r\n\r\n", c.line, c.kind, length)
					if err := sendBody(conn, size, strings.HasPrefix(length, "T")); err != nil {
						t.Fatalf("the body is not taken: %v", err)
					}
					_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
					res, err := http.ReadResponse(bufio.NewReader(conn), nil)
					if err != nil {
						t.Fatal(err)
					}
					body, err := io.ReadAll(res.Body)
					if err != nil {
						t.Fatal(err)
					}
					mustRefuse(t, res, string(body), c.status, c.message)
				})
			}
		}
	}
}

func sendBody(w io.Writer, size int, chunked bool) error {
	piece := strings.Repeat(" ", 64<<10)
	for range size / len(piece) {
		text := piece
		if chunked {
			text = fmt.Sprintf("%x\r\n%s\r\n", len(piece), piece)
		}
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
	}
	if chunked {
		_, err := io.WriteString(w, "0\r\n\r\n")
		return err
	}
	return nil
}

// TestPlainToTLS: plain HTTP on a listener for TLS is told what to do, also with a body.
func TestPlainToTLS(t *testing.T) {
	h := buildOn(t, lentTLS())
	for name, text := range map[string]string{"small": "", "large": strings.Repeat("x", 3<<20)} {
		c, err := net.Dial("tcp", h.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, wire(text)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		mustRefuse(t, res, string(body), http.StatusBadRequest, "use https://")
	}
	c := h.dial(t)
	_, _ = io.WriteString(c, wire(envelope("fine")))
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("over TLS: %v %v", res, err)
	}
}

// TestPagesSeeTLS: who asks for a page over TLS is known to use it, which sign-in needs.
func TestPagesSeeTLS(t *testing.T) {
	for _, secure := range []*tls.Config{nil, lentTLS()} {
		h := buildOn(t, secure, func(c *edge.Config) {
			c.Elsewhere = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.TLS != nil) })
		})
		c := h.dial(t)
		_, _ = io.WriteString(c, "GET /page HTTP/1.1\r\nHost: x\r\n\r\n")
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		if body, _ := io.ReadAll(res.Body); string(body) != fmt.Sprint(secure != nil) {
			t.Errorf("TLS is %s, want %t", body, secure != nil)
		}
	}
}

// TestRefusedCallsAreCounted under their methods, each call of a batch by itself, in
// usage as in the request log.
func TestRefusedCallsAreCounted(t *testing.T) {
	h := buildWith(t, func(c *edge.Config) { c.Methods = []string{"echo", "eth_call"} })
	h.policy = nodegate.Policy{Plan: nodegate.Plan{CreditsPerDay: 1}}
	h.post(t, goodKey, envelope("echo"))
	h.post(t, goodKey, "["+envelope("echo")+","+envelope("eth_call")+","+envelope("unheard_of")+"]")
	if err := h.usage.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, row := range h.sink.Rows() {
		got[row.Method+" "+row.Outcome] += row.Requests
		if row.Credits != 0 {
			t.Errorf("%s costs %d", row.Method, row.Credits)
		}
	}
	want := map[string]int64{"echo credits spent": 2, "eth_call credits spent": 1, "other credits spent": 1}
	for name, n := range want {
		if got[name] != n {
			t.Errorf("%s: %d, want %d", name, got[name], n)
		}
	}
	if lines := h.lines(); len(lines) != 4 || len(got) != len(want) {
		t.Errorf("kept %q; counted %v", lines, got)
	}
}
