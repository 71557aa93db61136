package edge

import (
	"context"
	"net/http"
	"sync/atomic"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method/permit"
	"github.com/nodegate/nodegate/internal/web"
)

// visitor is who opened a WebSocket: what is held against the key's settings again
// when its owner changes them.
type visitor struct {
	credentials   nodegate.Credentials
	origin, agent string
	checked       atomic.Pointer[nodegate.Policy] // the last one that let them in
}

// visitorOf keeps what was checked at the handshake.
func (e *Edge) visitorOf(req *http.Request, r route, g *nodegate.Grant) *visitor {
	v := &visitor{origin: web.Origin(req.Header), agent: req.UserAgent()}
	v.credentials, _ = credentials(r.key, req.Header) // they were good a moment ago
	v.credentials.From = web.ClientAddr(req, e.cfg.TrustedProxies)
	v.checked.Store(g.Policy())
	return v
}

// request is what the key's settings are asked about.
func (v *visitor) request(n *network) permit.Request {
	return permit.Request{Service: nodegate.ServiceRPC, Network: n.Name, Origin: v.origin, Agent: v.agent}
}

// welcome tells whether the next message of the socket may still be executed. Most
// of the time nothing has changed since the last one.
func (s *socket) welcome(ctx context.Context) error {
	select {
	case <-s.grant.Ended(): // the close frame is on its way
		return errRevoked
	default:
	}
	policy := s.grant.Policy()
	if policy == s.visitor.checked.Load() {
		return nil
	}
	if _, err := s.edge.cfg.Auth.Authenticate(ctx, s.visitor.credentials); err != nil {
		return err
	}
	if err := s.visitor.request(s.network).Check(&policy.Settings); err != nil {
		return s.edge.fine(ctx, s.network, s.grant, "", err)
	}
	s.visitor.checked.Store(policy)
	return nil
}

var errRevoked = &nodegate.Error{Op: "edge.socket", Code: nodegate.KeyInvalid, Msg: "invalid API key"}
