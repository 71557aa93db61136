package storage_test

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// nothingOf makes sure that an upload left nothing: no pin, no block.
func nothingOf(t *testing.T, n *tenant, cids ...string) {
	t.Helper()
	if pins := n.pins(t); len(pins) != 0 {
		t.Errorf("pins: %v", pins)
	}
	for _, c := range cids {
		if n.stored(c) {
			t.Errorf("%s is stored", c)
		}
	}
}

// TestTruncated ends bodies before their closing boundary, cleanly as far as HTTP
// can tell. Kubo answers 200 to them and pins.
func TestTruncated(t *testing.T) {
	t.Parallel()
	n := newTenant(t)
	seed := int(1_000_000 * tenants.Add(1)) // stored at the end: another run needs other content
	parts := []part{file("one", pattern(seed, 100_000)), file("two", pattern(seed+1, 300_000))}
	cids := n.add(t, "only-hash=true", parts...)
	kind, whole := body(parts...)
	for _, command := range []string{"add?", "add?progress=true&", "block/put?", "dag/import?"} {
		for _, left := range []int{0, 1, 60, 90, 50_000, 100_150, 100_250, len(whole) - 300, len(whole) - 33, len(whole) - 6, len(whole) - 3} {
			for _, known := range []bool{true, false} {
				var r io.Reader = bytes.NewReader(whole[:left])
				if !known {
					r = io.MultiReader(r) // hides the length: the body is chunked
				}
				a := send(n.request(t.Context(), command, kind, r))
				if a.status == http.StatusOK && a.err == nil {
					t.Errorf("%s with %d of %d bytes (length known: %t): %d %s", command, left, len(whole), known, a.status, a.body)
				}
			}
		}
	}
	nothingOf(t, n, cids...)
	n.add(t, "", parts...) // and the whole is taken
}

// TestDisconnect hangs up in the middle of an upload.
func TestDisconnect(t *testing.T) {
	t.Parallel()
	n := newTenant(t)
	content := file("half", pattern(13, 4<<20))
	cids := n.add(t, "only-hash=true", content)
	kind, whole := body(content)
	for _, left := range []int{10, 1 << 20, len(whole) - 5} {
		c := rawPost(t, n, "add?chunker=size-65536", kind, len(whole))
		_, _ = c.Write(whole[:left])
		_ = c.Close()
	}
	ctx, cancel := context.WithCancel(t.Context())
	started := io.MultiReader(bytes.NewReader(whole[:2<<20]), readFunc(func([]byte) (int, error) {
		cancel()
		return 0, context.Canceled
	}))
	if a := send(n.request(ctx, "add?chunker=size-65536", kind, started)); a.err == nil {
		t.Errorf("a cancelled request is answered: %d %s", a.status, a.body)
	}
	time.Sleep(200 * time.Millisecond) // the server notices
	nothingOf(t, n, cids...)
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(b []byte) (int, error) { return f(b) }

// rawPost writes the head of a request and leaves the body to the test.
func rawPost(t *testing.T, n *tenant, command, kind string, length int) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", n.host())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	req := n.request(t.Context(), command, kind, nil)
	fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n",
		req.URL.RequestURI(), n.host(), req.Header.Get("Authorization"), kind, length)
	return c
}

// TestManyParts is about bodies that are many small things or one absurd one.
func TestManyParts(t *testing.T) {
	t.Parallel()
	n := newTenant(t)
	many := make([]part, 11_000)
	for i := range many {
		many[i] = file(fmt.Sprintf("f%d", i), []byte("many "+fmt.Sprint(i)))
	}
	first := n.add(t, "only-hash=true", many[0])
	deep := strings.Repeat("d/", 70) + "file"
	for name, c := range map[string]struct {
		parts  []part
		status int
	}{
		"11,000 parts":   {many, http.StatusRequestEntityTooLarge},
		"a long name":    {[]part{file(strings.Repeat("n", 2000), []byte("x"))}, http.StatusBadRequest},
		"a deep name":    {[]part{file(deep, []byte("x"))}, http.StatusBadRequest},
		"a long target":  {[]part{{field: "file", kind: "application/symlink", name: "l", named: true, content: pattern(1, 5000)}}, http.StatusBadRequest},
		"a large header": {[]part{{field: strings.Repeat("h", 12<<20), kind: "text/plain", name: "x", named: true}}, http.StatusBadRequest},
		"a bad type":     {[]part{{field: "file", kind: "text/plain; =", name: "x", named: true}}, http.StatusBadRequest},
	} {
		if a := n.upload("add", c.parts...); a.status != c.status {
			t.Errorf("%s: %d %.300s %v, want %d", name, a.status, a.body, a.err, c.status)
		} else {
			t.Logf("%s: %s", name, a.body)
		}
	}
	nothingOf(t, n, first...)
}

