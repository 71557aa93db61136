package gateway

import (
	"bytes"
	"context"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/ipfs/go-cid"

	"github.com/nodegate/nodegate/internal/ipfs/unixfs"
)

// maxListed is how many entries of a directory a page shows.
const maxListed = 10_000

// forAWeek is for pages that a later version may show otherwise.
const forAWeek = "max-age=604800, stale-while-revalidate=2678400"

// listTag is the tag of a directory's page. Its number changes with the page.
func listTag(c cid.Cid) string { return `"DirIndex-1_CID-` + c.String() + `"` }

// directory sends a directory's index.html, or a page that lists it. Relative links
// in either need the slash at the end of the address.
func (r *reading) directory(short context.Context, e *unixfs.Entity) error {
	if !strings.HasSuffix(r.text, "/") {
		to := "/" + strings.TrimLeft(r.req.URL.EscapedPath(), "/") + "/" // two slashes would begin a host
		if r.req.URL.RawQuery != "" {
			to += "?" + r.req.URL.RawQuery
		}
		r.answer.begun = true
		http.Redirect(r.answer, r.req, to, http.StatusMovedPermanently)
		return nil
	}
	has, err := e.Has(short, "index.html")
	if err != nil {
		return err
	}
	if has {
		index, err := r.gateway.objects.Find(short, r.text+"index.html")
		if err != nil {
			return err
		}
		page, err := index.Open(short)
		if err != nil {
			return err
		}
		if page.Kind == unixfs.File {
			return r.file(short, page, "index.html", `"`+r.found.CID.String()+`"`)
		}
	}
	return r.list(short, e)
}

// listed is one line of the page.
type listed struct {
	Name, Link, CID string
	Size            string
}

// list sends the page.
func (r *reading) list(short context.Context, e *unixfs.Entity) error {
	h := r.w.Header()
	h.Set("Etag", listTag(r.found.CID))
	h.Set("Cache-Control", r.cacheControl(forAWeek))
	h.Set("Content-Type", "text/html")
	if r.req.Method == http.MethodHead {
		r.answer.WriteHeader(http.StatusOK)
		return nil
	}
	items, more, err := e.Items(short, maxListed)
	if err != nil {
		return err
	}
	var lines []listed
	for _, i := range items {
		// A name may look like a scheme or begin with a slash: the dot keeps it here.
		lines = append(lines, listed{Name: i.Name, Link: "./" + url.PathEscape(i.Name), CID: i.CID.String(), Size: sizeText(i.Size)})
	}
	var page bytes.Buffer
	err = folderPage.Execute(&page, map[string]any{
		"Path": strings.TrimSuffix(r.text, "/"), "CID": r.found.CID.String(), "Lines": lines, "More": more, "Most": maxListed, "Up": len(r.found.Roots) > 1,
	})
	if err != nil {
		return err
	}
	h.Set("Content-Length", strconv.Itoa(page.Len()))
	_, err = r.answer.Write(page.Bytes())
	return err
}

// sizeText is a size for people.
func sizeText(n uint64) string {
	const units = "KMGTPE"
	if n < 1024 {
		return strconv.FormatUint(n, 10) + " B"
	}
	f, unit := float64(n)/1024, 0
	for ; f >= 1024 && unit < len(units)-1; unit++ {
		f /= 1024
	}
	return strconv.FormatFloat(f, 'f', 1, 64) + " " + units[unit:unit+1] + "iB"
}

// folderPage works without scripts, which the sandbox forbids.
var folderPage = template.Must(template.New("folder").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Path}}</title>
<style>
body { font-family: sans-serif; margin: 1em auto; max-width: 60em; padding: 0 1em; }
h1 { font-size: 1.1em; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; }
td { border-top: 1px solid #ddd; padding: .3em .5em; overflow-wrap: anywhere; }
td.size { text-align: right; white-space: nowrap; }
td.cid { font-family: monospace; font-size: .8em; }
</style>
</head>
<body>
<h1>{{.Path}}</h1>
<p>{{.CID}}</p>
<table>
{{- if .Up}}
<tr><td colspan="3"><a href="../">..</a></td></tr>
{{- end}}
{{- range .Lines}}
<tr><td><a href="{{.Link}}">{{.Name}}</a></td><td class="cid">{{.CID}}</td><td class="size">{{.Size}}</td></tr>
{{- end}}
</table>
{{- if .More}}
<p>Only {{.Most}} entries are shown: the command ls lists all.</p>
{{- end}}
</body>
</html>
`))
