package dashboard

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/nodegate/nodegate"
)

// openData is the page of one pin, or of something in the folder that it keeps.
type openData struct {
	Pin     nodegate.Pin
	Name    string // of what is shown
	CID     string // of what is shown
	Path    string // below the pin; "" is the pin itself
	Crumbs  []link
	Size    int64 // of its content
	Folder  bool
	Entries []fileEntry
	More    bool   // entries than are listed
	Preview string // the address of what the frame shows; "" is no preview
	Cut     bool   // the preview shows the beginning only
	NoShow  string // why there is no preview
	Links   fileLinks
	Load    string // where it is downloaded
	Problem string
}

// fileEntry is one line of a folder.
type fileEntry struct {
	Name   string
	CID    string
	Size   int64
	Folder bool
	Path   string // its page
	Load   string // where it is downloaded
}

// mostEntries is how many entries of a folder a page lists.
const mostEntries = 500

// openFile shows what an account keeps: a folder's entries, or a file with a preview.
func openFile(v *visit) error {
	data, grant, err := openedFile(v)
	if err != nil {
		return err
	}
	if err := lookInside(v, data, grant); err != nil {
		return err
	}
	data.Links = linksOf(v, data)
	if data.Preview != "" {
		v.w.Header().Set("Content-Security-Policy", pagePolicy+"; frame-src 'self'")
	}
	return v.show("file", data)
}

// openedFile finds the pin that an address names among the account's own: nobody looks
// through others' files here.
func openedFile(v *visit) (*openData, *nodegate.Grant, error) {
	if v.cfg.Files == nil {
		return nil, nil, errNoStorage
	}
	if err := getOnly(v); err != nil {
		return nil, nil, err
	}
	query := v.req.URL.Query()
	pin, err := v.cfg.Files.Pin(v.req.Context(), v.account.ID, query.Get("cid"))
	if err != nil {
		return nil, nil, noSuchFile(err)
	}
	below := strings.Trim(path.Clean("/"+query.Get("path")), "/")
	data := &openData{Pin: pin, CID: pin.CID, Path: below, Name: pinName(&pin)}
	if below != "" {
		data.Name = path.Base(below)
	}
	data.Load = downloadAddress(pin.CID, below, data.Name)
	data.Crumbs = crumbsOf(&pin, below)
	_, grant, err := v.chooseKey(query.Get("key"))
	if err == nil && grant == nil {
		err = errNoKey
	}
	return data, grant, err
}

func pinName(p *nodegate.Pin) string {
	if p.Name == "" {
		return middle(p.CID)
	}
	return p.Name
}

func fileQuery(cid, below string) string {
	q := url.Values{"cid": {cid}}
	if below != "" {
		q.Set("path", below)
	}
	return q.Encode()
}

func downloadAddress(cid, below, name string) string {
	return "/files/download?" + fileQuery(cid, below) + "&" + url.Values{"name": {name}}.Encode()
}

// crumbsOf leads from the list of files down to what is shown.
func crumbsOf(pin *nodegate.Pin, below string) []link {
	crumbs := []link{{Name: "Files", Path: "/files"}, {Name: pinName(pin), Path: "/files/open?" + fileQuery(pin.CID, "")}}
	at := ""
	for _, part := range strings.Split(below, "/") {
		if part != "" {
			at = path.Join(at, part)
			crumbs = append(crumbs, link{Name: part, Path: "/files/open?" + fileQuery(pin.CID, at)})
		}
	}
	crumbs[len(crumbs)-1].Here = true
	return crumbs
}

// contentPath is what the storage gateway calls it.
func (d *openData) contentPath() string { return path.Join("/ipfs", d.Pin.CID, d.Path) }

