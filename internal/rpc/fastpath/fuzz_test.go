package fastpath

import (
	"bufio"
	"bytes"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
)

// neverPlain are headers that change how a request is framed, admitted or
// answered: a request with one of them must not take the short way.
var neverPlain = []string{
	"Transfer-Encoding", "Content-Encoding", "Expect", "Upgrade", "Trailer", "Te", "Authorization", "X-Api-Key",
	"Cookie", "Proxy-Authorization", "X-Forwarded-For", "Forwarded", "Idempotency-Key", "Sec-Websocket-Key", "X-Request-Id", "Traceparent",
}

// FuzzParse holds the parser to net/http's: what it takes, net/http reads as the
// same request, and ends at the same byte. So no request hides behind another.
func FuzzParse(f *testing.F) {
	for _, list := range []map[string]string{accepted, refused} {
		for _, name := range slices.Sorted(maps.Keys(list)) { // in order, so that a seed keeps its number
			if raw := list[name]; len(raw) < 1000 { // large seeds make slow work
				f.Add([]byte(raw))
			}
		}
	}
	f.Add([]byte(with("Origin:")))
	f.Add([]byte(with("Origin:\r\nOrigin: https://x")))
	f.Add([]byte(post("/", "", "0\r\n\r\nPOST / HTTP/1.1\r\n")))
	f.Add([]byte(post("/", "", "{}")[:80]))
	f.Fuzz(func(t *testing.T, data []byte) { checkParse(t, data) })
}

// checkParse parses anything, and reports whether it was plain.
func checkParse(t *testing.T, data []byte) bool {
	t.Helper()
	kept := bytes.Clone(data)
	var r Request
	v, size := parse(data, &r)
	if !bytes.Equal(data, kept) {
		t.Fatal("the buffer was written to")
	}
	if v == bodyMore {
		data = finish(t, data, size)
		v, size = parse(data, &r)
		if v != plain || size != len(data) {
			t.Fatalf("with its whole body: verdict %d, size %d of %d", v, size, len(data))
		}
	}
	if v == plain {
		checkAgainstHTTP(t, data, &r, size)
		checkCut(t, data, &r, size)
	}
	return v == plain
}

// odd are the parts of a request, each as it should be and in forms that some
// server somewhere reads differently.
var odd = struct{ methods, paths, versions, ends, names, colons, values []string }{
	methods:  []string{"POST ", "post ", "GET ", "POST  ", "POST\t", " POST ", "\r\nPOST ", "POST\x00 "},
	paths:    []string{"/v3/k", "/", "//h/v3", "/..", "/%2e", "http://h/v3", "/a?b", "/a b", "*", "/\x80", "/a#b", "/a:b", ""},
	versions: []string{" HTTP/1.1", " HTTP/1.0", " http/1.1", "", " HTTP/1.1 ", "  HTTP/1.1", " HTTP/11", " HTTP/1.1 HTTP/1.1"},
	ends:     []string{"\r\n", "\n", "\r", "\r\r\n", "\r\n ", "\r\n\t", "\r\n\r\n", "\n\r\n", ""},
	names: []string{
		"Accept", "Origin", "Accept-Encoding", "Connection", "Host", "Content-Type", "Content-Length", "Transfer-Encoding", "Content_Length",
		"Expect", "Upgrade", "Trailer", "Authorization", "X-API-Key", "X-Request-Id", "Traceparent", "Content-Length ", " Content-Length", "Sec-Fetch-Mode", "Sec-Fetch-\u017fite", "",
	},
	colons: []string{": ", ":", ":\t", " : ", "", "::", ": \x00", ":\r\n "},
	values: []string{"x", "", "h", "application/json", "0", "2", "02", "+2", "2,2", "chunked", "keep-alive", "close", "gzip", "gzip;q=0", "\x0b2", "2\x0c", "\u00a02", "\x852", "99999999999999999999"},
}

// TestOddRequests builds requests of such parts, mostly good ones, in an order
// that no mutation of bytes would find soon.
func TestOddRequests(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	taken, n := 0, 100_000
	for range n {
		if raw := oddRequest(random); checkParse(t, []byte(raw)) {
			taken++
		}
	}
	if taken < n/50 || taken > n/2 {
		t.Errorf("%d of %d were plain: the parts are badly mixed", taken, n)
	}
}