// TestFullDuplex sends more than 256 KiB in chunks while lines come back: Go's server
// would drop a part of the body and nobody would notice.
func TestFullDuplex(t *testing.T) {
	t.Parallel()
	n := newTenant(t)
	var parts []part
	for i := range 2000 {
		parts = append(parts, file(fmt.Sprintf("f%d", i), pattern(10_000+i, 1000)))
	}
	kind, whole := body(parts...)
	a := send(n.request(t.Context(), "add?progress=true", kind, io.MultiReader(bytes.NewReader(whole))))
	if a.status != http.StatusOK || a.err != nil {
		t.Fatalf("%d %v", a.status, a.err)
	}
	if got := len(hashes(t, a.body)); got != len(parts) {
		t.Errorf("%d files sent, %d lines", len(parts), got)
	}
	if got := len(n.pins(t)); got != len(parts) {
		t.Errorf("%d files sent, %d pins", len(parts), got)
	}
}

// hostileNames try to leave the root or to break what names them.
var hostileNames = []string{
	"..", "../..", "../../etc/passwd", "/etc/passwd", "//etc/passwd", "./x", "a/../../../b", "a//b", "a/", "/", ".",
	"..%2f..%2fx", "%2e%2e/%2e%2e/x", "%2e%2e%2f", "..%252fx", `..\\..\\x`, `C:\\windows\\x`, "a%00b", "%00", "a%0ab", "%0d%0aX: y",
	"%ff%fe", "%c3%28", "%e2%80%aex", "a%5c..%5cb", "con", "nul", "~", "~root/x", "$HOME", "`id`", "a;b", "a|b", "<script>", "%3Cscript%3E",
	"a/../a/../a", ".../x", "....//x", "a/..", "../", "%", "%zz", "+", "%2B", " ", "%20", "a b", "\u202e", "é", "日本", "💥",
	"a/.hidden", ".git/config", "a:b", "*", "?", "a?b", "#", "a#b", "&", "{}", "[]", "%25", "-rf", "--",
}

// TestHostileNames adds under each: the names that come back stay inside the root,
// and the content can be read under them.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	n := newTenant(t)
	for _, name := range hostileNames {
		a := n.upload("add?wrap-with-directory=true", file(name, []byte("content")))
		if a.status >= 400 && a.status < 500 || a.status == 500 && strings.Contains(a.body, `"Type":"error"`) {
			continue
		}
		if a.status != http.StatusOK || a.err != nil {
			t.Errorf("%q: %d %s %v", name, a.status, a.body, a.err)
			continue
		}
		for line := range strings.Lines(a.body) {
			var e struct{ Name string }
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Errorf("%q: %q: %v", name, line, err)
			}
			if strings.HasPrefix(e.Name, "/") || strings.Contains("/"+e.Name+"/", "/../") {
				t.Errorf("%q is answered as %q", name, e.Name)
			}
		}
		list := hashes(t, a.body)
		archive := n.do("get?archive=true&arg=" + list[len(list)-1])
		checkTar(t, name, archive)
	}
}

// checkTar reads an archive and refuses entries that leave it.
func checkTar(t *testing.T, name string, a answer) {
	t.Helper()
	if a.status != http.StatusOK || a.err != nil {
		return // refused, or broken off: nothing is unpacked
	}
	for r := tar.NewReader(strings.NewReader(a.body)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Errorf("%q: %v", name, err)
			return
		}
		if !filepath.IsLocal(h.Name) {
			t.Errorf("%q leaves the archive as %q", name, h.Name)
		}
	}
}

// TestGzip: a body in another coding is not inflated, and so no bomb can go off.
func TestGzip(t *testing.T) {
	t.Parallel()
	n := newTenant(t)
	kind, whole := body(file("bomb", make([]byte, 64<<20)))
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(whole)
	_ = z.Close()
	req := n.request(t.Context(), "add", kind, &b)
	req.Header.Set("Content-Encoding", "gzip")
	if a := send(req); a.status < 400 || a.status >= 500 {
		t.Errorf("%d %s %v", a.status, a.body, a.err)
	}
	nothingOf(t, n)
}

