package storage_test

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multibase"

	"github.com/nodegate/nodegate/internal/config"
)

// sites starts a server whose websites are below localhost and sites.example.
func sites(t *testing.T, access string, change func(*config.Config)) *service {
	t.Helper()
	return start(t, func(c *config.Config) {
		c.Storage.Gateway, c.Storage.GatewayHosts = access, []string{"localhost", "sites.example"}
		if change != nil {
			change(c)
		}
	})
}

// at reads a path from the server under another host.
func (n *tenant) at(t testing.TB, host, path string, headers ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, n.base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = host
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return send(req)
}

// website stores a small website and returns its CID, of version 1.
func website(t testing.TB, n *tenant, text string) string {
	t.Helper()
	cids := n.add(t, "cid-version=1&wrap-with-directory=true", file("index.html", []byte(text)), file("api/v0/version", []byte("a file")), file("a b.txt", []byte("a and b")))
	return cids[len(cids)-1]
}

// TestSite: content has a host of its own, where nothing else is and scripts may run.
func TestSite(t *testing.T) {
	t.Parallel()
	n := sites(t, "public", nil).tenant(t, "site", "unlimited")
	root := website(t, n, "<title>home</title>")
	for _, host := range []string{root + ".ipfs.localhost", root + ".ipfs.localhost:5001", strings.ToUpper(root) + ".IPFS.LocalHost", root + ".ipfs.sites.example", root + ".ipfs.localhost."} {
		for path, want := range map[string]string{"/": "<title>home</title>", "/index.html": "<title>home</title>", "/api/v0/version": "a file", "/a%20b.txt": "a and b"} {
			a := n.at(t, host, path)
			if a.status != http.StatusOK || a.body != want {
				t.Errorf("%s%s: %d %s", host, path, a.status, a.body)
			}
			h := a.header
			if h.Get("Content-Security-Policy") != "" || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Origin-Agent-Cluster") != "?1" || h.Get("Set-Cookie") != "" || h.Get("Access-Control-Allow-Credentials") != "" {
				t.Errorf("%s%s: %v", host, path, h)
			}
			if at := h.Get("X-Ipfs-Path"); !strings.HasPrefix(at, "/ipfs/"+root+"/") {
				t.Errorf("%s%s is %q", host, path, at)
			}
		}
	}
	for path, want := range map[string]int{"/ipfs/" + root: http.StatusNotFound, "/nothing": http.StatusNotFound, "/..%2f..": http.StatusBadRequest, "/api": http.StatusMovedPermanently} {
		if a := n.at(t, root+".ipfs.localhost", path); a.status != want {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	if a := n.at(t, root+".ipfs.localhost", "//api"); strings.HasPrefix(a.header.Get("Location"), "//") {
		t.Errorf("a path redirects to a host: %s", a.header.Get("Location"))
	}
	if a := n.at(t, root+".ipfs.localhost", "/index.html", "Service-Worker", "script"); a.status != http.StatusOK {
		t.Errorf("a service worker: %d %s", a.status, a.body)
	}
	req := n.request(t.Context(), "version", "", nil)
	req.Host = root + ".ipfs.localhost"
	if a := send(req); a.status != http.StatusMethodNotAllowed {
		t.Errorf("the API on a site: %d %s", a.status, a.body)
	}
}

// TestSiteRedirects: a path on a host of the gateway leads to the site, in one spelling.
func TestSiteRedirects(t *testing.T) {
	t.Parallel()
	n := sites(t, "public", nil).tenant(t, "redirects", "unlimited")
	root := website(t, n, "x")
	c, err := cid.Decode(root)
	if err != nil {
		t.Fatal(err)
	}
	old := cid.NewCidV0(c.Hash()).String()
	b36, err := c.StringOfBase(multibase.Base36)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ host, path, want string }{
		"root":             {"localhost:5001", "/ipfs/" + root, "http://" + root + ".ipfs.localhost:5001/"},
		"slash":            {"LOCALHOST", "/ipfs/" + root + "/", "http://" + root + ".ipfs.localhost/"},
		"path and query":   {"sites.example", "/ipfs/" + root + "/a%20b%2Fc?x=1&y=%20", "http://" + root + ".ipfs.sites.example/a%20b%2Fc?x=1&y=%20"},
		"old CID":          {"localhost", "/ipfs/" + old + "/a", "http://" + root + ".ipfs.localhost/a"},
		"other base":       {"localhost", "/ipfs/" + b36, "http://" + root + ".ipfs.localhost/"},
		"old CID in host":  {old + ".ipfs.localhost:1", "/a%2Fb?c", "http://" + root + ".ipfs.localhost:1/a%2Fb?c"},
		"base 36 in host":  {b36 + ".ipfs.localhost", "/", "http://" + root + ".ipfs.localhost/"},
		"protocol handler": {"localhost", "/ipfs/?uri=ipfs%3A%2F%2F" + old + "%2Fa%2520b%3Fq%3D1", "/ipfs/" + old + "/a%20b?q=1"},
		"the same by path": {"127.0.0.1", "/ipfs/?uri=ipfs%3A%2F%2F" + old, "/ipfs/" + old},
	} {
		a := n.at(t, c.host, c.path)
		if a.status != http.StatusMovedPermanently || a.header.Get("Location") != c.want {
			t.Errorf("%s: %d %s, want %s", name, a.status, a.header.Get("Location"), c.want)
		}
		sandboxed(t, name, a)
	}
	for name, c := range map[string]struct {
		host, path string
		headers    []string
		status     int
	}{
		"an address":           {"127.0.0.1", "/ipfs/" + root + "/", nil, 200},
		"another host":         {"other.example", "/ipfs/" + root + "/", nil, 200},
		"a strange port":       {"localhost:x/y", "/ipfs/" + root + "/", nil, 200},
		"a block":              {"localhost", "/ipfs/" + root + "?format=raw", nil, 200},
		"a CAR":                {"localhost", "/ipfs/" + root, []string{"Accept", "application/vnd.ipld.car"}, 200},
		"no CID":               {"localhost", "/ipfs/QmInvalid", nil, 400},
		"no CID in the host":   {"nothing.ipfs.localhost", "/", nil, 400},
		"a name":               {"localhost", "/ipns/example.com", nil, 404},
		"a name in the host":   {"example-com.ipns.localhost", "/", nil, 404},
		"not ipfs":             {"localhost", "/ipfs/?uri=https%3A%2F%2Fexample.com", nil, 400},
		"a forwarded host":     {"127.0.0.1", "/ipfs/" + root + "/", []string{"X-Forwarded-Host", "localhost"}, 200},
		"a forwarded site":     {"127.0.0.1", "/", []string{"X-Forwarded-Host", root + ".ipfs.localhost"}, 404},
		"credentials go along": {"localhost", "/ipfs/" + root + "/", []string{"Authorization", "Basic eDp5"}, 200},
	} {
		if a := n.at(t, c.host, c.path, c.headers...); a.status != c.status {
			t.Errorf("%s: %d %s %s", name, a.status, a.header.Get("Location"), a.body)
		}
	}
	long := n.add(t, "cid-version=1&hash=sha2-512", file("x", []byte("long")))[0]
	for _, where := range []string{"localhost /ipfs/" + long, long + ".ipfs.localhost /"} {
		host, path, _ := strings.Cut(where, " ")
		if a := n.at(t, host, path); a.status != http.StatusBadRequest || !strings.Contains(a.body, "CID incompatible with DNS label length limit of 63") {
			t.Errorf("%.20s: %d %s", where, a.status, a.body)
		}
	}
}