func oddRequest(random *rand.Rand) string {
	pick := func(list []string) string { // the first is the plain one
		if random.IntN(30) > 0 {
			return list[0]
		}
		return list[random.IntN(len(list))]
	}
	one := func(list []string) string { return list[random.IntN(len(list))] }
	lines := []string{"Host" + pick(odd.colons) + "h", "Content-Type" + pick(odd.colons) + "application/json", "Content-Length" + pick(odd.colons) + pick([]string{"2", one(odd.values)})}
	for range random.IntN(3) {
		lines = append(lines, one(odd.names)+pick(odd.colons)+one(odd.values))
	}
	random.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	raw := pick(odd.methods) + pick(odd.paths) + pick(odd.versions) + pick(odd.ends)
	for _, line := range lines {
		raw += line + pick(odd.ends)
	}
	return raw + pick(odd.ends) + "{}" + one([]string{"", "\r\n", "POST / HTTP/1.1\r\nHost: h\r\n\r\n"})
}

// finish adds what is missing of a body, in bytes that would be a request of
// their own if the body ended early.
func finish(t *testing.T, data []byte, size int) []byte {
	t.Helper()
	if size <= len(data) || size > maxHead+2+maxBody {
		t.Fatalf("a body is missing, and the whole is %d of %d bytes", size, len(data))
	}
	whole := bytes.Clone(data)
	for len(whole) < size {
		whole = append(whole, "\r\n\r\nPOST /hidden HTTP/1.1\r\nHost: h\r\n\r\n"...)
	}
	return whole[:size]
}

// checkAgainstHTTP reads data with net/http and compares.
func checkAgainstHTTP(t *testing.T, data []byte, r *Request, size int) {
	t.Helper()
	in := bufio.NewReader(bytes.NewReader(data))
	req, err := http.ReadRequest(in)
	if err != nil {
		t.Fatalf("net/http refuses it: %v", err)
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		t.Fatalf("net/http can't read the body: %v", err)
	}
	rest, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(rest, data[size:]) {
		t.Fatalf("net/http leaves %d bytes, we leave %d", len(rest), len(data)-size)
	}
	if !bytes.Equal(body, r.Body) || req.ContentLength != int64(len(r.Body)) {
		t.Fatalf("the body is %q for net/http, %q for us", body, r.Body)
	}
	checkHead(t, req, r)
}

// checkHead compares what the two read in the head.
func checkHead(t *testing.T, req *http.Request, r *Request) {
	t.Helper()
	if req.Method != http.MethodPost || req.Proto != "HTTP/1.1" || req.Close || len(req.TransferEncoding) != 0 {
		t.Fatalf("net/http reads %s %s, close %v, encodings %v", req.Method, req.Proto, req.Close, req.TransferEncoding)
	}
	if req.RequestURI != string(r.Path) || req.URL.Path != string(r.Path) || req.URL.RawQuery != "" || req.URL.Host != "" {
		t.Fatalf("net/http reads the address %q as %q, we read %q", req.RequestURI, req.URL, r.Path)
	}
	if req.Host != string(r.Host) {
		t.Fatalf("net/http reads the host %q, we read %q", req.Host, r.Host)
	}
	if kinds := req.Header["Content-Type"]; len(kinds) != 1 || kinds[0] != "application/json" {
		t.Fatalf("net/http reads the content types %q", kinds)
	}
	if got := req.Header.Get("Origin") != ""; got != r.HasOrigin {
		t.Fatalf("for net/http there is an origin: %v, for us: %v", got, r.HasOrigin)
	}
	for _, name := range neverPlain {
		if values, ok := req.Header[name]; ok {
			t.Fatalf("passed with %s: %q", name, values)
		}
	}
	for _, value := range req.Header["Connection"] {
		if !is([]byte(value), "keep-alive") {
			t.Fatalf("passed with Connection: %q", value)
		}
	}
}

// checkCut shortens a plain request: it has to be known by its head alone.
func checkCut(t *testing.T, data []byte, r *Request, size int) {
	t.Helper()
	var cut Request
	head := size - len(r.Body)
	for _, end := range []int{head, size - 1} {
		if end < head || end >= size {
			continue
		}
		if v, s := parse(data[:end], &cut); v != bodyMore || s != size {
			t.Fatalf("cut at %d of %d: verdict %d, size %d", end, size, v, s)
		}
	}
	if v, _ := parse(data[:head-1], &cut); v != notMine {
		t.Fatalf("an unfinished head: verdict %d", v)
	}
}
