package gateway

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multibase"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/web"
)

// site is content under a host of its own, <CID>.ipfs.<gateway host>. To a browser that is
// an origin of its own, so its scripts may run: they reach no other content and no API.
type site struct {
	space   string // ipfs or ipns
	root    string // as the host spells it
	gateway string // the host below which it is, with its port
}

// siteHosts are the hosts below which content has hosts of its own.
type siteHosts struct {
	names   []string
	proxies []netip.Prefix // whose word on the host counts
}

// hostOf is the host that a client asked for, split into its name and its port with the
// colon. What a proxy says counts only where it is trusted, and of that the right end.
func (h *siteHosts) hostOf(req *http.Request) (name, port string) {
	host := req.Host
	if list := req.Header.Values("X-Forwarded-Host"); len(list) > 0 && web.FromTrusted(req, h.proxies) {
		last := list[len(list)-1]
		host = strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:])
	}
	return splitHost(host)
}

// splitHost returns no name for a port that is none.
func splitHost(host string) (name, port string) {
	if at := strings.LastIndexByte(host, ':'); at >= 0 && host[len(host)-1] != ']' {
		host, port = host[:at], host[at:]
	}
	if strings.Trim(port, ":0123456789") != "" {
		return "", ""
	}
	return strings.TrimSuffix(host, "."), port
}

// isSiteHost tells whether content has hosts of its own below a name.
func (h *siteHosts) isSiteHost(name string) bool {
	for _, known := range h.names {
		if strings.EqualFold(name, known) {
			return true
		}
	}
	return false
}

// siteOf takes a host apart. It returns nil for one that is no site's.
func (h *siteHosts) siteOf(name, port string) *site {
	for _, known := range h.names {
		at := len(name) - len(known) - 1
		if at < 0 || name[at] != '.' || !strings.EqualFold(name[at+1:], known) {
			continue
		}
		dot := strings.LastIndexByte(name[:at], '.')
		space := strings.ToLower(name[dot+1 : at])
		if dot > 0 && (space == "ipfs" || space == "ipns") {
			return &site{space: space, root: name[:dot], gateway: known + port}
		}
	}
	return nil
}

// path is the path of something on the site, as it is below /ipfs elsewhere.
func (s *site) path(path string) string { return "/" + s.space + "/" + s.root + path }

// siteHead lets a browser run what the site has, and keeps sites apart that share a domain:
// without the second header old browsers let them agree to be one origin.
func siteHead(h http.Header) {
	h.Del("Content-Security-Policy")
	h.Set("Origin-Agent-Cluster", "?1")
}

// serveSite answers what is asked of a site's host: nothing but its content.
func (g *Gateway) serveSite(w http.ResponseWriter, req *http.Request, s *site) {
	if s.space == "ipfs" {
		label, err := s.label()
		if err != nil {
			g.readHead(w.Header())
			plain(w, http.StatusBadRequest, nodegate.AsError(err).Msg)
			return
		}
		if label != "" && !strings.EqualFold(label, s.root) {
			g.redirect(w, g.hosts.siteURL(req, label, s.gateway, req.URL.EscapedPath()))
			return
		}
		if label != "" {
			s.root = label
		}
	}
	g.serveContent(w, req, s)
}

// label is the one label that stands for the site's CID, so that all who link to it share
// one origin. It is "" for what is no CID.
func (s *site) label() (string, error) {
	c, err := cid.Decode(s.root)
	if err != nil {
		c, err = cid.Decode(strings.ToLower(s.root))
	}
	if err != nil {
		return "", nil
	}
	return dnsLabel(c)
}

// maxLabel is how long DNS lets a label be.
const maxLabel = 63

// dnsLabel spells a CID so that it survives lower case, and as short as it must be.
//
// Returns InvalidInput for one that is too long in every spelling.
func dnsLabel(c cid.Cid) (label string, err error) {
	c = cid.NewCidV1(c.Type(), c.Hash())
	for _, base := range []multibase.Encoding{multibase.Base32, multibase.Base36} {
		if label, err = c.StringOfBase(base); err == nil && len(label) <= maxLabel {
			return label, nil
		}
	}
	return "", usageError("CID incompatible with DNS label length limit of 63: " + c.String() +
		". Read it by its path on an IP address of the gateway, or with format=raw or format=car")
}

