package dashboard

import (
	"bytes"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nodegate/nodegate"
)

// What a preview reads at most. A text is shown up to there, a larger image not at all.
const (
	maxPreviewText  = 128 << 10
	maxPreviewImage = 16 << 20
	previewHead     = 512 // bytes that tell what something is
)

// previewPolicy keeps what somebody stored apart from this site, also when it is opened by
// itself: it has no origin, runs nothing, loads nothing and sends nothing.
const previewPolicy = "sandbox; default-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors 'self'"

// previewOf decides from the beginning of a file whether the page can show it.
func previewOf(v *visit, d *openData, grant *nodegate.Grant) error {
	answer := storageCall(v, grant, "cat", url.Values{"arg": {d.contentPath()}, "length": {strconv.Itoa(previewHead)}})
	if answer.status != http.StatusOK {
		return notOpened(v, d, answer)
	}
	kind := previewKind(answer.body.Bytes(), d.Size > previewHead)
	switch {
	case kind == "":
		d.NoShow = "No preview for this kind of file."
	case isImage(kind) && d.Size > maxPreviewImage:
		d.NoShow = "This image is larger than " + byteSize(maxPreviewImage) + ", the preview limit."
	case isImage(kind):
		d.Preview = "/files/preview?" + fileQuery(d.Pin.CID, d.Path)
	default:
		d.Preview, d.Cut = "/files/preview?"+fileQuery(d.Pin.CID, d.Path)+"&text=1", d.Size > maxPreviewText
	}
	return nil
}

func isImage(kind string) bool { return strings.HasPrefix(kind, "image/") }

// previewKind is the type that some content is shown as: one of few images, or plain text.
// Everything else, pages and drawings with scripts too, is text or nothing.
func previewKind(head []byte, cut bool) string {
	kind, _, _ := mime.ParseMediaType(http.DetectContentType(head))
	switch kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return kind
	}
	if isText(head, cut) {
		return "text/plain; charset=utf-8"
	}
	return ""
}

// isText tells whether some bytes are text that a browser can show. The last character
// may be cut.
func isText(b []byte, cut bool) bool {
	if bytes.ContainsFunc(b, func(r rune) bool { return r < ' ' && r != '\n' && r != '\r' && r != '\t' && r != '\f' || r == 0x7f }) {
		return false
	}
	for range utf8.UTFMax {
		if utf8.Valid(b) {
			return true
		}
		if !cut || len(b) == 0 {
			return false
		}
		b = b[:len(b)-1]
	}
	return false
}

// previewFile sends the beginning of a file to the frame of its page. The type is one of
// the few above whatever the file is called, and browsers may not guess another.
func previewFile(v *visit) error {
	d, grant, err := openedFile(v)
	if err != nil {
		return err
	}
	handOver(v)
	length := maxPreviewImage
	if v.req.URL.Query().Has("text") {
		length = maxPreviewText
	}
	args := url.Values{"arg": {d.contentPath()}, "length": {strconv.Itoa(length)}}
	p := &previewing{w: v.w}
	v.cfg.Storage(p, inner(v.req.Context(), "/api/v0/cat", args, ""), "cat", grant)
	if p.failed != nil {
		return notRead(v, p.failed)
	}
	p.end()
	return nil
}

// previewing passes the beginning of a file on, once enough of it has come to tell what it
// is, and keeps a refusal for a page. What isn't shown is dropped.
type previewing struct {
	w      http.ResponseWriter
	header http.Header
	head   []byte
	begun  bool
	room   int // bytes that may still be sent
	failed *captured
}

// Header implements http.ResponseWriter. The gateway's own headers are for its clients.
func (p *previewing) Header() http.Header {
	if p.header == nil {
		p.header = http.Header{}
	}
	return p.header
}

// WriteHeader implements http.ResponseWriter.
func (p *previewing) WriteHeader(status int) {
	if status != http.StatusOK && p.failed == nil && !p.begun {
		p.failed = newCaptured()
		p.failed.status = status
	}
}

// Write implements http.ResponseWriter.
func (p *previewing) Write(b []byte) (int, error) {
	switch {
	case p.failed != nil:
		return p.failed.Write(b)
	case p.begun:
		return len(b), p.send(b)
	}
	if p.head = append(p.head, b...); len(p.head) < previewHead {
		return len(b), nil
	}
	p.begin(true)
	return len(b), p.send(p.head)
}

// end sends a file that is so short that nothing was sent yet.
func (p *previewing) end() {
	if !p.begun {
		p.begin(false)
		_ = p.send(p.head)
	}
}

func (p *previewing) begin(more bool) {
	p.begun = true
	kind := previewKind(p.head[:min(len(p.head), previewHead)], more)
	switch {
	case isImage(kind):
		p.room = maxPreviewImage
	case kind != "":
		p.room = maxPreviewText
	default:
		kind, p.head = "text/plain; charset=utf-8", nil
	}
	h := p.w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Security-Policy", previewPolicy)
	h.Set("X-Frame-Options", "SAMEORIGIN")
	p.w.WriteHeader(http.StatusOK)
}

// send passes on what still fits.
func (p *previewing) send(b []byte) error {
	b = b[:min(len(b), p.room)]
	p.room -= len(b)
	_, err := p.w.Write(b)
	return err
}

// Unwrap is for http.ResponseController: deadlines and flushes are the connection's.
func (p *previewing) Unwrap() http.ResponseWriter { return p.w }