// TestArchives carries a tree to another server and back.
func TestArchives(t *testing.T) {
	t.Parallel()
	n := newTenant(t)
	other := start(t, nil).tenant(t, "other", "unlimited")
	content := pattern(14, 700_000)
	list := n.add(t, "cid-version=1", file("tree/big", content), file("tree/sub/small", []byte("small")))
	root := list[len(list)-1]
	car := n.do("dag/export?arg=" + root)
	if car.status != http.StatusOK || car.err != nil {
		t.Fatalf("%d %v", car.status, car.err)
	}
	half := []byte(car.body[:len(car.body)/2])
	if a := other.upload("dag/import", file("half.car", half)); a.status != http.StatusInternalServerError {
		t.Errorf("half a CAR: %d %s", a.status, a.body)
	}
	wrong := []byte(car.body)
	wrong[len(wrong)/2] ^= 1
	if a := other.upload("dag/import", file("wrong.car", wrong)); a.status != http.StatusInternalServerError {
		t.Errorf("a wrong CAR: %d %s", a.status, a.body)
	}
	nothingOf(t, other, list...)
	a := other.upload("dag/import?stats=true", file("tree.car", []byte(car.body)))
	want := fmt.Sprintf(`{"Root":{"Cid":{"/":"%s"},"PinErrorMsg":""}}`, root)
	if a.status != http.StatusOK || !strings.HasPrefix(a.body, want+"\n"+`{"Stats":{"BlockCount":7,`) {
		t.Errorf("%d %s\nwant %s", a.status, a.body, want)
	}
	if got := other.ok(t, "cat?arg="+root+"/big"); got != string(content) {
		t.Errorf("%d bytes, and not the same", len(got))
	}
	if pins := other.pins(t); pins[root].Type != "recursive" {
		t.Errorf("pins: %v", pins)
	}
	if again := other.ok(t, "dag/export?arg="+root); again != car.body {
		t.Error("the archive of the archive differs")
	}
}

// TestGet reads a tree back as a tar.
func TestGet(t *testing.T) {
	t.Parallel()
	n := newTenant(t)
	content := pattern(15, 600_000)
	list := n.add(t, "", file("tree/big", content), file("tree/sub/small", []byte("small")),
		part{field: "file", kind: "application/symlink", name: "tree/link", named: true, content: []byte("sub/small")})
	root := list[len(list)-1]
	r := tar.NewReader(strings.NewReader(n.ok(t, "get?arg="+root)))
	var got []string
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data, _ := io.ReadAll(r)
		if strings.HasSuffix(h.Name, "/big") && !bytes.Equal(data, content) {
			t.Error("the content differs")
		}
		got = append(got, fmt.Sprintf("%c %s %d %s", h.Typeflag, strings.TrimPrefix(h.Name, root), h.Size, h.Linkname))
	}
	want := "[5  0  0 /big 600000  2 /link 0 sub/small 5 /sub 0  0 /sub/small 5 ]"
	if fmt.Sprint(got) != want {
		t.Errorf("%v\nwant %v", got, want)
	}
}

// TestTLS adds and reads over HTTP/2 with the local authority's certificate.
func TestTLS(t *testing.T) {
	t.Parallel()
	n := newTenant(t)
	c := trusting(t, n.service)
	content := pattern(16, 3<<20)
	kind, whole := body(file("x", content))
	res := secureDo(t, c, n, "add?progress=true", kind, whole)
	lines := hashes(t, readAll(t, res))
	if res.ProtoMajor != 2 || len(lines) != 1 {
		t.Fatalf("HTTP/%d: %v", res.ProtoMajor, lines)
	}
	if got := readAll(t, secureDo(t, c, n, "cat?arg="+lines[0], "", nil)); got != string(content) {
		t.Errorf("%d bytes, and not the same", len(got))
	}
}

// trusting is a client that trusts the local authority.
func trusting(t *testing.T, s *service) *http.Client {
	t.Helper()
	pem, err := os.ReadFile(filepath.Join(s.Dir, "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		t.Fatal("no certificate")
	}
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func secureDo(t *testing.T, c *http.Client, n *tenant, command, kind string, data []byte) *http.Response {
	t.Helper()
	req := n.request(t.Context(), command, kind, bytes.NewReader(data))
	req.URL.Scheme = "https"
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

func readAll(t *testing.T, res *http.Response) string {
	t.Helper()
	data, err := io.ReadAll(bufio.NewReader(res.Body))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
