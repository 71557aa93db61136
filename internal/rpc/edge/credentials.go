package edge

import (
	"net/http"
	"strings"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method/permit"
	"github.com/nodegate/nodegate/internal/web"
)

// admit finds the network, lets the key in and checks its owner's lists. A grant
// comes with a refusal by the key's settings too: its account pays for that.
func (e *Edge) admit(w http.ResponseWriter, req *http.Request, r route) (*network, *nodegate.Grant, error) {
	n, err := e.site.Load().find(r, req.Host)
	if err != nil {
		return nil, nil, err
	}
	c, err := credentials(r.key, req.Header)
	if err != nil {
		return n, nil, err
	}
	c.From = web.ClientAddr(req, e.cfg.TrustedProxies)
	grant, err := e.cfg.Auth.Authenticate(req.Context(), c)
	if err != nil {
		return n, nil, err
	}
	settings := &grant.Policy().Settings
	origin := web.Origin(req.Header)
	if len(settings.Origins) > 0 {
		web.CORSOnly(w.Header(), origin, settings.AllowsOrigin(origin))
	}
	return n, grant, permit.Request{Service: nodegate.ServiceRPC, Network: n.Name, Origin: origin, Agent: req.UserAgent()}.Check(settings)
}

// credentials collects what a request brings. The key may stand in the path and
// in headers, but then it is the same everywhere.
func credentials(path string, h http.Header) (c nodegate.Credentials, err error) {
	basic, secret, bearer, err := authorization(h)
	if err != nil {
		return c, err
	}
	c.Secret = secret
	for _, key := range []string{path, basic, bearer, h.Get("X-API-Key")} {
		if key == "" {
			continue
		}
		if c.Key != "" && c.Key != key {
			return c, errKeysDiffer
		}
		c.Key = key
	}
	return c, nil
}

var errKeysDiffer = &nodegate.Error{Op: "edge.credentials", Code: nodegate.KeyInvalid, Msg: "invalid API key"}

// authorization reads Basic (KEY:SECRET or :SECRET) and Bearer. Other schemes are
// not ours, and a request may carry them for a proxy on the way.
func authorization(h http.Header) (key, secret, bearer string, err error) {
	if len(h.Values("Authorization")) > 1 || len(h.Values("X-API-Key")) > 1 {
		return "", "", "", errKeysDiffer
	}
	scheme, rest, _ := strings.Cut(h.Get("Authorization"), " ")
	switch strings.ToLower(scheme) {
	case "bearer":
		return "", "", strings.TrimSpace(rest), nil
	case "basic":
		req := http.Request{Header: http.Header{"Authorization": h["Authorization"]}}
		key, secret, ok := req.BasicAuth()
		if !ok {
			return "", "", "", &nodegate.Error{Op: "edge.credentials", Code: nodegate.SecretInvalid, Msg: "invalid API key or API key secret"}
		}
		return key, secret, "", nil
	}
	return "", "", "", nil
}
