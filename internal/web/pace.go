package web

import (
	"io"
	"net/http"
	"time"
)

// A body must go on: in each paceTime at least minRate bytes a second arrive. What came
// before buys no time, or a body that is sent at once but for its last byte could be
// held for an hour.
const (
	paceTime  = 10 * time.Second
	minRate   = 1024
	paceBytes = minRate * int64(paceTime/time.Second)
)

// Paced is a request's body that may take as long as it keeps coming.
func Paced(w http.ResponseWriter, body io.ReadCloser) io.Reader {
	return &pacedReader{body: body, control: http.NewResponseController(w), since: time.Now()}
}

// pacedReader moves the read deadline along with the bytes that arrive. The first
// read is covered by the server's own deadline, so a body that comes at once costs
// nothing here.
type pacedReader struct {
	body    io.ReadCloser
	control *http.ResponseController
	since   time.Time // when the present paceTime began
	got     int64     // bytes since then
	begun   bool      // some bytes have come
	paced   bool      // the deadline is ours
}

func (p *pacedReader) Read(b []byte) (int, error) {
	p.pace()
	n, err := p.body.Read(b)
	p.got += int64(n)
	p.begun = p.begun || n > 0
	if err == io.EOF && p.paced {
		_ = p.control.SetReadDeadline(time.Time{}) // the answer may take its own time
	}
	return n, err
}

// pace sets the deadline of the next bytes, when it is another one than the last time.
func (p *pacedReader) pace() {
	if !p.begun {
		return
	}
	if p.got >= paceBytes {
		p.since, p.got, p.paced = time.Now(), 0, false
	}
	if !p.paced {
		p.paced = true
		_ = p.control.SetReadDeadline(p.since.Add(paceTime))
	}
}
