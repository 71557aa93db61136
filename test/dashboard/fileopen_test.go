package dashboard

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/nodegate/nodegate/internal/config"
)

// uploadFolder sends files with their paths, as a browser does with a folder.
func uploadFolder(t *testing.T, v *Visitor, files map[string]string) Page {
	t.Helper()
	var body strings.Builder
	w := multipart.NewWriter(&body)
	for name, content := range files {
		part, err := w.CreateFormFile("file", name)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(part, content)
	}
	_ = w.Close()
	return v.send(http.MethodPost, "/files", w.FormDataContentType(), strings.NewReader(body.String()), http.Header{"Sec-Fetch-Site": {"same-origin"}})
}

var openLink = regexp.MustCompile(`href="(/files/open\?[^"]+)"`)

// opens finds the page of an entry by its name.
func opens(t *testing.T, p Page, name string) string {
	t.Helper()
	for _, found := range openLink.FindAllStringSubmatchIndex(p.Body, -1) {
		if strings.HasPrefix(p.Body[found[1]:], ">"+name+"<") {
			return html.UnescapeString(p.Body[found[2]:found[3]])
		}
	}
	t.Fatalf("no link to %s in %s", name, p.Body)
	return ""
}

// A folder is one pin; its page lists its entries, and each of them has a page.
func TestFolders(t *testing.T) {
	s, _ := Start(t, nil)
	v := Operator(t, s)
	p := v.Follow(uploadFolder(t, v, map[string]string{"site/index.html": "<h1>hi</h1>", "site/img/a.txt": "text", "site/img/deep/b.txt": "more", "site/50% & <b>.txt": "odd"}))
	p.Is(t, http.StatusOK).Has(t, "1 pinned", `id="added"`)
	root := v.Get(opens(t, p, "site")).Is(t, http.StatusOK)
	root.Has(t, "3 entries", "index.html", "Folder", `aria-current="page">site<`).Lacks(t, "<iframe", "<b>.txt")
	img := v.Get(opens(t, root, "img")).Is(t, http.StatusOK).Has(t, "2 entries", `>Files</a>`, `>site</a>`)
	deep := v.Get(opens(t, img, "deep")).Has(t, "1 entry")
	file := v.Get(opens(t, deep, "b.txt")).Has(t, "<iframe", "4 B").Lacks(t, `action="/files/rename"`)
	if shown := v.Get(frameOf(t, file)); shown.Body != "more" {
		t.Errorf("the preview is %q", shown.Body)
	}
	v.Get(opens(t, root, "50% &amp; &lt;b&gt;.txt")).Is(t, http.StatusOK).Has(t, "<iframe")
	load := regexp.MustCompile(`href="(/files/download\?[^"]+)"`).FindStringSubmatch(file.Body)
	if d := v.Get(html.UnescapeString(load[1])); d.Body != "more" || !strings.Contains(d.Header.Get("Content-Disposition"), "b.txt") {
		t.Errorf("download: %q %v", d.Body, d.Header)
	}
	cid := regexp.MustCompile(`cid=([a-z0-9]+)`).FindStringSubmatch(load[1])[1]
	for _, below := range []string{"nothing", "img/nothing", "index.html/x", "..", "../../etc/passwd", strings.Repeat("x/", 2000)} {
		p := v.Get("/files/open?" + url.Values{"cid": {cid}, "path": {below}}.Encode())
		if p.Status != http.StatusNotFound && !strings.HasPrefix(below, "..") {
			t.Errorf("%.20s: %d", below, p.Status)
		}
		p.Lacks(t, "root:")
	}
}

var frame = regexp.MustCompile(`<iframe [^>]*src="([^"]+)" sandbox title`)

func frameOf(t *testing.T, p Page) string {
	t.Helper()
	found := frame.FindStringSubmatch(p.Body)
	if found == nil {
		t.Fatalf("no frame in a sandbox: %s", p.Body)
	}
	return html.UnescapeString(found[1])
}

