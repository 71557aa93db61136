package web

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/nodegate/nodegate"
)

// BodyOp marks the errors of ReadBody: the connection can't be used again.
const BodyOp = "web.body"

// ReadBody appends a request's body to buf, at most limit bytes of it, inflating
// gzip: the limit is on what comes out. More is refused while reading. grow is asked
// with the size of the buffer before it grows, and of the one given.
//
// Returns TooLarge, what grow returns, or InvalidRequest for an encoding it does not
// know or a body that ends early.
func ReadBody(w http.ResponseWriter, r *http.Request, buf []byte, limit int64, grow func(size int) error) ([]byte, error) {
	if r.ContentLength > limit {
		return buf, tooLarge(limit)
	}
	if err := grow(cap(buf)); err != nil {
		return buf, noMemory(err)
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
	return readAll(body, buf, limit, announced, grow)
}

// readAll reads to the end or one byte past the limit, whichever is first.
func readAll(body io.Reader, buf []byte, limit, announced int64, grow func(size int) error) ([]byte, error) {
	start := len(buf)
	for {
		if len(buf) == cap(buf) {
			more := room(len(buf)-start, limit, announced)
			if err := grow(len(buf) + more); err != nil {
				return buf, noMemory(err)
			}
			buf = slices.Grow(buf, more)
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

// noMemory is the refusal of a body that there is no memory for. The rest of it is not
// read.
func noMemory(err error) error {
	e := *nodegate.AsError(err)
	e.Op = BodyOp
	return &e
}

func tooLarge(limit int64) error {
	return &nodegate.Error{Op: BodyOp, Code: nodegate.TooLarge, Msg: "request body too large: at most " + strconv.FormatInt(limit, 10) + " bytes"}
}