// lookInside asks the storage gateway what it is: for a key, with its limits.
func lookInside(v *visit, d *openData, grant *nodegate.Grant) error {
	handOver(v)
	answer := storageCall(v, grant, "files/stat", url.Values{"arg": {d.contentPath()}})
	var stat struct {
		Hash, Type           string
		Size, CumulativeSize int64
	}
	if answer.status != http.StatusOK || json.Unmarshal(answer.body.Bytes(), &stat) != nil {
		return notOpened(v, d, answer)
	}
	d.CID, d.Size, d.Folder = stat.Hash, stat.Size, stat.Type == "directory"
	if !d.Folder {
		return previewOf(v, d, grant)
	}
	d.Size = stat.CumulativeSize
	answer = storageCall(v, grant, "ls", url.Values{"arg": {d.contentPath()}, "stream": {"true"}})
	if answer.status != http.StatusOK {
		return notOpened(v, d, answer)
	}
	d.Entries, d.More = entriesIn(answer, d)
	return nil
}

// notOpened tells why something can't be shown. What the account may not do is an error;
// content that is no file, or is not whole, has a page all the same.
func notOpened(v *visit, d *openData, answer *captured) error {
	err := notRead(v, answer)
	if errors.Is(err, nodegate.NotFound) && d.Path == "" {
		d.Problem = "This content can’t be shown: " + messageOf(answer) + ". Download it, or read it with an IPFS client."
		return nil
	}
	return err
}

// storageCall runs a command of the storage gateway whose answer is short.
func storageCall(v *visit, grant *nodegate.Grant, command string, args url.Values) *captured {
	answer := newCaptured()
	v.cfg.Storage(answer, inner(v.req.Context(), "/api/v0/"+command, args, ""), command, grant)
	return answer
}

// entriesIn reads what ls said, a line for each entry, as far as the page goes.
func entriesIn(answer *captured, d *openData) (list []fileEntry, more bool) {
	lines := json.NewDecoder(&answer.body)
	for {
		var line struct {
			Objects []struct {
				Links []struct {
					Name, Hash string
					Size       int64
					Type       int
				}
			}
		}
		if err := lines.Decode(&line); err != nil {
			return list, answer.over // the end, or what didn't fit
		}
		for _, o := range line.Objects {
			for _, l := range o.Links {
				if len(list) == mostEntries {
					return list, true
				}
				below := path.Join(d.Path, l.Name)
				list = append(list, fileEntry{
					Name: l.Name, CID: l.Hash, Size: l.Size, Folder: l.Type == typeFolder,
					Path: "/files/open?" + fileQuery(d.Pin.CID, below), Load: downloadAddress(d.Pin.CID, below, l.Name),
				})
			}
		}
	}
}

// typeFolder is how ls marks a folder, as Kubo does.
const typeFolder = 1

// fileLinks are the addresses of some content.
type fileLinks struct {
	IPFS    string // for IPFS clients
	Gateway string // of the read gateway; "" is none
	Public  bool   // everybody can open it
}

// linksOf are the links of what a page shows. The name is in the link of a file, so that a
// browser that saves it knows it.
func linksOf(v *visit, d *openData) fileLinks {
	below := (&url.URL{Path: d.Path}).EscapedPath()
	links := fileLinks{IPFS: strings.TrimSuffix("ipfs://"+d.Pin.CID+"/"+below, "/"), Public: v.cfg.Gateway == "public"}
	if v.cfg.Gateway == "" {
		return links
	}
	links.Gateway = strings.TrimSuffix(v.storageURL()+"/ipfs/"+d.Pin.CID+"/"+below, "/")
	if d.Path == "" && d.Pin.Name != "" && !d.Folder {
		links.Gateway += "?" + url.Values{"filename": {d.Pin.Name}}.Encode()
	}
	return links
}

func renameFile(v *visit) error {
	if v.cfg.Files == nil {
		return errNoStorage
	}
	cid := v.req.PostFormValue("cid")
	if err := v.cfg.Files.Rename(v.req.Context(), v.account.ID, cid, v.req.PostFormValue("name")); err != nil {
		if errors.Is(err, nodegate.InvalidInput) {
			return err
		}
		return noSuchFile(err)
	}
	return v.seeOther("/files/open?" + url.Values{"cid": {cid}, "done": {"renamed"}}.Encode())
}
