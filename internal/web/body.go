package web

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/nodegate/nodegate"
)

// BodyOp marks the errors of ReadBody: the connection can't be used again.
const BodyOp = "web.body"

// Reading is how a body is read.
type Reading struct {
	Limit int64 // bytes, of what comes out of a gzip
	// Grow is asked with the size of the buffer before it grows, and of the one given.
	Grow func(size int) error
	// Inflate runs the work of inflating more than InflateFrom, which takes processor
	// time that the client doesn't pay for: a few kilobytes become megabytes. With an error
	// the work was not done.
	Inflate func(work func()) error
}

// InflateFrom is how much of a gzip is inflated at once.
const InflateFrom = 256 << 10

// ReadBody appends a request's body to buf, inflating gzip. More than the limit is
// refused while reading.
//
// Returns TooLarge, what Grow or Inflate returns, or InvalidRequest for an encoding it does not
// know or a body that ends early.
func ReadBody(w http.ResponseWriter, r *http.Request, buf []byte, how Reading) ([]byte, error) {
	limit, grow := how.Limit, how.Grow
	if r.ContentLength > limit {
		return buf, tooLarge(limit)
	}
	if err := grow(cap(buf)); err != nil {
		return buf, unread(err)
	}
	announced := r.ContentLength
	body := Paced(w, r.Body)
	switch strings.ToLower(r.Header.Get("Content-Encoding")) {
	case "", "identity":
	case "gzip":
		return how.inflate(body, buf, announced)
	default:
		return buf, &nodegate.Error{Op: BodyOp, Code: nodegate.MediaType, Msg: "content encoding not supported: use gzip or none"}
	}
	return readAll(body, buf, limit, announced, grow)
}

// inflate reads the whole gzip before it works on it: work that waits for a client would
// hold up others' work.
func (how *Reading) inflate(body io.Reader, buf []byte, announced int64) ([]byte, error) {
	packed, err := readAll(body, nil, how.Limit, announced, func(size int) error { return how.Grow(cap(buf) + size) })
	if err != nil {
		return buf, err
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return buf, &nodegate.Error{Op: BodyOp, Code: nodegate.InvalidRequest, Msg: "invalid request: the body is not gzip", Err: err}
	}
	grow := func(size int) error { return how.Grow(size + len(packed)) }
	start := len(buf)
	if buf, err = readAll(z, buf, min(how.Limit, InflateFrom), -1, grow); !errors.Is(err, nodegate.TooLarge) || int64(len(buf)-start) > how.Limit {
		return buf, err
	}
	if ended := how.Inflate(func() { buf, err = readAll(z, buf, how.Limit-int64(len(buf)-start), -1, grow) }); ended != nil {
		return buf, unread(ended)
	}
	if errors.Is(err, nodegate.TooLarge) {
		err = tooLarge(how.Limit)
	}
	return buf, err
}

// readAll reads to the end or one byte past the limit, whichever is first.
func readAll(body io.Reader, buf []byte, limit, announced int64, grow func(size int) error) ([]byte, error) {
	start := len(buf)
	for {
		if len(buf) == cap(buf) {
			more := room(len(buf)-start, limit, announced)
			if err := grow(len(buf) + more); err != nil {
				return buf, unread(err)
			}
			buf = Enlarge(buf, more)
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

// Enlarge is slices.Grow for large buffers: it doesn't clear memory that is to be
// overwritten, and that the system has only just handed out clean.
func Enlarge(buf []byte, more int) []byte {
	if cap(buf)-len(buf) >= more {
		return buf
	}
	larger := make([]byte, len(buf), len(buf)+more)
	copy(larger, buf)
	return larger
}

// room is by how much to grow a buffer that so many bytes have filled: up to four
// times them, so that little is copied and left to the collector, but never for
// bytes that can't come. An announced length alone is given nothing; who has sent an
// eighth of it gets the rest.
func room(filled int, limit, announced int64) int {
	rest := limit - int64(filled)
	if announced >= int64(filled) {
		rest = announced - int64(filled)
		if int64(filled) >= announced/8 && filled > 0 {
			return int(rest + 1)
		}
	}
	return int(min(max(4096, 3*int64(filled)), rest+1)) // one byte more shows the end
}

// unread is the refusal of a body that there is no memory for, or no turn. The rest of it is
// not read.
func unread(err error) error {
	e := *nodegate.AsError(err)
	e.Op = BodyOp
	return &e
}

func tooLarge(limit int64) error {
	return &nodegate.Error{Op: BodyOp, Code: nodegate.TooLarge, Msg: "request body too large: at most " + strconv.FormatInt(limit, 10) + " bytes"}
}
