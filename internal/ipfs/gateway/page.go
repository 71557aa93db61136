package gateway

import (
	"bytes"
	"cmp"
	"embed"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/nodegate/nodegate/internal/fairshare"
)

//go:embed pages
var pageFiles embed.FS

// pageTemplate works without scripts, which the page's policy forbids.
var pageTemplate = template.Must(template.ParseFS(pageFiles, "pages/page.html"))

var pageStyle = func() template.CSS {
	style, err := pageFiles.ReadFile("pages/style.css")
	if err != nil {
		panic(err) // it is built in
	}
	return template.CSS(style)
}()

// pagePolicy is for pages of our own, on sites too: all they have is a stylesheet and links.
const pagePolicy = "sandbox allow-downloads; default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

// page is a page about a directory or a value.
type page struct {
	Title, Heading string
	Crumbs         []crumb
	Forms          []form
	Folder         *folderPage
	Value          *valuePage
	Style          template.CSS
}

// crumb is one name of the path.
type crumb struct{ Name, Link string }

// form is a button that loads the content in another form.
type form struct{ Name, Format string }

// pageHead sets the headers of a page, and reports whether a client wants no more.
func (r *reading) pageHead(tag string) (done bool) {
	if r.unchanged(tag, forAWeek) {
		return true
	}
	h := r.w.Header()
	h.Set("Etag", tag)
	h.Set("Cache-Control", r.gateway.cacheControl(forAWeek))
	h.Set("Content-Type", "text/html")
	h.Set("Content-Security-Policy", pagePolicy)
	if r.req.Method == http.MethodHead {
		r.answer.WriteHeader(http.StatusOK)
		return true
	}
	return false
}

// sendPage sends a page, after its headers.
func (r *reading) sendPage(p page) error {
	p.Title, p.Crumbs, p.Style = strings.TrimSuffix(r.text, "/"), trail{r.text, r.site}.crumbs(), pageStyle
	var out bytes.Buffer
	var err error
	turnErr := fairshare.Do(r.req.Context(), func() { err = pageTemplate.Execute(&out, p) })
	if err = cmp.Or(turnErr, err); err != nil {
		return err
	}
	r.w.Header().Set("Content-Length", strconv.Itoa(out.Len()))
	_, err = r.answer.Write(out.Bytes())
	return err
}

// trail is the path of a request, for its links.
type trail struct {
	text string
	site *site
}

// names are the names of the path, the CID first.
func (t trail) names() []string { return strings.Split(strings.Trim(t.text, "/"), "/")[1:] }

// crumbs link each name of the path.
func (t trail) crumbs() (list []crumb) {
	at := t.host() + "/ipfs"
	for _, name := range t.names() {
		at += "/" + url.PathEscape(name)
		list = append(list, crumb{name, at})
	}
	return list
}

// host is where paths begin with /ipfs: this host, or that of the site's gateway.
func (t trail) host() string {
	if t.site == nil {
		return ""
	}
	return "//" + t.site.gateway
}

// here is the escaped path, without a slash at its end.
func (t trail) here() string {
	names, at := t.names(), ""
	if t.site == nil {
		at = "/ipfs/" + url.PathEscape(names[0])
	}
	for _, name := range names[1:] {
		at += "/" + url.PathEscape(name)
	}
	return at
}
