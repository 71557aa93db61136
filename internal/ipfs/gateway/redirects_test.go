package gateway

import (
	"net/url"
	"strings"
	"testing"
)

func TestRules(t *testing.T) {
	for _, c := range []struct{ file, path, want string }{
		{"/a /b", "/a", "301 /b"},
		{"# comment\r\n\r\n  /a\t/b 302\r\n", "/a/", "302 /b"},
		{"/a/ /b 303", "/a", "303 /b"},
		{"/a /b\n/a /c", "/a", "301 /b"},
		{"/a /b", "/a/b", ""},
		{"/a/b /b", "/a", ""},
		{"/:x/:xy /:xy/:x/:z 307", "/1/2", "307 /2/1/:z"},
		{"/:x /:x/:x", "/:x", "301 /:x/:x"},
		{"/:x /p/:x", "/a b?#", "301 /p/a%20b%3F%23"},
		{"/s/* /t/:splat 308", "/s/a b/c", "308 /t/a%20b/c"},
		{"/s/* /t", "/s", ""},
		{"/* /:splat", "//evil.example/x", "301 /evil.example/x"},
		{"/* https://other.example/:splat", "/a/b", "301 https://other.example/a/b"},
		{"/a ipfs://cid/x", "/a", "301 ipfs://cid/x"},
		{"/* /" + strings.Repeat(":splat", 10_000), "/" + strings.Repeat("x", 10_000), "301 "},
		{"/* /index.html 200", "/a/b/c", "200 /index.html"},
		{"/%C3%BC /u 404", "/ü", "404 /u"},
		{"/a /gone 410\n/b /law 451", "/b", "451 /law"},
	} {
		rules, err := parseRules(c.file)
		if err != nil {
			t.Errorf("%q: %v", c.file, err)
			continue
		}
		got := ""
		for _, r := range rules {
			if to, ok := r.match(namesOf(c.path)); ok {
				got = strings.Join([]string{map[int]string{200: "200", 301: "301", 302: "302", 303: "303", 307: "307", 308: "308", 404: "404", 410: "410", 451: "451"}[r.status], to}, " ")
				break
			}
		}
		if got != c.want {
			t.Errorf("%q: %s leads to %q, want %q", c.file, c.path, got, c.want)
		}
	}
	for file, want := range map[string]string{
		"/a":                          "from to [status]",
		"/a /b 301 x":                 "from to [status]",
		"/ok /b\na /b":                "line 2: \"a\" must begin with /",
		"/a*b /c":                     "asterisk",
		"/*/* /c":                     "asterisk",
		"/a /b 301!":                  "forced",
		"/a /b 300":                   "not one of",
		"/a /b x":                     "not one of",
		"/a javascript:alert(1)":      "must begin with",
		"/a //evil.example":           "must begin with",
		"/a https://b.example 200":    "must be a path",
		"/a b 404":                    "must be a path",
		"/%zz /b":                     "no path",
		"/a /%zz":                     "no address",
		strings.Repeat("#", 64<<10+1): "redirects file size cannot exceed 65536 bytes",
	} {
		if _, err := parseRules(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", file, err, want)
		}
	}
}

// FuzzRules: whatever a file and a path hold, a rule leads to an address that can stand in
// a header, and leaves the host only where the file names another.
func FuzzRules(f *testing.F) {
	f.Add("/a/:b/* /c/:b/:splat 302\n/* /index.html 200", "/a/x y//z")
	f.Add("/* https://x.example/:splat", "//evil.example/\r\n")
	f.Add("/:a /:a", "/%2F%2Fevil")
	f.Fuzz(func(t *testing.T, file, path string) {
		rules, err := parseRules(file)
		if err != nil {
			return
		}
		for _, r := range rules {
			to, ok := r.match(namesOf(path))
			if !ok {
				continue
			}
			u, err := url.Parse(to)
			if strings.ContainsAny(to, "\r\n \t") || err == nil && strings.HasPrefix(r.to, "/") && u.Host != "" {
				t.Errorf("%q and %q lead to %q", file, path, to)
			}
		}
	})
}
