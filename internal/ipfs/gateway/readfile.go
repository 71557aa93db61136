package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/gabriel-vasile/mimetype"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/ipfs/unixfs"
)

// shown is content whose parts can be asked for.
type shown struct {
	tag  string // ETag
	kind string // Content-Type
	size int64
	send func(from, length int64) error
}

// entity sends a file, or shows a directory. The context is for what comes before
// the content.
func (r *reading) entity(short context.Context) error {
	e, err := r.found.Open(short)
	if err != nil {
		return err
	}
	tag := `"` + r.found.CID.String() + `"`
	if e.Kind == unixfs.Value {
		tag = `"` + r.found.CID.String() + "." + formatSuffix(r.valueFormat()) + `"`
	}
	if r.unchanged(tag, forGood) || r.unchanged(listTag(r.found.CID), forAWeek) {
		return nil
	}
	if e.Kind == unixfs.Directory {
		return r.apart(func(short context.Context) error { return r.directory(short, e) })
	}
	if e.Kind == unixfs.Value && r.wantsPage() {
		return r.apart(func(context.Context) error { return r.showValue(e) })
	}
	name := path.Base(r.text)
	if len(r.found.Roots) == 1 {
		name = "" // the CID is none
	}
	return r.place.inPlace(r.req.Context(), within(r, func(short context.Context) error { return r.file(short, e, name, tag) }))
}

// file sends a file under a name, which tells its type.
func (r *reading) file(short context.Context, e *unixfs.Entity, name, tag string) error {
	if asked := r.req.URL.Query().Get("filename"); asked != "" {
		name = asked
		binary := e.Kind == unixfs.Value && strings.HasSuffix(r.valueFormat(), "cbor") // a browser can't show it
		r.setDisposition(asked, binary || r.req.URL.Query().Get("download") == "true")
	}
	if e.Kind == unixfs.Value && name == "" {
		form := strings.TrimPrefix(formatSuffix(r.valueFormat()), "dag-")
		r.setDisposition(r.found.CID.String()+"."+form, form == "cbor")
	}
	kind, err := r.kindOf(short, e, name)
	if err != nil {
		return err
	}
	return r.show(shown{tag: tag, kind: kind, size: e.Size, send: func(from, length int64) error {
		content := e.Content(r.req.Context(), from, length)
		defer content.Close()
		_, err := content.WriteTo(r.answer)
		return err
	}})
}

// sniffed is how much of a file tells its type.
const sniffed = 3 << 10

// kindOf is the content type of a file: by its name, or by how it begins.
func (r *reading) kindOf(ctx context.Context, e *unixfs.Entity, name string) (string, error) {
	switch e.Kind {
	case unixfs.Symlink:
		return "inode/symlink", nil
	case unixfs.Value:
		return r.valueFormat(), nil
	}
	kind := mime.TypeByExtension(path.Ext(name))
	if kind == "" {
		content := e.Content(ctx, 0, min(e.Size, sniffed))
		defer content.Close()
		begin, err := io.ReadAll(content)
		if err != nil && (!errors.Is(err, nodegate.NotFound) || r.req.Header.Get("Range") == "") {
			return "", err // a part may be there although the beginning is not
		}
		kind = mimetype.Detect(begin).String()
	}
	if strings.HasPrefix(kind, "text/html;") {
		kind = "text/html" // the page says its encoding
	}
	return kind, nil
}

// setDisposition names a download.
func (r *reading) setDisposition(name string, attachment bool) {
	how := "inline"
	if attachment {
		how = "attachment"
	}
	ascii := strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return '_'
		}
		return c
	}, name)
	r.w.Header().Set("Content-Disposition", fmt.Sprintf(`%s; filename="%s"; filename*=UTF-8''%s`, how, url.PathEscape(ascii), url.PathEscape(name)))
}

// show sends content, or the part of it that was asked for.
func (r *reading) show(s shown) error {
	if r.unchanged(s.tag, forGood) {
		return nil
	}
	part, partial, err := r.wantedPart(s)
	if err != nil {
		return err
	}
	if err := r.gateway.cfg.Reads.Check(part.to - part.from + 1); err != nil && r.req.Method != http.MethodHead {
		return err
	}
	h := r.w.Header()
	h.Set("Etag", s.tag)
	h.Set("Cache-Control", r.gateway.cacheControl(forGood))
	h.Set("Content-Type", s.kind)
	h.Set("Accept-Ranges", "bytes")
	h.Set("Content-Length", strconv.FormatInt(part.to-part.from+1, 10))
	status := http.StatusOK
	if partial {
		h.Set("Content-Range", part.String())
		status = http.StatusPartialContent
	}
	if r.answer.WriteHeader(status); r.req.Method == http.MethodHead {
		return nil
	}
	return s.send(part.from, part.to-part.from+1)
}

// wantedPart reads the Range header. Of several parts the first is sent, as Kubo
// does.
func (r *reading) wantedPart(s shown) (part byteRange, partial bool, err error) {
	part = byteRange{0, s.size - 1, s.size}
	text := r.req.Header.Get("Range")
	if of := r.req.Header.Get("If-Range"); text == "" || s.size == 0 || r.req.Method == http.MethodHead || of != "" && of != s.tag {
		return part, false, nil
	}
	text, ok := strings.CutPrefix(text, "bytes=")
	text, _, _ = strings.Cut(text, ",")
	part, valid := parseRange(strings.TrimSpace(text), s.size)
	if !ok || !valid {
		return part, false, usageError("invalid range request: invalid range")
	}
	if part.from >= s.size || part.to < part.from {
		r.w.Header().Set("Content-Range", fmt.Sprintf("bytes */%d", s.size))
		r.w.Header().Set("Etag", s.tag)
		r.status = http.StatusRequestedRangeNotSatisfiable
		return part, false, usageError("invalid range: failed to overlap")
	}
	return part, true, nil
}

// unchanged answers a client that has the content already.
func (r *reading) unchanged(tag, keep string) bool {
	if !hasTag(r.req.Header.Get("If-None-Match"), tag) {
		return false
	}
	r.w.Header().Set("Etag", tag)
	r.w.Header().Set("Cache-Control", r.gateway.cacheControl(keep))
	r.w.Header().Del("X-Ipfs-Roots")
	r.answer.WriteHeader(http.StatusNotModified)
	return true
}

// hasTag looks for a tag in a list of them, weak ones too. A star stands for all.
func hasTag(list, tag string) bool {
	for part := range strings.SplitSeq(list, ",") {
		part = strings.TrimSpace(part)
		if part == "*" || part != "" && strings.TrimPrefix(part, "W/") == strings.TrimPrefix(tag, "W/") {
			return true
		}
	}
	return false
}
