package dashboard

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"

	"github.com/nodegate/nodegate/internal/web"
)

// staticPath is below which static files are served.
const staticPath = "/static/"

//go:embed static
var staticFiles embed.FS

// static are the styles, scripts and pictures. Each is served under a name with a digest
// of its content, so that browsers keep it permanently and never see an old one.
type static struct {
	byAddress map[string]*file
	addresses map[string]string // by plain name
}

type file struct {
	kind        string
	body, small []byte // small is compressed; nil where that doesn't pay
}

func newStatic() (*static, error) {
	f := &static{byAddress: map[string]*file{}, addresses: map[string]string{}}
	err := fs.WalkDir(staticFiles, "static", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		body, err := staticFiles.ReadFile(name)
		if err != nil {
			return err
		}
		f.add(path.Base(name), body)
		return nil
	})
	return f, err
}

func (f *static) add(name string, body []byte) {
	sum := sha256.Sum256(body)
	address := staticPath + hex.EncodeToString(sum[:6]) + "/" + name
	made := &file{kind: mime.TypeByExtension(path.Ext(name)), body: body}
	if small := web.Gzip(nil, body); len(small) < len(body)*9/10 {
		made.small = small
	}
	f.byAddress[address], f.addresses[name] = made, address
}

// address is where a file is served. Templates are run by tests, so a name that isn't
// there is found by them.
func (f *static) address(name string) string { return f.addresses[name] }

// ServeHTTP answers with a file.
func (f *static) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	found := f.byAddress[req.URL.Path]
	if found == nil {
		http.NotFound(w, req)
		return
	}
	h, body := w.Header(), found.body
	h.Set("Content-Type", found.kind)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Vary", "Accept-Encoding")
	if found.small != nil && web.AcceptsGzip(req.Header) {
		h.Set("Content-Encoding", "gzip")
		body = found.small
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body)
}
