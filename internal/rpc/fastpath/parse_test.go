package fastpath

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
)

// jsonType is the one content type of plain requests.
const jsonType = "Content-Type: application/json\r\n"

// post is a plain request with more header lines, each ending in \r\n.
func post(path, more, body string) string {
	return "POST " + path + " HTTP/1.1\r\nHost: a.example:8080\r\n" + jsonType + more +
		"Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
}

// head is a request of exactly these lines; each gets its line end.
func head(lines ...string) string { return strings.Join(lines, "\r\n") + "\r\n\r\n" }

// with puts one header line into a request that is plain otherwise.
func with(line string) string { return post("/v3/k", line+"\r\n", "{}") }

// sized is a request whose Content-Length says value.
func sized(value, body string) string {
	return head("POST /v3/k HTTP/1.1", "Host: h", "Content-Type: application/json", "Content-Length: "+value) + body
}

// from is a request with another first line.
func from(line string) string {
	return head(line, "Host: h", "Content-Type: application/json", "Content-Length: 2") + "{}"
}

var accepted = map[string]string{
	"bare":                 post("/v3/k", "", "{}"),
	"root":                 post("/", "", "{}"),
	"double slash":         post("//v3//k/", "", "{}"),
	"all path characters":  post("/aZ09-_/x", "", "{}"),
	"no body":              post("/v3/k", "", ""),
	"body with line ends":  post("/v3/k", "", "\r\n\r\nPOST / HTTP/1.1\r\n\r\n"),
	"body of any bytes":    post("/v3/k", "", "\x00\xff\r\n"),
	"names in any case":    "POST /v3/k HTTP/1.1\r\nhOST: h\r\nCONTENT-TYPE: application/json\r\ncontent-length: 2\r\n\r\n{}",
	"no space after colon": "POST /v3/k HTTP/1.1\r\nHost:h\r\nContent-Type:application/json\r\nContent-Length:2\r\n\r\n{}",
	"space around values":  "POST /v3/k HTTP/1.1\r\nHost: \th \t\r\nContent-Type:  application/json \r\nContent-Length:\t2 \r\n\r\n{}",
	"leading zeros":        sized("0002", "{}"),
	"six digits":           sized("000002", "{}"),
	"keep-alive":           with("Connection: Keep-Alive"),
	"keep-alive twice":     with("Connection: keep-alive\r\nConnection: keep-alive"),
	"accept":               with("Accept: application/json, */*;q=0.1"),
	"user agent":           with("User-Agent: ethers/6 (x; y) \"z\""),
	"language":             with("Accept-Language: en;q=0.8"),
	"referer":              with("Referer: http://x/y?z"),
	"cache":                with("Cache-Control: no-cache\r\nPragma: no-cache"),
	"fetch metadata":       with("Sec-Fetch-Mode: cors\r\nsec-fetch-site: same-origin"),
	"encodings":            with("Accept-Encoding: gzip, deflate, br"),
	"encodings twice":      with("Accept-Encoding: br\r\nAccept-Encoding: gzip"),
	"origin":               with("Origin: https://x.example"),
	"largest body":         post("/v3/k", "", strings.Repeat("x", maxBody)),
	"followed by another":  post("/v3/k", "", "{}") + post("/v3/k", "", "{}"),
	"followed by nonsense": post("/v3/k", "", "{}") + "\x00",
}