// TestSiteProxy: what a proxy forwards counts where it is trusted, its last word only.
func TestSiteProxy(t *testing.T) {
	t.Parallel()
	n := sites(t, "public", func(c *config.Config) { c.TrustedProxies = []string{"127.0.0.1"} }).tenant(t, "proxy", "unlimited")
	root := website(t, n, "home")
	for _, c := range []struct{ host, proto, want string }{
		{"sites.example", "https", "https://" + root + ".ipfs.sites.example/"},
		{"evil.example, sites.example:8443", "http", "http://" + root + ".ipfs.sites.example:8443/"},
		{"sites.example, evil.example", "https", ""},
		{"sites.example", "gopher", "http://" + root + ".ipfs.sites.example/"},
	} {
		a := n.at(t, "internal", "/ipfs/"+root+"/", "X-Forwarded-Host", c.host, "X-Forwarded-Proto", c.proto)
		if a.header.Get("Location") != c.want {
			t.Errorf("%s, %s: %d %s", c.host, c.proto, a.status, a.header.Get("Location"))
		}
	}
	if a := n.at(t, "internal", "/", "X-Forwarded-Host", root+".ipfs.sites.example"); a.status != http.StatusOK || a.body != "home" {
		t.Errorf("a site: %d %s", a.status, a.body)
	}
}

// TestSiteKeys: who may not read a path may not read a site, and it counts for the account.
func TestSiteKeys(t *testing.T) {
	t.Parallel()
	n := sites(t, "keys", func(c *config.Config) {
		plan := c.Plans["free"]
		plan.StorageReads = 2
		c.Plans["free"] = plan
	}).tenant(t, "keys", "free")
	root := website(t, n, "for holders of keys")
	host := root + ".ipfs.localhost"
	if a := n.at(t, host, "/"); a.status != http.StatusUnauthorized || a.header.Get("WWW-Authenticate") == "" || strings.Contains(a.body, "holders") {
		t.Errorf("without a key: %d %s", a.status, a.body)
	}
	get := func(secret string) answer {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, n.base+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		req.SetBasicAuth(n.key, secret)
		return send(req)
	}
	if a := get(strings.Repeat("0", 40)); a.status != http.StatusUnauthorized {
		t.Errorf("with a wrong secret: %d %s", a.status, a.body)
	}
	a := get(n.secret)
	if a.status != http.StatusOK || a.body != "for holders of keys" || a.header.Get("Cross-Origin-Resource-Policy") != "same-origin" || !strings.HasPrefix(a.header.Get("Cache-Control"), "private") {
		t.Errorf("%d %s %v", a.status, a.body, a.header)
	}
	refused := 0
	for range 8 {
		if get(n.secret).status == http.StatusTooManyRequests {
			refused++
		}
	}
	if refused == 0 {
		t.Error("the account's rate does not hold")
	}
	if err := n.Server.Control().Accounts.RemoveCard(t.Context(), operator, "a-"+n.name); err != nil {
		t.Fatal(err)
	}
	if a := get(n.secret); a.status != http.StatusPaymentRequired {
		t.Errorf("without a card: %d %s", a.status, a.body)
	}
}

