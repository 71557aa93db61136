package gateway

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/web"
)

// admitToken lets a key in with its secret, as the access token KEY.SECRET of the pinning
// service API, or by Basic authentication as everywhere else.
func (g *Gateway) admitToken(w http.ResponseWriter, req *http.Request) (*nodegate.Grant, error) {
	key, secret, ok := req.BasicAuth()
	if !ok {
		key, secret, ok = tokenOf(req.Header.Get("Authorization"))
	}
	if !ok {
		return nil, &nodegate.Error{Op: "storage.pins", Code: nodegate.KeyRequired, Msg: "access token required: use an API key and its secret, joined by a dot, as in KEY.SECRET"}
	}
	grant, err := g.admitKey(w, req, key, secret)
	if errors.Is(err, nodegate.SecretInvalid) {
		err = &nodegate.Error{Op: "storage.pins", Code: nodegate.SecretInvalid, Msg: "invalid access token: use an API key and its secret, joined by a dot, as in KEY.SECRET"}
	}
	return grant, err
}

// tokenOf splits an access token.
func tokenOf(header string) (key, secret string, ok bool) {
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", "", false
	}
	key, secret, _ = strings.Cut(strings.TrimSpace(token), ".")
	return key, secret, key != ""
}

// refusePins answers an error in the form of the pinning service API.
func (g *Gateway) refusePins(w http.ResponseWriter, err error) {
	e := nodegate.AsError(err)
	h := w.Header()
	h.Del("Content-Length")
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	if e.RetryAfter > 0 || e.Code == nodegate.RateLimited || e.Code == nodegate.Busy {
		h.Set("Retry-After", web.RetryAfter(e.RetryAfter))
	}
	status, details := pinsStatus(e.Code), e.Msg
	if status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="storage"`)
	}
	if e.Code == nodegate.Internal {
		details = g.logged(err)
	}
	var body struct {
		Error struct {
			Reason  string `json:"reason"`
			Details string `json:"details"`
		} `json:"error"`
	}
	body.Error.Reason, body.Error.Details = reasonOf(e.Code, status), details
	text, _ := json.Marshal(body) // two strings
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n'))
}

// pinsStatus is the status of an error: that of other storage commands, and 404 for
// requests that are not there.
func pinsStatus(c nodegate.Code) int {
	if c == nodegate.NotFound {
		return http.StatusNotFound
	}
	return statusOf(c)
}

// reasonOf names the kind of an error for programs.
func reasonOf(c nodegate.Code, status int) string {
	switch {
	case status == http.StatusBadRequest:
		return "BAD_REQUEST"
	case status == http.StatusUnauthorized:
		return "UNAUTHORIZED"
	case c == nodegate.CardRequired:
		return "INSUFFICIENT_FUNDS"
	case c == nodegate.Internal:
		return "INTERNAL_SERVER_ERROR"
	}
	return strings.ToUpper(strings.ReplaceAll(c.String(), " ", "_"))
}
