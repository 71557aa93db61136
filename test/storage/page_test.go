package storage_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestListingPage: names can't break out of the page, links lead where they should, and the
// page loads nothing.
func TestListingPage(t *testing.T) {
	t.Parallel()
	n := sites(t, "public", nil).tenant(t, "pages", "unlimited")
	names := []string{`<script>alert(1)<!--`, `"onmouseover="x`, `javascript:alert(1)`, `a b&c?d#e%2F`, "plain.txt"}
	var parts []part
	for _, name := range names {
		parts = append(parts, file("d/"+url.QueryEscape(name), []byte("content of "+name)))
	}
	cids := n.add(t, "cid-version=1&wrap-with-directory=true", parts...)
	root := cids[len(cids)-1]
	for where, base := range map[string]string{"127.0.0.1 /ipfs/" + root + "/d/": "/ipfs/" + root + "/d/", root + ".ipfs.localhost /d/": "/d/"} {
		host, path, _ := strings.Cut(where, " ")
		a := n.at(t, host, path)
		if a.status != http.StatusOK || !strings.Contains(a.body, "5 entries") {
			t.Fatalf("%s: %d %s", where, a.status, a.body)
		}
		for _, bad := range []string{"<script", ` onmouseover=`, `href="javascript`, "http://", "https://", "<link", "<img", "@import", "url("} {
			if strings.Contains(a.body, bad) {
				t.Errorf("%s: the page has %s", where, bad)
			}
		}
		if policy := a.header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "sandbox allow-downloads; default-src 'none'") {
			t.Errorf("%s: %s", where, policy)
		}
		links := 0
		for _, cell := range strings.Split(a.body, "<tr><td><a href=\"")[1:] {
			link, _, _ := strings.Cut(cell, `"`)
			link = strings.NewReplacer("&amp;", "&", "&#34;", `"`, "&#39;", "'", "&#43;", "+").Replace(link)
			got := n.at(t, host, link)
			if !strings.HasPrefix(link, base) || got.status != http.StatusOK || !strings.HasPrefix(got.body, "content of ") {
				t.Errorf("%s: %s: %d %s", where, link, got.status, got.body)
			}
			links++
		}
		if links != len(names) {
			t.Errorf("%s: %d links", where, links)
		}
		if !strings.Contains(a.body, fmt.Sprintf(`<a href="%s..">..</a>`, base)) {
			t.Errorf("%s: no link to the directory above", where)
		}
	}
	if a := n.at(t, root+".ipfs.localhost", "/"); strings.Contains(a.body, ">..</a>") {
		t.Error("the root has something above it")
	}
}
