package web

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodegate/nodegate"
)

// BodyOp marks the errors of ReadBody: the connection can't be used again.
const BodyOp = "web.body"

// A body may take graceTime, and beyond it as long as minRate bytes arrive a second.
const (
	graceTime = 10 * time.Second
	minRate   = 1024
)

// ReadBody appends a request's body to buf, at most limit bytes of it, inflating
// gzip: the limit is on what comes out. More is refused while reading.
//
// Returns TooLarge, or InvalidRequest for an encoding it does not know or a body
// that ends early.
func ReadBody(w http.ResponseWriter, r *http.Request, buf []byte, limit int64) ([]byte, error) {
	if r.ContentLength > limit {
		return buf, tooLarge(limit)
	}
	announced := r.ContentLength
	body := Paced(w, r.Body)
	switch strings.ToLower(r.Header.Get("Content-Encoding")) {
	case "", "identity":
	case "gzip":
		z, err := gzip.NewReader(body)
		if err != nil {
			return buf, &nodegate.Error{Op: BodyOp, Code: nodegate.InvalidRequest, Msg: "invalid request: the body is not gzip", Err: err}
		}
		body, announced = z, -1
	default:
		return buf, &nodegate.Error{Op: BodyOp, Code: nodegate.MediaType, Msg: "content encoding not supported: use gzip or none"}
	}
	return readAll(body, buf, limit, announced)
}

// readAll reads to the end or one byte past the limit, whichever is first.
func readAll(body io.Reader, buf []byte, limit, announced int64) ([]byte, error) {
	start := len(buf)
	for {
		if len(buf) == cap(buf) {
			buf = slices.Grow(buf, room(len(buf)-start, limit, announced))
		}
		n, err := body.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if int64(len(buf)-start) > limit {
			return buf, tooLarge(limit)
		}
		if errors.Is(err, io.EOF) {
			return buf, nil
		}
		if err != nil {
			return buf, &nodegate.Error{Op: BodyOp, Code: nodegate.InvalidRequest, Msg: "invalid request: the body ended early", Err: err}
		}
	}
}

// room is by how much to grow a buffer that so many bytes have filled: up to four
// times them, so that little is copied and left to the collector, but never for
// bytes that can't come. An announced length alone is given nothing.
func room(filled int, limit, announced int64) int {
	rest := limit - int64(filled)
	if announced >= int64(filled) {
		rest = announced - int64(filled)
	}
	return int(min(max(4096, 3*int64(filled)), rest+1)) // one byte more shows the end
}

func tooLarge(limit int64) error {
	return &nodegate.Error{Op: BodyOp, Code: nodegate.TooLarge, Msg: "request body too large: at most " + strconv.FormatInt(limit, 10) + " bytes"}
}

// Paced is a request's body that may take as long as it keeps coming.
func Paced(w http.ResponseWriter, body io.ReadCloser) io.Reader {
	return &pacedReader{body: body, control: http.NewResponseController(w), start: time.Now()}
}

// pacedReader moves the read deadline along with the bytes that arrive. The first
// read is covered by the server's own deadline, so a body that comes at once costs
// nothing here.
type pacedReader struct {
	body    io.ReadCloser
	control *http.ResponseController
	start   time.Time
	total   int64
	paced   bool
}

func (p *pacedReader) Read(b []byte) (int, error) {
	if p.total > 0 {
		p.paced = true
		_ = p.control.SetReadDeadline(p.start.Add(graceTime + time.Duration(p.total/minRate)*time.Second))
	}
	n, err := p.body.Read(b)
	p.total += int64(n)
	if err == io.EOF && p.paced {
		_ = p.control.SetReadDeadline(time.Time{}) // the answer may take its own time
	}
	return n, err
}
