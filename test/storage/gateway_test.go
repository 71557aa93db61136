package storage_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	car "github.com/ipld/go-car/v2"

	"github.com/nodegate/nodegate/internal/config"
)

// get reads from the read gateway.
func (n *tenant) get(t testing.TB, path string, headers ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, n.base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n.key != "" {
		req.SetBasicAuth(n.key, n.secret)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return send(req)
}

// sandboxed are the headers that keep a browser from running what was stored.
func sandboxed(t *testing.T, what string, a answer) {
	t.Helper()
	for name, want := range map[string]string{"Content-Security-Policy": "sandbox", "X-Content-Type-Options": "nosniff", "Set-Cookie": "", "Access-Control-Allow-Credentials": ""} {
		if got := strings.Join(a.header.Values(name), ", "); got != want {
			t.Errorf("%s: %s is %q, want %q", what, name, got, want)
		}
	}
}

// TestGatewayOff: nobody reads unless the operator says so.
func TestGatewayOff(t *testing.T) {
	t.Parallel()
	n := start(t, nil).tenant(t, "off", "unlimited")
	cid := n.add(t, "", file("x", []byte("not to be read")))[0]
	if a := n.get(t, "/ipfs/"+cid); a.status != http.StatusNotFound || strings.Contains(a.body, "not to be read") {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// TestGatewayKeys: who may not use the API may not read here either.
func TestGatewayKeys(t *testing.T) {
	t.Parallel()
	n := newTenant(t)
	cid := n.add(t, "", file("x", []byte("for holders of keys")))[0]
	a := n.get(t, "/ipfs/"+cid)
	if a.status != http.StatusOK || a.body != "for holders of keys" || a.header.Get("Cross-Origin-Resource-Policy") != "same-origin" {
		t.Errorf("%d %s %v", a.status, a.body, a.header)
	}
	if cache := a.header.Get("Cache-Control"); !strings.HasPrefix(cache, "private, ") {
		t.Errorf("others may keep it: %s", cache)
	}
	other := *n
	other.secret = strings.Repeat("0", 40)
	if a := other.get(t, "/ipfs/"+cid); a.status != http.StatusUnauthorized || a.header.Get("WWW-Authenticate") == "" {
		t.Errorf("a wrong secret: %d %s", a.status, a.body)
	}
	sandboxed(t, "a refusal", other.get(t, "/ipfs/"+cid))
	if err := n.Server.Control().Accounts.RemoveCard(t.Context(), operator, "a-"+n.name); err != nil {
		t.Fatal(err)
	}
	if a := n.get(t, "/ipfs/"+cid); a.status != http.StatusPaymentRequired {
		t.Errorf("without a card: %d %s", a.status, a.body)
	}
}

// TestGatewayPublic: everybody reads, each address at its rate, and no account pays.
func TestGatewayPublic(t *testing.T) {
	t.Parallel()
	const rate = 20
	s := start(t, func(c *config.Config) { c.Storage.Gateway, c.Storage.GatewayRate = "public", rate })
	n := s.tenant(t, "public", "unlimited")
	page := []byte("<html><body><script>fetch('/api/v0/pin/ls', {method: 'POST'})</script><form action='/api/v0/add' method='post'></form></body></html>")
	cids := n.add(t, "wrap-with-directory=true", file("index.html", page), file("other.html", page))
	root := cids[len(cids)-1]
	anyone := &tenant{service: s}
	for _, path := range []string{"/", "/other.html", "", "/none", "?format=car", "/other.html?format=raw"} {
		a := anyone.get(t, "/ipfs/"+root+path)
		sandboxed(t, path, a)
		if a.status == http.StatusUnauthorized || a.header.Get("Cross-Origin-Resource-Policy") != "cross-origin" {
			t.Errorf("%s: %d %v", path, a.status, a.header)
		}
	}
	if a := anyone.get(t, "/ipfs/"+root+"/"); a.status != http.StatusOK || a.body != string(page) || a.header.Get("Cache-Control") != "public, max-age=29030400, immutable" {
		t.Errorf("%d %s %v", a.status, a.body, a.header)
	}
	if a := anyone.do("version"); a.status != http.StatusUnauthorized {
		t.Errorf("the API is open too: %d", a.status)
	}
	begun, passed := time.Now(), 0
	for range 5 * rate {
		switch a := anyone.get(t, "/ipfs/"+root+"/other.html"); a.status {
		case http.StatusOK:
			passed++
		case http.StatusTooManyRequests:
			if a.header.Get("Retry-After") != "01" || a.body != "rate limit exceeded\n" {
				t.Errorf("refused with %q, after %q", a.body, a.header.Get("Retry-After"))
			}
		default:
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	if most := rate + int(time.Since(begun).Seconds()*rate) + 1; passed > most || passed == 0 {
		t.Errorf("%d passed, at most %d may", passed, most)
	}
}

// TestGatewayCARs walks CARs with go-car, which checks every block against its CID.
func TestGatewayCARs(t *testing.T) {
	t.Parallel()
	n := newTenant(t)
	cids := n.add(t, "wrap-with-directory=true&chunker=size-1000", file("d/a", pattern(1100, 50_000)), file("d/b", []byte("b")))
	root := cids[len(cids)-1]
	for path, want := range map[string]int{
		"?format=car":                                             1 + 1 + 51 + 1,
		"?format=car&dag-scope=entity":                            1,
		"/d/a?format=car&dag-scope=entity":                        1 + 1 + 51,
		"/d/a?format=car&dag-scope=block":                         1 + 1 + 1,
		"/d/a?format=car&dag-scope=entity&entity-bytes=1500:2500": 1 + 1 + 1 + 2,
	} {
		a := n.get(t, "/ipfs/"+root+path)
		r, err := car.NewBlockReader(strings.NewReader(a.body))
		if a.err != nil || err != nil {
			t.Errorf("%s: %d %v %v", path, a.status, a.err, err)
			continue
		}
		blocks := 0
		for {
			b, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if blocks++; blocks == 1 && b.Cid().String() != root {
				t.Errorf("%s begins with %s", path, b.Cid())
			}
		}
		if blocks != want {
			t.Errorf("%s: %d blocks, want %d", path, blocks, want)
		}
		again := n.get(t, "/ipfs/"+root+path, "If-None-Match", a.header.Get("Etag"))
		if again.status != http.StatusNotModified || again.body != "" {
			t.Errorf("%s again: %d, %d bytes", path, again.status, len(again.body))
		}
	}
}

// TestGatewayHostile: paths that were made to confuse are answered, quickly and with
// a refusal.
func TestGatewayHostile(t *testing.T) {
	t.Parallel()
	n := newTenant(t)
	cids := n.add(t, "wrap-with-directory=true", file("a.txt", []byte("a")))
	root := cids[len(cids)-1]
	for name, path := range map[string]string{
		"dots":        root + "/../../../../etc/passwd",
		"coded dots":  root + "/%2e%2e/%2e%2e/etc/passwd",
		"coded slash": root + "/..%2f..%2fetc%2fpasswd",
		"backslashes": root + `/..%5c..%5cetc`,
		"NUL":         root + "/a.txt%00.png",
		"CR LF":       root + "/a%0d%0aSet-Cookie:%20x=1",
		"long":        root + "/" + strings.Repeat("a", 8000),
		"segments":    root + strings.Repeat("/a", 4000),
		"slashes":     root + strings.Repeat("/", 4000) + "x",
		"not UTF-8":   root + "/%ff%fe",
		"no CID":      strings.Repeat("Q", 5000),
		"other":       "Qm" + strings.Repeat("1", 44),
	} {
		begun := time.Now()
		a := n.get(t, "/ipfs/"+path)
		if a.status != http.StatusBadRequest && a.status != http.StatusNotFound || a.err != nil {
			t.Errorf("%s: %d %.100s %v", name, a.status, a.body, a.err)
		}
		sandboxed(t, name, a)
		if took := time.Since(begun); took > 30*time.Second {
			t.Errorf("%s took %v", name, took)
		}
	}
	if a := n.get(t, "/ipfs/"+root+strings.Repeat("/a", 10_000)); a.status != http.StatusRequestHeaderFieldsTooLarge && a.status != http.StatusBadRequest {
		t.Errorf("10,000 segments: %d %v", a.status, a.err)
	}
}

// TestGatewayDamage: content that turns out damaged in the middle is broken off.
func TestGatewayDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := func(c *config.Config) { c.Storage.Gateway = "keys" }
	s, err := launch(dir, open)
	if err != nil {
		t.Fatal(err)
	}
	n := s.tenant(t, "damage", "unlimited")
	content := pattern(801, 3<<20)
	cid := n.add(t, "", file("big", content))[0]
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	flip(t, dir, content[2<<20:2<<20+100])
	if s, err = launch(dir, open); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	n.service = s
	for _, form := range []string{"", "?format=car"} {
		a := n.get(t, "/ipfs/"+cid+form)
		if a.err == nil {
			t.Errorf("%q ends as if all were well: %d, %d bytes", form, a.status, len(a.body))
		}
		if form == "" && !bytes.HasPrefix(content, []byte(a.body)) {
			t.Error("wrong bytes")
		}
	}
	if a := n.get(t, "/ipfs/"+cid, "Range", "bytes=0-999"); a.status != http.StatusPartialContent || a.body != string(content[:1000]) {
		t.Errorf("a part that is whole: %d %v", a.status, a.err)
	}
	a := n.do("pin/ls")
	if a.status != http.StatusOK || !strings.Contains(a.body, cid) {
		t.Errorf("pin/ls: %d %s", a.status, a.body)
	}
}

// TestGatewayHTTP2: the same over TLS, many at once on one connection.
func TestGatewayHTTP2(t *testing.T) {
	t.Parallel()
	n := newTenant(t)
	content := pattern(1200, 2<<20)
	cid := n.add(t, "", file("big", content))[0]
	c := trusting(t, n.service)
	var wait sync.WaitGroup
	for i := range 16 {
		wait.Go(func() {
			from := i * 100_000
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, n.secure+"/ipfs/"+cid, nil)
			if err != nil {
				t.Error(err)
				return
			}
			req.SetBasicAuth(n.key, n.secret)
			req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", from, from+99_999))
			res, err := c.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			defer res.Body.Close()
			got, err := io.ReadAll(res.Body)
			if err != nil || res.ProtoMajor != 2 || !bytes.Equal(got, content[from:from+100_000]) {
				t.Errorf("from %d: HTTP/%d, %d bytes, %v", from, res.ProtoMajor, len(got), err)
			}
		})
	}
	wait.Wait()
}
