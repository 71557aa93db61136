package gateway

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/nodegate/nodegate/internal/web"
)

// multipart is the body of an upload, counted and held to a pace.
func (c *call) multipart() (io.Reader, string, error) {
	kind, params, err := mime.ParseMediaType(c.req.Header.Get("Content-Type"))
	if err == nil && strings.HasPrefix(kind, "multipart/") && params["boundary"] == "" {
		return nil, "", usageError("no multipart boundary param in Content-Type")
	}
	if err != nil || !strings.HasPrefix(kind, "multipart/") {
		return nil, "", usageError(fmt.Sprintf("file argument '%s' is required", c.command.file))
	}
	if err := c.holdBody(); err != nil {
		return nil, "", err
	}
	c.body = &countedReader{Reader: web.Paced(c.w, c.req.Body), call: c}
	return c.body, params["boundary"], nil
}

// countedReader counts what the account moves.
type countedReader struct {
	io.Reader
	call *call
}

func (r *countedReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	r.call.read += int64(n)
	r.call.ended = r.call.ended || err == io.EOF
	if r.call.received {
		return n, err
	}
	if over := r.call.moves(n); over != nil && err == nil {
		err = over
	}
	return n, err
}

// maxEpilogue is how much may follow the closing boundary.
const maxEpilogue = 64 << 10

// endBody reads to the end of a body whose closing boundary was read. Were anything
// left, the connection could be used again in the middle of it, and a part of the
// body taken for the next request.
func (c *call) endBody() error {
	if c.ended {
		return nil
	}
	if _, err := io.CopyN(io.Discard, c.body, maxEpilogue); err != io.EOF {
		return usageError("the body does not end after its closing boundary")
	}
	return nil
}

// How much of a refused upload is still read, and for how long.
const (
	lingerBytes = 16 << 20
	lingerTime  = 2 * time.Second
)

// refuse answers an error. An upload whose body is not read to its end is answered at
// once, and its connection closed, but not right away: many clients look for the
// answer only when they have sent all, and would see a reset instead.
func (c *call) refuse(err error) {
	c.early(func() { c.gateway.refuse(c.w, err) })
}

// unread tells whether an upload's body is still to be read, on a connection that
// can't be used again before it was.
func (c *call) unread() bool {
	upload := c.grant != nil && c.command != nil && c.command.file != ""
	return upload && !c.ended && c.req.ContentLength != 0 && c.req.ProtoMajor == 1
}

// early answers before the body was read to its end.
func (c *call) early(answer func()) {
	if !c.unread() {
		answer()
		return
	}
	control := http.NewResponseController(c.w)
	_ = control.EnableFullDuplex()
	c.w.Header().Set("Connection", "close")
	answer()
	if control.Flush() == nil && control.SetReadDeadline(time.Now().Add(lingerTime)) == nil {
		_, _ = io.CopyN(io.Discard, c.req.Body, lingerBytes)
	}
}
