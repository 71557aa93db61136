package dashboard

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/harness"
)

var cidPattern = regexp.MustCompile(`data-copy="(baf[a-z2-7]+)"`)

// stored uploads a file and returns its CID.
func stored(t *testing.T, v *Visitor, name, content string) string {
	t.Helper()
	p := v.Follow(v.Upload("/files", name, content))
	_, added, _ := strings.Cut(p.Body, `id="added"`)
	found := cidPattern.FindStringSubmatch(added)
	if p.Status != http.StatusOK || found == nil {
		t.Fatalf("%d %s", p.Status, p.Body)
	}
	return found[1]
}

// A file is added, found, taken off, taken back and downloaded.
func TestFiles(t *testing.T) {
	s, _ := Start(t, nil)
	v := Operator(t, s)
	const content = "<script>alert(document.cookie)</script>"
	cid := stored(t, v, "page.html", content)
	for i := range 55 {
		stored(t, v, fmt.Sprintf("note %d.txt", i), fmt.Sprint("note ", i))
	}
	list := v.Get("/files")
	if strings.Contains(list.Body, ">never<") {
		t.Error("a file has no date")
	}
	if !strings.Contains(list.Body, "56 pinned") || strings.Contains(list.Body, cid) || !strings.Contains(list.Body, "note 54.txt") {
		t.Errorf("the newest come first: %s", list.Body)
	}
	if older := v.Get("/files?page=1"); !strings.Contains(older.Body, cid) || strings.Contains(older.Body, "note 54.txt") {
		t.Error("the second page has not the oldest")
	}
	if found := v.Get("/files?q=PAGE"); !strings.Contains(found.Body, "1 pinned") || !strings.Contains(found.Body, cid) {
		t.Errorf("search: %s", found.Body)
	}

	d := v.Get("/files/download?cid=" + cid + "&name=page.html")
	if d.Status != http.StatusOK || d.Body != content {
		t.Errorf("download: %d %q", d.Status, d.Body)
	}
	for name, want := range map[string]string{
		"Content-Type": "application/octet-stream", "Content-Disposition": "attachment; filename*=UTF-8''page.html",
		"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox; default-src 'none'",
	} {
		if got := d.Header.Get(name); got != want {
			t.Errorf("download: %s is %q", name, got)
		}
	}

	if p := v.Post("/files/unpin", url.Values{"cid": {cid}}); p.Status != http.StatusSeeOther {
		t.Fatalf("unpin: %d %s", p.Status, p.Body)
	}
	page := v.Get("/files?q=page.html")
	_, undo, _ := strings.Cut(page.Body, `id="undo"`)
	if !strings.Contains(page.Body, "0 pinned") || !strings.Contains(undo, cid) {
		t.Errorf("after unpin: %s", page.Body)
	}
	if p := v.Post("/files/unpin", url.Values{"cid": {cid}}); p.Status != http.StatusNotFound {
		t.Errorf("unpin again: %d", p.Status)
	}
	if p := v.Post("/files/undo", url.Values{"cid": {cid}}); p.Status != http.StatusSeeOther {
		t.Fatalf("undo: %d %s", p.Status, p.Body)
	}
	if again := v.Get("/files?q=page.html"); !strings.Contains(again.Body, "1 pinned") {
		t.Error("the undone pin is not there")
	}
}

// What belongs to another account is not there, and what is no CID neither.
func TestForeignFiles(t *testing.T) {
	s, _ := Start(t, nil)
	owner, other := Operator(t, s), Member(t, s, "other@example.com")
	cid := stored(t, owner, "mine.txt", "mine")
	for _, path := range []string{"/files/unpin", "/files/undo"} {
		for _, id := range []string{cid, "", "../..", "<b>"} {
			if p := other.Post(path, url.Values{"cid": {id}}); p.Status != http.StatusNotFound {
				t.Errorf("%s of %q: %d", path, id, p.Status)
			}
		}
	}
	if p := other.Get("/files"); strings.Contains(p.Body, cid) || !strings.Contains(p.Body, "0 pinned") {
		t.Error("another account's file is listed")
	}
	if p := owner.Get("/files"); !strings.Contains(p.Body, cid) {
		t.Error("the owner's file is gone")
	}
}

// Markup in names is text, and a name never leaves the header that it is put into.
func TestHostileFileNames(t *testing.T) {
	s, _ := Start(t, nil)
	v := Operator(t, s)
	for _, name := range []string{`<img src=x onerror=alert(1)>.png`, `"; filename=evil.exe`, "тест.txt", `a'b&c.txt`} {
		cid := stored(t, v, name, "content of "+name)
		page := v.Get("/files")
		if strings.Contains(page.Body, "<img src=x") {
			t.Errorf("%q is markup", name)
		}
		d := v.Get("/files/download?" + url.Values{"cid": {cid}, "name": {name}}.Encode())
		if got := d.Header.Get("Content-Disposition"); d.Status != http.StatusOK || strings.Count(got, "=") != 1 || strings.ContainsAny(got, "\r\n\"<>") {
			t.Errorf("%q: %d %q", name, d.Status, got)
		}
	}
}

