package edge

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// lost reports whether a path that is no JSON-RPC address was meant to be one: it is
// below a network's name or below a name that only such addresses have. Clients there
// expect an envelope, never a page.
func (s *site) lost(path string) (r route, lost bool) {
	head, _ := cut(strings.TrimPrefix(path, "/"))
	if head == "ws" {
		return route{}, true
	}
	_, known := s.networks[head]
	return route{network: head}, known
}

// errLost is the answer to such a path. It names the addresses that there are, and
// nothing of the one that was asked for: a key may be in it.
func errLost(r route) error {
	prefix := ""
	if r.network != "" {
		prefix = "/" + r.network
	}
	return &nodegate.Error{
		Op: "edge.route", Code: nodegate.NotFound,
		Msg: fmt.Sprintf("not found: JSON-RPC is at %s/v3/API_KEY, WebSockets are at %s/ws/v3/API_KEY", prefix, prefix),
	}
}

// RefuseUnread is the whole response to what is not an HTTP request that net/http can
// read. Like every other answer of this listener it is an envelope, and the last one of
// its connection.
func (e *Edge) RefuseUnread(status int, reason string) []byte {
	e.cfg.Metrics.Refused(nodegate.InvalidRequest)
	body := jsonrpc.AppendError(nil, nil, numbers[nodegate.InvalidRequest], unreadMessage(status, reason), nil)
	return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nAccess-Control-Allow-Origin: *\r\nX-Request-Id: %s\r\nDate: %s\r\n"+
		"Content-Type: application/json\r\nX-Content-Type-Options: nosniff\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		status, http.StatusText(status), e.ids.New(), e.date.at(time.Now()), len(body), body)
}

// unreadMessage puts net/http's reason into our words.
func unreadMessage(status int, reason string) string {
	switch status {
	case http.StatusRequestHeaderFieldsTooLarge:
		return "request headers too large: send fewer or shorter ones"
	case http.StatusHTTPVersionNotSupported:
		return "HTTP version not supported: use HTTP/1.1"
	case http.StatusNotImplemented:
		return "transfer encoding not supported: use chunked, or Content-Length"
	}
	return "invalid request: " + strings.TrimPrefix(reason, "400 Bad Request: ")
}
