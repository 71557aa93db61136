package gateway

import (
	"context"
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
func listTag(c cid.Cid) string { return `"DirIndex-2_CID-` + c.String() + `"` }

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

// folderPage is what a page shows of a directory.
type folderPage struct {
	Lines []listed
	Size  string // of all together
	Up    string // the link to the directory above, or ""
	More  bool   // entries than are shown
	Most  int
}

// listed is one line of the page.
type listed struct {
	Name, Link, Size string
	CID              string // shortened
	Content, File    string // where the CID leads, and the name there
}

// list sends a page that lists a directory.
func (r *reading) list(short context.Context, e *unixfs.Entity) error {
	if r.pageHead(listTag(r.found.CID)) {
		return nil
	}
	items, more, err := e.Items(short, maxListed)
	if err != nil {
		return err
	}
	t := trail{r.text, r.site}
	here, host := t.here(), t.host()
	f := &folderPage{More: more, Most: maxListed, Size: sizeText(uint64(e.Size))}
	if len(r.found.Roots) > 1 {
		f.Up = here + "/.."
	}
	for _, i := range items {
		id, name := i.CID.String(), url.PathEscape(i.Name)
		// The template escapes the name once more, as Kubo's does.
		f.Lines = append(f.Lines, listed{Name: i.Name, Link: here + "/" + name, Size: sizeText(i.Size), CID: shortened(id), Content: host + "/ipfs/" + id, File: name})
	}
	return r.sendPage(page{Heading: "Index of", Forms: []form{{"Download tar", "tar"}, {"Download CAR", "car"}}, Folder: f})
}

// shortened is a CID as people tell it from others.
func shortened(id string) string {
	if len(id) < 20 {
		return id
	}
	return id[:7] + "…" + id[len(id)-6:]
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