// toSite is where a path on one of the gateway's hosts redirects, or "" for what is
// answered here. Credentials would be lost on the way, and what is never shown in a browser
// needs no origin.
func (h *siteHosts) toSite(req *http.Request, name, port string) (to string, err error) {
	parts := strings.SplitN(req.URL.EscapedPath(), "/", 4)
	if !h.isSiteHost(name) || req.Header.Get("Authorization") != "" || len(parts) < 3 || parts[1] != "ipfs" || downloads(req) {
		return "", nil
	}
	text, err := url.PathUnescape(parts[2])
	if err != nil {
		return "", nil
	}
	c, err := cid.Decode(text)
	if err != nil {
		return "", nil // the path is refused with its own words
	}
	label, err := dnsLabel(c)
	if err != nil {
		return "", err
	}
	rest := "/"
	if len(parts) == 4 {
		rest += parts[3]
	}
	return h.siteURL(req, label, strings.ToLower(name)+port, rest), nil
}

// downloads tells whether a client wants a form that browsers only save.
func downloads(req *http.Request) bool {
	kind, _, err := accepted(req.Header)
	if q := req.URL.Query(); q.Has("format") {
		kind = formats[q.Get("format")]
	}
	return err != nil || kind == formatRaw || kind == formatCAR || kind == formatTAR
}

// siteURL is the address of a site's content.
func (h *siteHosts) siteURL(req *http.Request, label, gateway, path string) string {
	to := h.schemeOf(req) + "://" + label + ".ipfs." + gateway + path
	if req.URL.RawQuery != "" {
		to += "?" + req.URL.RawQuery
	}
	return to
}

// schemeOf is how the client came, to a trusted proxy where there is one.
func (h *siteHosts) schemeOf(req *http.Request) string {
	if said := req.Header.Get("X-Forwarded-Proto"); (said == "http" || said == "https") && web.FromTrusted(req, h.proxies) {
		return said
	}
	if req.TLS != nil {
		return "https"
	}
	return "http"
}

// redirectTime is how long a client may remember a redirect: an operator may give up a host.
const redirectTime = "private, max-age=3600"

// redirect sends a client elsewhere. The address must be escaped.
func (g *Gateway) redirect(w http.ResponseWriter, to string) {
	h := w.Header()
	g.readHead(h)
	h.Set("Cache-Control", redirectTime)
	h.Set("Vary", "Accept, Authorization")
	h.Set("Location", to)
	plain(w, http.StatusMovedPermanently, "Moved to "+to)
}

// uriTarget is where a browser that handles ipfs:// with this gateway is sent: it asks for
// /ipfs/?uri=ipfs://CID/path.
func uriTarget(text string) (to string, err error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "ipfs" && u.Scheme != "ipns" {
		return "", usageError("the parameter uri must be an address that begins with ipfs:// or ipns://")
	}
	to = "/" + u.Scheme + "/" + url.PathEscape(u.Host) + u.EscapedPath()
	if u.RawQuery != "" {
		to += "?" + u.RawQuery
	}
	return to, nil
}

// forged says why a request to the API is refused that a page made and its user didn't
// mean: by a site of this gateway, or in a way that shows the page no answer, which only
// makes sense with credentials that the browser remembers.
func (g *Gateway) forged(req *http.Request) string {
	if u, err := url.Parse(web.Origin(req.Header)); err == nil && g.cfg.Read != Nobody {
		if name, port := splitHost(u.Host); g.hosts.siteOf(name, port) != nil {
			return "websites on this gateway can't use its API: serve the page from another host"
		}
	}
	from, mode := req.Header.Get("Sec-Fetch-Site"), req.Header.Get("Sec-Fetch-Mode")
	if (from == "cross-site" || from == "same-site") && (mode == "navigate" || mode == "no-cors") {
		return "forms and no-cors requests of other pages are refused: use fetch with an Authorization header"
	}
	return ""
}