var refused = map[string]string{
	"nothing":                  "",
	"one byte":                 "P",
	"head without its end":     "POST /v3/k HTTP/1.1\r\nHost: h\r\n",
	"first line without end":   "POST /v3/k HTTP/1.1",
	"leading line end":         "\r\n" + post("/v3/k", "", "{}"),
	"leading space":            " " + post("/v3/k", "", "{}"),
	"GET":                      "GET / HTTP/1.1\r\nHost: h\r\n\r\n",
	"lower-case method":        from("post /v3/k HTTP/1.1"),
	"longer method":            from("POSTS /v3/k HTTP/1.1"),
	"HTTP/1.0":                 from("POST /v3/k HTTP/1.0"),
	"HTTP/1.10":                from("POST /v3/k HTTP/1.10"),
	"HTTP/2.0":                 from("POST /v3/k HTTP/2.0"),
	"lower-case version":       from("POST /v3/k http/1.1"),
	"no version":               from("POST /v3/k"),
	"space after version":      from("POST /v3/k HTTP/1.1 "),
	"two spaces":               from("POST  /v3/k HTTP/1.1"),
	"two spaces after path":    from("POST /v3/k  HTTP/1.1"),
	"tab after method":         from("POST\t/v3/k HTTP/1.1"),
	"two versions":             from("POST /v3/k HTTP/1.1 HTTP/1.1"),
	"absolute form":            from("POST http://h/v3/k HTTP/1.1"),
	"star":                     from("POST * HTTP/1.1"),
	"authority form":           from("POST h:80 HTTP/1.1"),
	"query":                    from("POST /v3/k?x=1 HTTP/1.1"),
	"empty query":              from("POST /v3/k? HTTP/1.1"),
	"fragment":                 from("POST /v3/k#x HTTP/1.1"),
	"escape":                   from("POST /v3/%6b HTTP/1.1"),
	"escaped slash":            from("POST /v3%2fk HTTP/1.1"),
	"dots":                     from("POST /v3/../k HTTP/1.1"),
	"one dot":                  from("POST /v3/./k HTTP/1.1"),
	"semicolon":                from("POST /v3/k;x HTTP/1.1"),
	"backslash":                from("POST /v3\\k HTTP/1.1"),
	"NUL in path":              from("POST /v3/\x00 HTTP/1.1"),
	"high byte in path":        from("POST /v3/\xe4 HTTP/1.1"),
	"CR in path":               from("POST /v3/\r HTTP/1.1"),
	"bare LF after first line": strings.Replace(post("/v3/k", "", "{}"), "\r\n", "\n", 1),
	"bare LF only":             strings.ReplaceAll(post("/v3/k", "", "{}"), "\r\n", "\n"),
	"bare LF in headers":       with("Accept: x\nAccept: y"),
	"bare CR in headers":       with("Accept: x\rAccept: y"),
	"CR CR LF":                 with("Accept: x\r"),
	"LF before the end":        strings.Replace(post("/v3/k", "", "{}"), "\r\n\r\n", "\n\r\n", 1),
	"obs-fold":                 with("Accept: x\r\n y"),
	"obs-fold with tab":        with("Accept: x\r\n\ty"),
	"folded length":            head("POST / HTTP/1.1", "Host: h", "Content-Type: application/json", "Content-Length:", " 2") + "{}",
	"fold before headers":      head("POST / HTTP/1.1", " Accept: x", "Host: h", "Content-Type: application/json", "Content-Length: 2") + "{}",
	"space before colon":       with("Accept : x"),
	"tab before colon":         with("Accept\t: x"),
	"space before length":      head("POST / HTTP/1.1", "Host: h", "Content-Type: application/json", "Content-Length : 2") + "{}",
	"no colon":                 with("Accept"),
	"no name":                  with(": x"),
	"NUL in value":             with("Accept: \x00"),
	"DEL in value":             with("Accept: \x7f"),
	"high byte in value":       with("Accept: \xc2\xa0"),
	"escape in value":          with("Accept: \x1b[0m"),
	"vertical tab in value":    with("Accept: x\v"),
	"NUL in name":              with("Acc\x00pt: x"),
	"no host":                  head("POST / HTTP/1.1", "Content-Type: application/json", "Content-Length: 2") + "{}",
	"empty host":               head("POST / HTTP/1.1", "Host:", "Content-Type: application/json", "Content-Length: 2") + "{}",
	"two hosts":                with("Host: other"),
	"the same host twice":      with("Host: a.example:8080"),
	"list of hosts":            strings.Replace(post("/", "", "{}"), "Host: ", "Host: x,", 1),
	"host with at":             strings.Replace(post("/", "", "{}"), "Host: ", "Host: u@", 1),
	"host with slash":          strings.Replace(post("/", "", "{}"), "Host: ", "Host: x/", 1),
	"host in brackets":         strings.Replace(post("/", "", "{}"), "a.example", "[::1]", 1),
	"no content type":          head("POST / HTTP/1.1", "Host: h", "Content-Length: 2") + "{}",
	"two content types":        with("Content-Type: application/json"),
	"another content type":     strings.Replace(post("/", "", "{}"), "application/json", "text/plain", 1),
	"content type parameter":   strings.Replace(post("/", "", "{}"), "application/json", "application/json; charset=utf-8", 1),
	"content type in capitals": strings.Replace(post("/", "", "{}"), "application/json", "Application/JSON", 1),
	"no length":                head("POST / HTTP/1.1", "Host: h", "Content-Type: application/json"),
	"empty length":             sized("", "{}"),
	"plus in length":           sized("+2", "{}"),
	"minus in length":          sized("-2", "{}"),
	"hex length":               sized("0x2", "{}"),
	"underscore in length":     sized("1_0", "{}"),
	"point in length":          sized("2.0", "{}"),
	"space in length":          sized("1 1", "{}"),
	"list of lengths":          sized("2, 2", "{}"),
	"quoted length":            sized(`"2"`, "{}"),
	"seven digits":             sized("0000002", "{}"),
	"length past the bound":    sized(strconv.Itoa(maxBody+1), "{}"),
	"huge length":              sized("18446744073709551618", "{}"), // 2 if it wrapped round
	"two lengths":              with("Content-Length: 2"),
	"two different lengths":    with("Content-Length: 0"),
	"CL and TE":                with("Transfer-Encoding: chunked"),
	"TE alone":                 head("POST / HTTP/1.1", "Host: h", "Content-Type: application/json", "Transfer-Encoding: chunked") + "0\r\n\r\n",
	"TE identity":              with("Transfer-Encoding: identity"),
	"TE with a space":          with("Transfer-Encoding : chunked"),
	"TE with underscore":       with("Transfer_Encoding: chunked"),
	"TE header":                with("TE: trailers"),
	"trailer":                  with("Trailer: X"),
	"content encoding":         with("Content-Encoding: gzip"),
	"expect":                   with("Expect: 100-continue"),
	"upgrade":                  with("Upgrade: websocket"),
	"connection close":         with("Connection: close"),
	"connection list":          with("Connection: keep-alive, close"),
	"connection upgrade":       with("Connection: Upgrade"),
	"authorization":            with("Authorization: Bearer x"),
	"api key":                  with("X-API-Key: x"),
	"cookie":                   with("Cookie: a=b"),
	"forwarded":                with("X-Forwarded-For: 1.2.3.4"),
	"idempotency key":          with("Idempotency-Key: 1"),
	"unknown":                  with("X-Force: 1"),
	"weights":                  with("Accept-Encoding: gzip;q=0"),
	"like a harmless name":     with("Accepx: 1"),
	"bare sec-fetch-":          with("Sec-Fetch-: x"),
	"sec-fetch with a digit":   with("Sec-Fetch-1: x"),
	"head past the bound":      with("Accept: " + strings.Repeat("x", maxHead)),
	"many lines":               with(strings.TrimSuffix(strings.Repeat("Accept: x\r\n", 1000), "\r\n")),
}

