package storage_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// TestSiteRules: a site's _redirects answers for paths that don't exist, on its own host
// only.
func TestSiteRules(t *testing.T) {
	t.Parallel()
	n := sites(t, "public", nil).tenant(t, "rules", "unlimited")
	store := func(rules string) string {
		cids := n.add(t, "cid-version=1&wrap-with-directory=true", file("_redirects", []byte(rules)), file("index.html", []byte("home")),
			file("gone.html", []byte("it is gone")), file("d/index.html", []byte("directory")), file("there", []byte("there")))
		return cids[len(cids)-1]
	}
	root := store("/there /index.html\n/old/* /new/:splat?a=1 302\n/law /gone.html 451\n/dir/* /d 200\n/lost /nothing.html 404\n/app/* /index.html 200\n")
	for path, want := range map[string]string{
		"/there":        "200 there",
		"/old/a%20b?q":  "302 /new/a%20b?a=1&q",
		"/law":          "451 it is gone",
		"/dir/x":        "200 directory",
		"/dir/x/":       "200 directory",
		"/app/deep/er":  "200 home",
		"/lost":         "404 ",
		"/none":         "404 ",
		"/_redirects/x": "404 ",
	} {
		status, rest, _ := strings.Cut(want, " ")
		a := n.at(t, root+".ipfs.localhost", path)
		if strconv.Itoa(a.status) != status {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
		if a.status/100 == 3 && a.header.Get("Location") != rest || a.status/100 != 3 && rest != "" && a.body != rest {
			t.Errorf("%s: %d %s %s, want %s", path, a.status, a.header.Get("Location"), a.body, want)
		}
		if a := n.at(t, "127.0.0.1", "/ipfs/"+root+path); path != "/there" && a.status != http.StatusNotFound {
			t.Errorf("by path, %s: %d %s", path, a.status, a.body)
		}
	}
	if a := n.at(t, root+".ipfs.localhost", "/app/x?format=raw"); a.status != http.StatusNotFound {
		t.Errorf("a block: %d", a.status)
	}
	bad := store("/a /b\n/c /d 301!\n")
	if a := n.at(t, bad+".ipfs.localhost", "/x"); a.status != http.StatusInternalServerError || !strings.Contains(a.body, "could not parse _redirects: line 2: ") {
		t.Errorf("a bad file: %d %s", a.status, a.body)
	}
	if a := n.at(t, bad+".ipfs.localhost", "/there"); a.status != http.StatusOK {
		t.Errorf("what exists beside a bad file: %d %s", a.status, a.body)
	}
}
