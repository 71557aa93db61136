package gateway

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/nodegate/nodegate/internal/web"
)

// answer notes what was sent: whether an error can still be told, and how much the
// account moved.
type answer struct {
	http.ResponseWriter
	begun   bool
	gone    bool // the client is: a write failed
	written int64
	sends   func(n int) error
	kept    *keptAnswer // of a request that may be repeated; nil otherwise
}

// newAnswer counts what is about to be written with sends, whose error ends the answer.
func newAnswer(w http.ResponseWriter, sends func(int) error) *answer {
	return &answer{ResponseWriter: w, sends: sends}
}

func (a *answer) WriteHeader(status int) {
	a.begun = true
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(b []byte) (int, error) {
	if a.kept == nil {
		return a.write(b)
	}
	return a.kept.write(a, b)
}

func (a *answer) write(b []byte) (int, error) {
	a.begun = true
	if err := a.sends(len(b)); err != nil {
		_ = a.sends(-len(b))
		return 0, err
	}
	n, err := a.ResponseWriter.Write(b)
	a.written += int64(n)
	a.gone = a.gone || err != nil
	if n < len(b) {
		_ = a.sends(n - len(b))
	}
	return n, err
}

// Unwrap lets a ResponseController reach the connection.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// kuboHeaders are on every answer of a command, as Kubo has them.
const kuboHeaders = "X-Stream-Output, X-Chunked-Output, X-Content-Length"

// Header values that never change are shared slices, so that a small answer doesn't
// allocate a dozen.
var (
	allowHeaders  = []string{kuboHeaders}
	exposeHeaders = []string{kuboHeaders + ", " + web.ExposedHeaders}
	varyOrigin    = []string{"Origin"}
	serverName    = []string{"nodegate"}
	noSniffing    = []string{"nosniff"}
	sandboxed     = []string{"sandbox"} // whatever was stored, no browser runs it
	yes           = []string{"1"}
	inBytes       = []string{"bytes"}
)

func (a *answer) head(kind string) http.Header {
	h := a.Header()
	h["Access-Control-Allow-Headers"] = allowHeaders
	h["Access-Control-Expose-Headers"] = exposeHeaders
	if len(h["Vary"]) == 0 {
		h["Vary"] = varyOrigin
	}
	h["Server"] = serverName
	h["Content-Type"] = []string{kind}
	h["X-Content-Type-Options"] = noSniffing
	h["Content-Security-Policy"] = sandboxed
	return h
}

// object answers one JSON object.
func (a *answer) object(v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	h := a.head("application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)+1))
	_, err = a.Write(append(body, '\n'))
	return err
}

// stream begins an answer of JSON objects, one a line.
func (a *answer) stream() *lines {
	h := a.head("application/json")
	h.Set("X-Chunked-Output", "1")
	return &lines{answer: a, json: json.NewEncoder(a)}
}

// lines are the objects of a stream.
type lines struct {
	answer *answer
	json   *json.Encoder
}

func (l *lines) send(v any) error { return l.json.Encode(v) }

// flush sends what is buffered, so that a waiting client sees progress.
func (l *lines) flush() { _ = http.NewResponseController(l.answer.ResponseWriter).Flush() }

// bytes begins an answer of bytes whose number is known: a client that gets fewer
// sees it.
func (a *answer) bytes(kind string, size int64) {
	h := a.head(kind)
	length := []string{strconv.FormatInt(size, 10)}
	h["X-Stream-Output"] = yes
	h["Content-Length"] = length
	h["X-Content-Length"] = length
}