// TestSiteRate: an address has one rate over all sites and paths.
func TestSiteRate(t *testing.T) {
	t.Parallel()
	n := sites(t, "public", func(c *config.Config) { c.Storage.GatewayRate = 1 }).tenant(t, "rate", "unlimited")
	one, two := website(t, n, "one"), website(t, n, "two")
	refused := 0
	for range 20 {
		for _, host := range []string{one + ".ipfs.localhost", two + ".ipfs.sites.example"} {
			if a := n.at(t, host, "/"); a.status == http.StatusTooManyRequests && a.header.Get("Retry-After") != "" {
				refused++
			}
		}
	}
	if refused == 0 {
		t.Error("none of 40 is refused")
	}
}

// TestSiteOff: without the setting there are paths only, and without the gateway nothing.
func TestSiteOff(t *testing.T) {
	t.Parallel()
	n := start(t, func(c *config.Config) { c.Storage.Gateway, c.Storage.GatewayHosts = "public", nil }).tenant(t, "nosites", "unlimited")
	root := website(t, n, "home")
	if a := n.at(t, "localhost", "/ipfs/"+root+"/"); a.status != http.StatusOK || a.body != "home" {
		t.Errorf("a path: %d %s", a.status, a.body)
	}
	if a := n.at(t, root+".ipfs.localhost", "/"); a.status != http.StatusNotFound {
		t.Errorf("a site: %d %s", a.status, a.body)
	}
	off := start(t, nil).tenant(t, "off", "unlimited")
	root = website(t, off, "home")
	if a := off.at(t, root+".ipfs.localhost", "/"); a.status != http.StatusNotFound {
		t.Errorf("a site of no gateway: %d %s", a.status, a.body)
	}
}

// TestForgedRequests: pages can't use the API with what a browser remembers, and a site of
// the gateway can't use it at all.
func TestForgedRequests(t *testing.T) {
	t.Parallel()
	n := sites(t, "public", nil).tenant(t, "forged", "unlimited")
	root := website(t, n, "home")
	for name, c := range map[string]struct {
		headers []string
		status  int
	}{
		"a program":             {nil, 200},
		"a page elsewhere":      {[]string{"Origin", "https://app.example", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors"}, 200},
		"the same origin":       {[]string{"Origin", n.base, "Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "no-cors"}, 200},
		"a form elsewhere":      {[]string{"Origin", "https://app.example", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, 403},
		"no-cors":               {[]string{"Origin", "null", "Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "no-cors"}, 403},
		"a site":                {[]string{"Origin", "http://" + root + ".ipfs.localhost:5001", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors"}, 403},
		"a site in old browser": {[]string{"Origin", "https://" + root + ".ipfs.sites.example"}, 403},
	} {
		for _, asked := range []string{"POST /api/v0/version", "OPTIONS /api/v0/version", "GET /pins", "OPTIONS /pins"} {
			method, path, _ := strings.Cut(asked, " ")
			req := n.request(t.Context(), "version", "", nil)
			req.Method, req.URL.Path = method, path
			for i := 0; i < len(c.headers); i += 2 {
				req.Header.Set(c.headers[i], c.headers[i+1])
			}
			a := send(req)
			want := c.status
			if method == http.MethodOptions && want == http.StatusOK {
				want = http.StatusNoContent
			}
			if a.status != want || want == http.StatusForbidden && a.header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s, %s: %d %s %v", name, asked, a.status, a.body, a.header)
			}
		}
	}
}

// TestSiteCertificate: the local authority's certificate is for sites too.
func TestSiteCertificate(t *testing.T) {
	t.Parallel()
	n := sites(t, "public", nil).tenant(t, "tls", "unlimited")
	root := website(t, n, "over TLS")
	config := trusting(t, n.service).Transport.(*http.Transport).TLSClientConfig
	for _, host := range []string{root + ".ipfs.localhost", root + ".ipfs.sites.example"} {
		c := &http.Client{Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: config.RootCAs}, ForceAttemptHTTP2: true,
			DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, n.host())
			},
		}}
		res, err := c.Get("https://" + host + "/")
		if err != nil {
			t.Error(err)
			continue
		}
		res.Body.Close()
		if res.StatusCode != http.StatusOK || res.ProtoMajor != 2 {
			t.Errorf("%s: %d over HTTP/%d", host, res.StatusCode, res.ProtoMajor)
		}
		c.CloseIdleConnections()
	}
}
