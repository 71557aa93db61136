package rpc_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate/internal/config"
)

// refusal is a request that is not admitted, and its answer.
type refusal struct {
	name, method, path string
	header             []string
	body               string
	status, code       int
	message            string // how it starts
}

var refusals = []refusal{
	{name: "GET", method: "GET", path: "/devnet/v3/" + keyA, status: 405, code: -32600, message: "method not allowed"},
	{name: "PUT", method: "PUT", path: "/devnet/v3/" + keyA, body: chainID, status: 405, code: -32600, message: "method not allowed"},
	{name: "DELETE", method: "DELETE", path: "/devnet/v3/" + keyA, status: 405, code: -32600, message: "method not allowed"},
	{name: "PATCH without a key", method: "PATCH", path: "/v3", status: 405, code: -32600, message: "method not allowed"},
	{name: "invented method", method: "STEAL", path: "/devnet/v3/" + keyA, status: 405, code: -32600, message: "method not allowed"},
	{name: "no key", method: "POST", path: "/devnet/v3", body: chainID, status: 401, code: -32041, message: "API key required"},
	{name: "no key, slash", method: "POST", path: "/devnet/v3/", body: chainID, status: 401, code: -32041, message: "API key required"},
	{name: "no key, default network", method: "POST", path: "/v3", body: chainID, status: 401, code: -32041, message: "API key required"},
	{name: "short key", method: "POST", path: "/devnet/v3/abc", body: chainID, status: 401, code: -32041, message: "invalid API key"},
	{name: "long key", method: "POST", path: "/devnet/v3/" + keyA + "0", body: chainID, status: 401, code: -32041, message: "invalid API key"},
	{name: "capital key", method: "POST", path: "/devnet/v3/" + strings.ToUpper(keyA), body: chainID, status: 401, code: -32041, message: "invalid API key"},
	{name: "key and more", method: "POST", path: "/devnet/v3/" + keyA + "/x", body: chainID, status: 401, code: -32041, message: "invalid API key"},
	{name: "key with a NUL", method: "POST", path: "/devnet/v3/" + keyA[:31] + "%00", body: chainID, status: 401, code: -32041, message: "invalid API key"},
	{name: "unknown network", method: "POST", path: "/nope/v3/" + keyA, body: chainID, status: 404, code: -32001, message: "unknown network"},
	{name: "network in capitals", method: "POST", path: "/Devnet/v3/" + keyA, body: chainID, status: 404, code: -32001, message: "unknown network"},
	{name: "no content type", method: "POST", path: "/devnet/v3/" + keyA, header: []string{"Content-Type", ""}, body: chainID, status: 415, code: -32600, message: "invalid content type"},
	{name: "text", method: "POST", path: "/devnet/v3/" + keyA, header: []string{"Content-Type", "text/plain"}, body: chainID, status: 415, code: -32600, message: "invalid content type"},
	{name: "form", method: "POST", path: "/devnet/v3/" + keyA, header: []string{"Content-Type", "application/x-www-form-urlencoded"}, body: chainID, status: 415, code: -32600, message: "invalid content type"},
	{name: "JSON of another kind", method: "POST", path: "/devnet/v3/" + keyA, header: []string{"Content-Type", "application/jsonx"}, body: chainID, status: 415, code: -32600, message: "invalid content type"},
	{name: "unknown encoding", method: "POST", path: "/devnet/v3/" + keyA, header: []string{"Content-Encoding", "br"}, body: chainID, status: 415, code: -32600, message: "content encoding not supported"},
	{name: "two encodings", method: "POST", path: "/devnet/v3/" + keyA, header: []string{"Content-Encoding", "gzip, gzip"}, body: chainID, status: 415, code: -32600, message: "content encoding not supported"},
	{name: "too large", method: "POST", path: "/devnet/v3/" + keyA, body: strings.Repeat(" ", bodyLimit+1), status: 413, code: -32600, message: "request body too large"},
	{name: "not gzip", method: "POST", path: "/devnet/v3/" + keyA, header: []string{"Content-Encoding", "gzip"}, body: chainID, status: 200, code: -32600, message: "invalid request"},
}