const pixel = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\nIDATx\x9cc\x00\x01\x00\x00\x05\x00\x01\r\n-\xb4\x00\x00\x00\x00IEND\xaeB`\x82"

// What a preview sends is an image of few kinds or plain text, whatever it is called, in a
// sandbox that runs nothing; and only the page of its owner may frame it.
func TestPreview(t *testing.T) {
	s, _ := Start(t, nil)
	v := Operator(t, s)
	long := strings.Repeat("日本語 text\n", 20_000)
	for name, c := range map[string]struct{ content, kind string }{
		"page.html":  {"<script>alert(document.cookie)</script>", "text/plain; charset=utf-8"},
		"image.svg":  {`<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`, "text/plain; charset=utf-8"},
		"notes.txt":  {"plain", "text/plain; charset=utf-8"},
		"fake.html":  {pixel, "image/png"},
		"long.txt":   {long, "text/plain; charset=utf-8"},
		"short.txt":  {"日", "text/plain; charset=utf-8"},
		"script.js":  {"alert(1)", "text/plain; charset=utf-8"},
		"comic.gif":  {"GIF89a<script>alert(1)</script>", "image/gif"},
		"paper.pdf":  {"%PDF-1.7\n\x00\x01", ""},
		"broken.txt": {"caf\xe9 in Latin-1", ""},
	} {
		cid := stored(t, v, name, c.content)
		page := v.Get("/files/open?cid="+cid).Is(t, http.StatusOK)
		policy := page.Header.Get("Content-Security-Policy")
		if c.kind == "" {
			page.Has(t, "No preview").Lacks(t, "<iframe")
			shown := v.Get("/files/preview?cid=" + cid)
			if shown.Body != "" || shown.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
				t.Errorf("%s is shown: %q", name, shown.Body)
			}
			continue
		}
		if !strings.Contains(policy, "frame-src 'self'") {
			t.Errorf("%s: the page may not show its frame: %s", name, policy)
		}
		shown := v.Get(frameOf(t, page)).Is(t, http.StatusOK)
		want := c.content[:min(len(c.content), 128<<10)]
		if shown.Body != want {
			t.Errorf("%s: %d bytes are shown, want %d", name, len(shown.Body), len(want))
		}
		for header, want := range map[string]string{
			"Content-Type": c.kind, "X-Content-Type-Options": "nosniff", "X-Frame-Options": "SAMEORIGIN", "Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin",
			"Content-Security-Policy": "sandbox; default-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors 'self'",
		} {
			if got := shown.Header.Get(header); got != want {
				t.Errorf("%s: %s is %q, want %q", name, header, got, want)
			}
		}
	}
}

// The links of a file follow what the read gateway is open for.
func TestFileLinks(t *testing.T) {
	for gateway, want := range map[string]string{"off": "there is no link to share", "keys": "Gateway link", "public": "Everyone who has this link"} {
		s, _ := Start(t, func(c *config.Config) { c.Storage.Gateway = gateway })
		v := Operator(t, s)
		cid := stored(t, v, "a note.txt", "note")
		page := v.Get("/files/open?cid="+cid).Has(t, want, `data-copy="ipfs://`+cid+`"`)
		link := s.Server.Addresses().Storage + "/ipfs/" + cid + "?filename=a+note.txt"
		if got := strings.Contains(html.UnescapeString(page.Body), link); got != (gateway != "off") {
			t.Errorf("%s: the page has %s: %v", gateway, link, got)
		}
	}
}

func TestRename(t *testing.T) {
	s, _ := Start(t, nil)
	v := Operator(t, s)
	cid := stored(t, v, "old.txt", "content")
	rename := func(cid, name string) Page { return v.Post("/files/rename", url.Values{"cid": {cid}, "name": {name}}) }
	v.Follow(rename(cid, "  новое <b>имя</b>  ").Is(t, http.StatusSeeOther)).Has(t, "новое &lt;b&gt;имя", "Renamed.")
	v.Get("/files").Has(t, "новое &lt;b&gt;имя").Lacks(t, "old.txt")
	for name, want := range map[string]int{strings.Repeat("x", 256): http.StatusUnprocessableEntity, "a\x00b": http.StatusUnprocessableEntity} {
		if p := rename(cid, name); p.Status != want {
			t.Errorf("%.9q: %d, want %d", name, p.Status, want)
		}
	}
	for _, id := range []string{"", "nonsense", "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy"} {
		rename(id, "x").Is(t, http.StatusNotFound)
	}
}

// parts drives an upload as the page's script does.
type parts struct {
	t *testing.T
	v *Visitor
}

type partsAnswer struct {
	ID, Error      string
	Received, Part int64
	status         int
}

func (p parts) read(page Page) (a partsAnswer) {
	p.t.Helper()
	if err := json.Unmarshal([]byte(page.Body), &a); err != nil && page.Status == http.StatusOK {
		p.t.Fatalf("%d %s", page.Status, page.Body)
	}
	a.status = page.Status
	return a
}

func (p parts) begin(name string, size int) partsAnswer {
	p.t.Helper()
	p.v.Accept = "application/json"
	defer func() { p.v.Accept = "" }()
	return p.read(p.v.Post("/files/uploads", url.Values{"name": {name}, "size": {fmt.Sprint(size)}}))
}

func (p parts) add(id string, offset int64, content string) partsAnswer {
	p.t.Helper()
	p.v.Accept = "application/json"
	defer func() { p.v.Accept = "" }()
	return p.read(p.v.send(http.MethodPost, fmt.Sprintf("/files/uploads/%s?offset=%d", id, offset), "application/octet-stream", strings.NewReader(content), http.Header{"Sec-Fetch-Site": {"same-origin"}}))
}

// A large file comes in parts: what is repeated, too early or another's is refused, the page
// shows what is unfinished, and what is stored is the file.
func TestUploadInParts(t *testing.T) {
	s, _ := Start(t, nil)
	v, other := Operator(t, s), Member(t, s, "other@example.com")
	p := parts{t, v}
	up := p.begin("big & <b>.bin", 10)
	if up.status != http.StatusOK || up.ID == "" || up.Part < 1<<20 {
		t.Fatalf("%+v", up)
	}
	if got := p.add(up.ID, 0, "01234"); got.Received != 5 {
		t.Fatalf("%+v", got)
	}
	if got := p.add(up.ID, 0, "01234"); got.status != http.StatusConflict || got.Received != 5 || got.ID != up.ID {
		t.Errorf("a repeated part: %+v", got)
	}
	if again := p.begin("big & <b>.bin", 10); again.ID != up.ID || again.Received != 5 {
		t.Errorf("begun again: %+v", again)
	}
	v.Get("/files").Has(t, "Unfinished uploads", "big &amp; &lt;b&gt;.bin", "5 B of 10 B").Lacks(t, "<b>.bin")
	finish, cancel := "/files/uploads/"+up.ID+"/finish", "/files/uploads/"+up.ID+"/cancel"
	v.Post(finish, nil).Is(t, http.StatusConflict)

	other.Get("/files").Lacks(t, "Unfinished uploads")
	other.Post("/keys", url.Values{"name": {"a key"}})
	if got := (parts{t, other}).add(up.ID, 5, "evil!"); got.status != http.StatusNotFound {
		t.Errorf("another account's part: %+v", got)
	}
	other.Post(finish, nil).Is(t, http.StatusNotFound)
	other.Post(cancel, nil).Is(t, http.StatusNotFound)

	if got := p.add(up.ID, 5, "56789"); got.Received != 10 {
		t.Fatalf("%+v", got)
	}
	page := v.Follow(v.Post(finish, nil)).Is(t, http.StatusOK).Has(t, "1 pinned").Lacks(t, "Unfinished uploads")
	cid := cidPattern.FindStringSubmatch(page.Body)[1]
	if d := v.Get("/files/download?cid=" + cid); d.Body != "0123456789" {
		t.Errorf("what is stored: %q", d.Body)
	}
	v.Post(finish, nil).Is(t, http.StatusNotFound)

	gone := p.begin("another", 10)
	v.Follow(v.Post("/files/uploads/"+gone.ID+"/cancel", nil)).Has(t, "Upload canceled.").Lacks(t, "Unfinished uploads")
	if got := p.add(gone.ID, 0, "0"); got.status != http.StatusNotFound {
		t.Errorf("after the cancellation: %+v", got)
	}
	if huge := p.add(p.begin("huge", 1<<30).ID, 0, strings.Repeat("x", 16<<20+1)); huge.status != http.StatusRequestEntityTooLarge {
		t.Errorf("a part that is too large: %+v", huge)
	}
}

// An upload in parts needs a card and fits the quota, before its first byte is sent.
func TestUploadInPartsIsBounded(t *testing.T) {
	s, _ := Start(t, func(c *config.Config) {
		small := c.Plans["free"]
		small.StoredBytes = 1 << 10
		c.Plans["free"] = small
	})
	v := Member(t, s, "ada@example.com")
	v.Post("/keys", url.Values{"name": {"a key"}})
	p := parts{t, v}
	if got := p.begin("f", 10); got.status != http.StatusPaymentRequired || !strings.Contains(got.Error, "card") {
		t.Errorf("without a card: %+v", got)
	}
	v.Post("/billing/card", url.Values{"number": {"4242424242424242"}, "month": {"12"}, "year": {"2039"}, "cvc": {"123"}})
	if got := p.begin("f", 2000); got.status != http.StatusRequestEntityTooLarge || !strings.Contains(got.Error, "quota") {
		t.Errorf("over the quota: %+v", got)
	}
	if got := p.begin("f", 600); got.status != http.StatusOK {
		t.Errorf("within the quota: %+v", got)
	}
	if got := p.begin("g", 600); got.status != http.StatusRequestEntityTooLarge {
		t.Errorf("over the quota together: %+v", got)
	}
}

// Parts count as transfer when they come: once for an upload that is stored, and also for one
// that is canceled.
func TestPartsCountAsTransfer(t *testing.T) {
	s, _ := Start(t, func(c *config.Config) {
		small := c.Plans["free"]
		small.MovedBytes = 150_000
		c.Plans["free"] = small
	})
	v := Member(t, s, "ada@example.com")
	v.Post("/keys", url.Values{"name": {"a key"}})
	v.Post("/billing/card", url.Values{"number": {"4242424242424242"}, "month": {"12"}, "year": {"2039"}, "cvc": {"123"}})
	p := parts{t, v}
	receive := func(name string, size int) (id string) {
		t.Helper()
		up := p.begin(name, size)
		if got := p.add(up.ID, 0, strings.Repeat("x", size)); up.status != http.StatusOK || got.Received != int64(size) {
			t.Fatalf("%s: %+v, %+v", name, up, got)
		}
		return up.ID
	}
	v.Follow(v.Post("/files/uploads/"+receive("stored", 100_000)+"/finish", nil)).Is(t, http.StatusOK)
	v.Post("/files/uploads/"+receive("canceled", 60_000)+"/cancel", nil).Is(t, http.StatusSeeOther)
	if got := p.begin("one more", 10); got.status != http.StatusForbidden || !strings.Contains(got.Error, "transfer quota reached") {
		t.Errorf("after 160,000 bytes of 150,000: %+v", got)
	}
}

// A file that has come whole is stored although its parts used the transfer up.
func TestFinishPastTheTransfer(t *testing.T) {
	s, _ := Start(t, func(c *config.Config) {
		small := c.Plans["free"]
		small.MovedBytes = 1000
		c.Plans["free"] = small
	})
	v := Member(t, s, "ada@example.com")
	v.Post("/keys", url.Values{"name": {"a key"}})
	v.Post("/billing/card", url.Values{"number": {"4242424242424242"}, "month": {"12"}, "year": {"2039"}, "cvc": {"123"}})
	p := parts{t, v}
	up := p.begin("f", 2000)
	p.add(up.ID, 0, strings.Repeat("x", 2000))
	v.Follow(v.Post("/files/uploads/"+up.ID+"/finish", nil)).Is(t, http.StatusOK).Has(t, "1 pinned")
}