// A folder is downloaded as an archive; what isn't there is a page that says so.
func TestDownloads(t *testing.T) {
	s, _ := Start(t, nil)
	v := Operator(t, s)
	d := v.Get("/files/download?cid=" + wrapped(t, s, "in a folder"))
	if got := d.Header.Get("Content-Disposition"); d.Status != http.StatusOK || !strings.HasSuffix(got, ".tar") || !strings.Contains(d.Body, "in a folder") {
		t.Errorf("a folder: %d %q", d.Status, got)
	}
	never := "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy"
	for _, cid := range []string{never, "", "nonsense", "<script>", "../../etc/passwd"} {
		if p := v.Get("/files/download?cid=" + url.QueryEscape(cid)); p.Status != http.StatusNotFound || strings.Contains(p.Body, "<script>al") {
			t.Errorf("%q: %d %s", cid, p.Status, p.Body)
		}
	}
}

// wrapped adds a file in a folder by the storage gateway's own API.
func wrapped(t *testing.T, s *harness.Service, content string) (folder string) {
	t.Helper()
	var body strings.Builder
	w := multipart.NewWriter(&body)
	part, _ := w.CreateFormFile("file", "note.txt")
	_, _ = io.WriteString(part, content)
	_ = w.Close()
	req, err := http.NewRequest(http.MethodPost, s.Server.Addresses().Storage+"/api/v0/add?wrap-with-directory=true", strings.NewReader(body.String()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", w.FormDataContentType())
	req.SetBasicAuth(s.Server.FirstKey().Value, s.Server.FirstKey().Secret)
	trusting := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	res, err := trusting.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := json.NewDecoder(res.Body)
	for {
		var line struct{ Name, Hash string }
		if err := lines.Decode(&line); err != nil {
			t.Fatalf("no folder in the answer: %v", err)
		}
		if line.Name == "" {
			return line.Hash
		}
	}
}

// An upload that is refused says so, with a status and a page, to people and scripts.
func TestRefusedUploads(t *testing.T) {
	s, _ := Start(t, func(c *config.Config) {
		small := c.Plans["free"]
		small.StoredBytes = 1 << 10
		c.Plans["free"] = small
	})
	v := Member(t, s, "ada@example.com")
	v.Post("/keys", url.Values{"name": {"a key"}})
	check := func(name string, want int, says string) {
		t.Helper()
		for _, accept := range []string{"", "application/json"} {
			v.Accept = accept
			p := v.Upload("/files", "large.bin", strings.Repeat("x", 4<<10))
			kind := "text/html; charset=utf-8"
			if accept != "" {
				kind = accept
			}
			if p.Status != want || p.Header.Get("Content-Type") != kind || !strings.Contains(p.Body, says) {
				t.Errorf("%s, %q: %d %q %s", name, accept, p.Status, p.Header.Get("Content-Type"), p.Body)
			}
		}
		v.Accept = ""
	}
	check("no card", http.StatusPaymentRequired, "billing card")
	v.Post("/billing/card", url.Values{"number": {"4242424242424242"}, "month": {"12"}, "year": {"2039"}, "cvc": {"123"}})
	check("over the quota", http.StatusRequestEntityTooLarge, "quota")
}

// Many files of one upload all keep their names, and cost one request.
func TestManyFiles(t *testing.T) {
	s, _ := Start(t, nil)
	v := Operator(t, s)
	var body strings.Builder
	w := multipart.NewWriter(&body)
	for i := range 400 {
		part, err := w.CreateFormFile("file", fmt.Sprintf("many %d.txt", i))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = fmt.Fprint(part, "many ", i)
	}
	_ = w.Close()
	p := v.send(http.MethodPost, "/files", w.FormDataContentType(), strings.NewReader(body.String()), http.Header{"Sec-Fetch-Site": {"same-origin"}})
	if p.Status != http.StatusSeeOther {
		t.Fatalf("%d %s", p.Status, p.Body)
	}
	if found := v.Get("/files?q=many"); !strings.Contains(found.Body, "400 pinned") {
		t.Error("names are missing")
	}
	if kept := v.Get("/requests"); !strings.Contains(kept.Body, "1 in the last hour, 0 failed") {
		t.Error("the upload is more than one request, or failed")
	}
}

// A HEAD is not charged as a download.
func TestHeadOfADownload(t *testing.T) {
	s, _ := Start(t, nil)
	v := Operator(t, s)
	cid := stored(t, v, "a.txt", "content")
	for _, path := range []string{"/files/download", "/files/preview", "/files/open"} {
		if p := v.send(http.MethodHead, path+"?cid="+cid, "", nil, nil); p.Status != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d", path, p.Status)
		}
	}
}