func TestAccepted(t *testing.T) {
	for name, raw := range accepted {
		t.Run(name, func(t *testing.T) {
			var r Request
			v, size := parse([]byte(raw), &r)
			if v != plain {
				t.Fatalf("verdict %d, want plain", v)
			}
			if size > len(raw) {
				t.Fatalf("takes %d of %d bytes", size, len(raw))
			}
			checkAgainstHTTP(t, []byte(raw), &r, size)
		})
	}
}

func TestRefused(t *testing.T) {
	for name, raw := range refused {
		t.Run(name, func(t *testing.T) {
			var r Request
			if v, size := parse([]byte(raw), &r); v != notMine || size != 0 {
				t.Fatalf("verdict %d, size %d, want notMine", v, size)
			}
		})
	}
}

// TestPrefixes cuts a request everywhere: an unfinished head is not ours, an
// unfinished body is, with the size the whole one has.
func TestPrefixes(t *testing.T) {
	raw := []byte(post("/v3/k", "Accept: */*\r\n", `{"id":1}`))
	body := len(raw) - len(`{"id":1}`)
	for i := range len(raw) {
		var r Request
		v, size := parse(raw[:i], &r)
		switch {
		case i < body && (v != notMine || size != 0):
			t.Errorf("%d bytes of the head: verdict %d, size %d", i, v, size)
		case i >= body && (v != bodyMore || size != len(raw)):
			t.Errorf("body cut at %d: verdict %d, size %d", i, v, size)
		}
	}
}

