package edge

import (
	"net"
	"strings"

	"github.com/nodegate/nodegate"
)

// route is what an address says: /<network>/v3/<key>, /<network>/ws/v3/<key>, or
// the same without the network, which is then the host's first label or the default.
type route struct {
	network string // "" when the path names none
	key     string
	socket  bool
}

// parseRoute reads a path. False means that it is not a JSON-RPC address at all.
func parseRoute(path string) (r route, ok bool) {
	rest, found := strings.CutPrefix(path, "/")
	if !found {
		return r, false
	}
	head, tail := cut(rest)
	if head != "v3" && head != "ws" {
		r.network = head
		head, tail = cut(tail)
	}
	if head == "ws" {
		r.socket = true
		head, tail = cut(tail)
	}
	if head != "v3" {
		return route{}, false
	}
	r.key = strings.TrimSuffix(tail, "/")
	return r, true
}

func cut(s string) (head, tail string) {
	head, tail, _ = strings.Cut(s, "/")
	return head, tail
}

// find picks the network of a request.
func (s *site) find(r route, host string) (*network, error) {
	name := r.network
	if name == "" {
		name = s.byHost(host)
	}
	if n, ok := s.networks[name]; ok {
		return n, nil
	}
	return nil, &nodegate.Error{Op: "edge.route", Code: nodegate.UnknownNetwork, Msg: "unknown network"}
}

// byHost names the network of a host: its first label where that is a network, and
// the default otherwise. Every label before .localhost is meant to be a network.
func (s *site) byHost(host string) string {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	name = strings.ToLower(name)
	label, rest, _ := strings.Cut(name, ".")
	if _, ok := s.networks[label]; ok || rest == "localhost" {
		return label
	}
	return s.fallback
}