func TestRefusals(t *testing.T) {
	s := shared(t)
	for _, c := range refusals {
		t.Run(c.name, func(t *testing.T) {
			req := request(t, c.method, s.rpc+c.path, c.body, append(c.header, "Origin", "https://example.com")...)
			res, body := do(t, req)
			if res.StatusCode != c.status {
				t.Errorf("status %d, want %d", res.StatusCode, c.status)
			}
			id, _, e := answerOf(t, body)
			if id != "null" || e.Code != c.code || !strings.HasPrefix(e.Message, c.message) {
				t.Errorf("answered %s", body)
			}
			checkHeaders(t, res)
			if c.status == http.StatusMethodNotAllowed && res.Header.Get("Allow") != "POST, OPTIONS" {
				t.Errorf("Allow is %q", res.Header.Get("Allow"))
			}
			if strings.Contains(body, keyA) {
				t.Errorf("the key is in %s", body)
			}
		})
	}
}

// checkHeaders has what holds for every answer on a JSON-RPC path.
func checkHeaders(t *testing.T, res *http.Response) {
	t.Helper()
	for name, want := range map[string]string{
		"Content-Type":                     "application/json",
		"X-Content-Type-Options":           "nosniff",
		"Access-Control-Allow-Origin":      "*",
		"Access-Control-Expose-Headers":    "Retry-After, X-Cache, X-Verified, X-Head-Age, Server-Timing, X-Request-Id",
		"Access-Control-Allow-Credentials": "", // a key is no cookie
		"WWW-Authenticate":                 "", // browsers would pop up a login
		"Set-Cookie":                       "",
	} {
		if got := res.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if res.Header.Get("X-Request-Id") == "" {
		t.Error("no X-Request-Id")
	}
}

// TestHead is a GET without its body, so the status is all there is.
func TestHead(t *testing.T) {
	res, _ := do(t, request(t, "HEAD", shared(t).url("devnet", keyA), ""))
	if res.StatusCode != http.StatusMethodNotAllowed || res.Header.Get("Allow") == "" {
		t.Errorf("status %d, Allow %q", res.StatusCode, res.Header.Get("Allow"))
	}
}

// TestRequestIDs wants a new id for every request, unless the client gives one that can stand in
// headers and logs.
func TestRequestIDs(t *testing.T) {
	s, seen := shared(t), map[string]bool{}
	for i, given := range []string{"", "", "", "not mine", "(mine)", strings.Repeat("m", 65)} {
		req := request(t, "POST", s.url("devnet", keyA), chainID)
		if given != "" {
			req.Header.Set("X-Request-Id", given)
		}
		res, _ := do(t, req)
		id := res.Header.Get("X-Request-Id")
		if seen[id] || id == given || id == "" {
			t.Errorf("request %d with the id %q has the id %q", i, given, id)
		}
		seen[id] = true
	}
	res, _ := do(t, request(t, "POST", s.url("devnet", keyA), chainID, "X-Request-Id", "mine"))
	if got := res.Header.Get("X-Request-Id"); got != "mine" {
		t.Errorf("the client's id came back as %q", got)
	}
}

// TestPreflight is what a browser asks before a call from another origin; it asks
// without the key's owner knowing, so the key does not matter.
func TestPreflight(t *testing.T) {
	s := shared(t)
	for _, path := range []string{"/devnet/v3/" + keyA, "/v3/" + keyA, "/devnet/v3", "/nope/v3/x", "/devnet/ws/v3/" + keyA} {
		res, body := do(t, request(t, "OPTIONS", s.rpc+path, "",
			"Origin", "https://example.com", "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "content-type"))
		if res.StatusCode != http.StatusNoContent || body != "" {
			t.Errorf("%s: status %d, body %q", path, res.StatusCode, body)
		}
		for name, want := range map[string]string{
			"Access-Control-Allow-Origin":      "*",
			"Access-Control-Allow-Headers":     "Content-Type, Authorization, X-API-Key, X-Explain, Idempotency-Key",
			"Access-Control-Allow-Methods":     "POST, OPTIONS",
			"Access-Control-Allow-Credentials": "",
		} {
			if got := res.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
	}
}

// TestContentTypes are the ones that mean JSON-RPC.
func TestContentTypes(t *testing.T) {
	for _, kind := range []string{
		"application/json", "application/json; charset=utf-8", "application/json;charset=UTF-8", "APPLICATION/JSON",
		"application/json-rpc", "application/jsonrequest", "application/json; a=b; c=d", " application/json ",
	} {
		res, body := do(t, request(t, "POST", shared(t).url("devnet", keyA), chainID, "Content-Type", kind, "Origin", "null"))
		if res.StatusCode != http.StatusOK || body != chainIDAnswer {
			t.Errorf("%q: %d %s", kind, res.StatusCode, body)
		}
		checkHeaders(t, res)
	}
}

// TestAddresses has every form of a network's base address.
func TestAddresses(t *testing.T) {
	s := shared(t)
	_, port, _ := strings.Cut(s.host(), ":")
	for _, c := range []struct{ path, host, chain string }{
		{"/devnet/v3/" + keyA, "", "0x539"},
		{"/rollup/v3/" + keyA, "", "0x53a"},
		{"/rollup/v3/" + keyA + "/", "", "0x53a"},
		{"/v3/" + keyA, "", "0x539"},
		{"/v3/" + keyA + "/", "", "0x539"},
		{"/v3/" + keyA, "localhost:" + port, "0x539"},
		{"/v3/" + keyA, "rollup.localhost:" + port, "0x53a"},
		{"/v3/" + keyA, "rollup.localhost", "0x53a"},
		{"/v3/" + keyA, "rollup.nodes.example.com", "0x53a"},
		{"/v3/" + keyA, "Rollup.LocalHost:" + port, "0x53a"}, // host names have no case
		{"/v3/" + keyA, "www.example.com", "0x539"},
		{"/devnet/v3/" + keyA, "rollup.localhost", "0x539"}, // the path says more
		{"/rollup/v3/" + keyA + "?a=b", "", "0x53a"},
	} {
		_, body := do(t, request(t, "POST", s.rpc+c.path, chainID, "Host", c.host))
		if _, result, _ := answerOf(t, body); result != `"`+c.chain+`"` {
			t.Errorf("%s at %q: %s, want %s", c.path, c.host, body, c.chain)
		}
	}
}

// TestNoDefaultNetwork has two networks and none of them the default.
func TestNoDefaultNetwork(t *testing.T) {
	s := start(t, func(c *config.Config) { c.DefaultNetwork = "" })
	status, body := post(t, s.rpc+"/v3/"+keyA, chainID)
	if _, _, e := answerOf(t, body); status != http.StatusNotFound || e.Message != "unknown network" {
		t.Errorf("%d %s", status, body)
	}
	_, body = do(t, request(t, "POST", s.rpc+"/v3/"+keyA, chainID, "Host", "rollup.localhost"))
	if _, result, _ := answerOf(t, body); result != `"0x53a"` {
		t.Errorf("by host name: %s", body)
	}
}

// TestUnknownHost names a network that is not there: no other one answers for it.
func TestUnknownHost(t *testing.T) {
	res, body := do(t, request(t, "POST", shared(t).rpc+"/v3/"+keyA, chainID, "Host", "nope.localhost:8545"))
	if _, _, e := answerOf(t, body); res.StatusCode != http.StatusNotFound || e.Message != "unknown network" {
		t.Errorf("%d %s", res.StatusCode, body)
	}
}

// TestOtherPaths are not JSON-RPC: plain pages, and nothing of the admin listener.
func TestOtherPaths(t *testing.T) {
	s := shared(t)
	for _, c := range []struct {
		url    string
		status int
		body   string
	}{
		{s.rpc + "/readyz", 200, "ok"},
		{s.rpc + "/metrics", 404, ""},
		{s.rpc + "/debug/pprof/", 404, ""},
		{s.rpc + "/healthz", 404, ""},
		{s.rpc + "/devnet", 404, ""},
		{s.rpc + "/v4/" + keyA, 404, ""},
		{s.rpc + "/devnet/v2/" + keyA, 404, ""},
		{s.admin + "/readyz", 200, "ok"},
		{s.admin + "/healthz", 200, "ok"},
		{s.admin + "/metrics", 200, ""},
		{s.admin + "/v3/" + keyA, 404, ""},
	} {
		res, body := do(t, request(t, "GET", c.url, ""))
		if res.StatusCode != c.status || c.body != "" && body != c.body {
			t.Errorf("%s: %d %.100q, want %d %q", c.url, res.StatusCode, body, c.status, c.body)
		}
		if strings.Contains(body, keyA) {
			t.Errorf("%s: the key is in %.200q", c.url, body)
		}
	}
}

func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text))
	_ = z.Close()
	return b.String()
}

// TestGzipRequests inflates bodies, up to the limit of what comes out.
func TestGzipRequests(t *testing.T) {
	url := shared(t).url("devnet", keyA)
	fits := chainID + strings.Repeat(" ", bodyLimit-len(chainID))
	for _, c := range []struct {
		name, body, encoding string
		status, code         int
	}{
		{"plain", zipped(chainID), "gzip", 200, 0},
		{"identity", chainID, "identity", 200, 0},
		{"capitals", zipped(chainID), "GZIP", 200, 0}, // names of codings have no case (RFC 9110)
		{"two members", zipped(chainID[:10]) + zipped(chainID[10:]), "gzip", 200, 0},
		{"at the limit", zipped(fits), "gzip", 200, 0},
		{"past the limit", zipped(fits + " "), "gzip", 413, -32600},
		{"bomb", zipped(strings.Repeat(" ", 100<<20)), "gzip", 413, -32600},
		{"cut off", zipped(chainID)[:20], "gzip", 200, -32600},
		{"bad checksum", strings.Replace(zipped(chainID), zipped(chainID)[len(zipped(chainID))-8:], "12345678", 1), "gzip", 200, -32600},
		{"junk behind", zipped(chainID) + "junk", "gzip", 200, -32600},
	} {
		t.Run(c.name, func(t *testing.T) {
			res, body := do(t, request(t, "POST", url, c.body, "Content-Encoding", c.encoding, "Origin", "null"))
			_, _, e := answerOf(t, body)
			if res.StatusCode != c.status || e.Code != c.code {
				t.Errorf("%d %.200s, want %d with code %d", res.StatusCode, body, c.status, c.code)
			}
			checkHeaders(t, res)
		})
	}
}

// TestGzipAnswers compresses when asked for and worth it.
func TestGzipAnswers(t *testing.T) {
	url := shared(t).url("devnet", keyA)
	large := `{"jsonrpc":"2.0","id":1,"method":"eth_getBlockReceipts","params":["latest"]}`
	_, want := post(t, url, large)
	for _, c := range []struct {
		body, accept string
		zipped       bool
	}{
		{large, "gzip", true},
		{large, "br, gzip;q=0.5", true},
		{large, "identity", false},
		{large, "gzip;q=0", false},
		{large, "br", false},
		{chainID, "gzip", false},
	} {
		res, body := do(t, request(t, "POST", url, c.body, "Accept-Encoding", c.accept))
		if got := res.Header.Get("Content-Encoding") == "gzip"; got != c.zipped {
			t.Errorf("%.60s with %q: compressed %t, want %t", c.body, c.accept, got, c.zipped)
		}
		if vary := res.Header.Get("Vary"); c.body == large && vary != "Accept-Encoding" {
			t.Errorf("Vary is %q", vary)
		}
		if !c.zipped {
			continue
		}
		z, err := gzip.NewReader(strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if plain, err := io.ReadAll(z); err != nil || string(plain) != want {
			t.Errorf("inflates to %d bytes (%v), want %d", len(plain), err, len(want))
		}
	}
}

// TestTooLargeAtOnce announces a body that is too large and sends none of it: the
// refusal comes without waiting, and without inviting the body.
func TestTooLargeAtOnce(t *testing.T) {
	for _, expect := range []string{"", "Expect: 100-continue\r\n"} {
		c := rawDial(t, shared(t))
		c.send(fmt.Sprintf("POST /devnet/v3/%s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n", keyA, expect, bodyLimit+1))
		res := c.response(8 * time.Second) // a body that doesn't come is waited for longer
		if res == nil || res.StatusCode != http.StatusRequestEntityTooLarge || !res.Close {
			t.Errorf("%q: answered %v, want 413 and a close", expect, res)
		}
	}
}

// TestTooLargeWhileReading never ends a chunked body: the refusal comes when the
// limit is passed, not at the end.
func TestTooLargeWhileReading(t *testing.T) {
	c := rawDial(t, shared(t))
	c.send("POST /devnet/v3/" + keyA + " HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
	chunk := "10000\r\n" + strings.Repeat(" ", 1<<16) + "\r\n"
	go func() {
		for range bodyLimit>>16 + 8 {
			c.send(chunk)
		}
	}()
	res := c.response(patience)
	if res == nil || res.StatusCode != http.StatusRequestEntityTooLarge || !res.Close {
		t.Errorf("answered %v, want 413 and a close", res)
	}
}

// TestKeepAlive makes several calls on one connection, refusals among them.
func TestKeepAlive(t *testing.T) {
	c := rawDial(t, shared(t))
	for i, path := range []string{"/devnet/v3/" + keyA, "/devnet/v3/short", "/nope/v3/" + keyA, "/devnet/v3/" + keyA} {
		c.send(fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, len(chainID), chainID))
		if res := c.response(patience); res == nil || res.Close {
			t.Fatalf("request %d: answered %v", i, res)
		}
	}
}

// TestPipelinedBehindSlowCall sends the next requests while a slow one is
// executed, whole and with a first byte that comes early. None is lost.
func TestPipelinedBehindSlowCall(t *testing.T) {
	slow := fmt.Sprintf(`{"jsonrpc":"2.0","id":"slow","method":"eth_call","params":[{"to":"0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9","data":"0x0b7d796e%064x"},"latest"]}`, 200_000)
	wire := func(body string) string {
		return fmt.Sprintf("POST /devnet/v3/%s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", keyA, len(body), body)
	}
	c := rawDial(t, shared(t))
	c.send(wire(slow) + wire(chainID))
	time.Sleep(30 * time.Millisecond)
	next := wire(chainID)
	c.send(next[:1])
	time.Sleep(10 * time.Millisecond)
	c.send(next[1:])
	for i, want := range []string{`"id":"slow","result":"0x`, chainIDAnswer, chainIDAnswer} {
		res := c.response(patience)
		if res == nil {
			t.Fatalf("answer %d did not come", i)
		}
		if body, _ := io.ReadAll(res.Body); !strings.Contains(string(body), want) {
			t.Errorf("answer %d is %.200s, want %s", i, body, want)
		}
	}
}

// TestNoHTTP2 is never served in clear text: its preface is a bad request.
func TestNoHTTP2(t *testing.T) {
	c := rawDial(t, shared(t))
	c.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	if res := c.response(patience); res == nil || res.StatusCode/100 != 4 && res.StatusCode/100 != 5 || !res.Close {
		t.Errorf("answered %v", res)
	}
}