func TestRequestFields(t *testing.T) {
	raw := post("/v3/Key", "Origin: https://x\r\nAccept-Encoding: br, GZIP\r\n", "{}") + "more"
	var r Request
	v, size := parse([]byte(raw), &r)
	if v != plain || size != len(raw)-len("more") {
		t.Fatalf("verdict %d, size %d", v, size)
	}
	if string(r.Path) != "/v3/Key" || string(r.Host) != "a.example:8080" || string(r.Body) != "{}" || !r.HasOrigin || !r.AcceptGzip {
		t.Fatalf("read as %q %q %q origin %v gzip %v", r.Path, r.Host, r.Body, r.HasOrigin, r.AcceptGzip)
	}
}

// TestRequestIsFresh parses into a used Request: nothing of the last one stays.
func TestRequestIsFresh(t *testing.T) {
	r := Request{Path: []byte("/old"), Host: []byte("old"), Body: []byte("old"), HasOrigin: true, AcceptGzip: true}
	parse([]byte(post("/v3/k", "", "")), &r)
	if r.HasOrigin || r.AcceptGzip || len(r.Body) != 0 || bytes.Contains(r.Path, []byte("old")) {
		t.Fatalf("kept %+v", r)
	}
}

// TestGzipNames: only the coding itself counts, not names that contain it.
func TestGzipNames(t *testing.T) {
	for value, want := range map[string]bool{
		"gzip": true, "br,gzip": true, "br , Gzip ": true, "": false, "br": false, "xgzip": false, "gzip x": false, "*": false, "identity": false, ",": false,
	} {
		var r Request
		if v, _ := parse([]byte(with("Accept-Encoding: "+value)), &r); v != plain || r.AcceptGzip != want {
			t.Errorf("%q: verdict %d, gzip %v, want %v", value, v, r.AcceptGzip, want)
		}
	}
}

// TestOriginValue: the header says that a page asks only if it says something,
// as it does for net/http's handler.
func TestOriginValue(t *testing.T) {
	for _, lines := range []string{"Origin:", "Origin: \t", "Origin:\r\nOrigin: https://x"} {
		var r Request
		if v, _ := parse([]byte(with(lines)), &r); v == plain && r.HasOrigin {
			t.Errorf("%q counts as an origin", lines)
		}
	}
}

// TestHeadBound: the bound is on where the head ends, whatever it consists of.
func TestHeadBound(t *testing.T) {
	fixed := len(with("Accept: ")) - len("{}")
	for over, want := range map[int]verdict{0: plain, 1: notMine} {
		var r Request
		// The blank line ends two bytes after the bound's last place.
		raw := with("Accept: " + strings.Repeat("x", maxHead+2-fixed+over))
		if v, _ := parse([]byte(raw), &r); v != want {
			t.Errorf("a head of %d bytes: verdict %d, want %d", len(raw)-2, v, want)
		}
	}
}
