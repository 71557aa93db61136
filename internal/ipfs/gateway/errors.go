package gateway

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/web"
)

// failure is what Kubo answers when a command fails.
type failure struct {
	Message string
	Code    int
	Type    string
}

// refuse answers an error. Kubo's clients tell usage and access errors from failed
// commands by the form: a line of text, or a JSON object with 500.
func (g *Gateway) refuse(w http.ResponseWriter, err error) {
	e := nodegate.AsError(err)
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	for _, name := range []string{"Content-Length", "X-Content-Length", "X-Chunked-Output", "X-Stream-Output", "Content-Range", "ETag"} {
		h.Del(name) // of an answer that was not begun
	}
	switch e.Code {
	case nodegate.KeyRequired, nodegate.KeyInvalid, nodegate.SecretInvalid:
		h.Set("WWW-Authenticate", `Basic realm="storage"`)
	}
	if e.RetryAfter > 0 || e.Code == nodegate.RateLimited || e.Code == nodegate.Busy {
		h.Set("Retry-After", web.RetryAfter(e.RetryAfter))
	}
	status := statusOf(e.Code)
	if status == http.StatusInternalServerError {
		g.fail(w, e, err)
		return
	}
	h.Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(bounded(e.Msg) + "\n"))
}

// maxMessage is how long an error is at most. Some repeat what the client sent.
const maxMessage = 2 << 10

// bounded is a message, or how it begins and ends.
func bounded(msg string) string {
	if len(msg) <= maxMessage {
		return msg
	}
	half := maxMessage / 2
	return strings.ToValidUTF8(msg[:half], "") + " ... " + strings.ToValidUTF8(msg[len(msg)-half:], "")
}

// statusOf is the status of an error: 500 for every command that failed.
func statusOf(c nodegate.Code) int {
	switch c {
	case nodegate.InvalidInput, nodegate.InvalidRequest:
		return http.StatusBadRequest
	case nodegate.NotFound:
		return http.StatusInternalServerError
	}
	if status := web.Status(c); status >= http.StatusBadRequest {
		return status
	}
	return http.StatusInternalServerError // JSON-RPC answers these with 200
}

// fail answers a command that failed.
func (g *Gateway) fail(w http.ResponseWriter, e *nodegate.Error, err error) {
	msg := e.Msg
	if e.Code == nodegate.Internal {
		msg = g.logged(err)
	}
	body, encodeErr := json.Marshal(failure{Message: bounded(msg), Type: "error"})
	if encodeErr != nil {
		body = []byte(`{"Message":"internal error","Code":0,"Type":"error"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusInternalServerError)
	_, _ = w.Write(append(body, '\n'))
}

// logged keeps the cause of an internal error for the log. The client is told an id
// that is there too.
func (g *Gateway) logged(err error) string {
	ref := g.ids.New()
	g.cfg.Log.Error("internal error", "id", ref, "err", err)
	return "internal error (id " + ref + ")"
}

// usageError is the error of a request that is not what the command takes, in Kubo's words.
func usageError(msg string) error {
	return &nodegate.Error{Op: "storage", Code: nodegate.InvalidInput, Msg: msg}
}

// failed is the error of a command that can't be done, in Kubo's words.
func failed(msg string) error {
	return &nodegate.Error{Op: "storage", Code: nodegate.ExecutionFailed, Msg: msg}
}
