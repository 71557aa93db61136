package server

import (
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/nodegate/nodegate/internal/obs"
	"github.com/nodegate/nodegate/internal/web"
)

const (
	adminName = "admin" // of its listener
	// adminConns is how many connections the admin listener takes.
	adminConns = 64
	// adminPatience is how long an operator's client may read nothing: a backup writes what
	// it reads to a disk, which may be slow.
	adminPatience = 2 * time.Minute
)

// admin is the listener of the operator.
type admin struct {
	*common
	storage  *storageSide
	networks *networks
	cordons  *cordons
	backups  *backupAdmin
	status   *statusAdmin
	ready    func(part string) error

	server *web.Server
	addr   string
}

// start serves the operator. Its connections have no part in the shared
// bound: the metrics are needed most when that one is reached.
func (a *admin) start(ln net.Listener, on *listeners) {
	pages := http.NewServeMux()
	pages.HandleFunc("/storage/gc", a.storage.collectNow)
	pages.HandleFunc("POST /storage/pins", a.storage.pinsNow)
	pages.HandleFunc("/nodes", a.networks.nodesNow)
	pages.HandleFunc("POST /nodes/{network}/{node}/cordon", a.cordons.serve(true))
	pages.HandleFunc("POST /nodes/{network}/{node}/uncordon", a.cordons.serve(false))
	ledgers := &ledgerAdmin{a.networks, a.cordons.accounts}
	pages.HandleFunc("GET /ledgers", ledgers.now)
	pages.HandleFunc("POST /ledgers/{network}/verify", ledgers.verify)
	pages.HandleFunc("POST /ledgers/{network}/rebuild", ledgers.rebuild)
	pages.HandleFunc("GET /status", a.status.now)
	pages.HandleFunc("POST /backup", a.backups.hold)
	pages.HandleFunc("POST /backup/networks/{network}", a.backups.network)
	pages.Handle("/", obs.AdminHandler(a.metrics, a.ready))
	a.server = web.NewServer(on.httpServer(a.guard(pages)))
	go on.serve(adminName, a.server, ln)
}

// guard keeps web pages away from the admin listener, which has no sign-in: a page
// can send requests to any address that its visitor's browser reaches, under a name that
// it controls (DNS rebinding) or across origins. What changes something or shows what is
// in memory needs the token, or a client on this machine.
func (a *admin) guard(next http.Handler) http.Handler {
	origins := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch {
		case !a.allowsHost(req.Host):
			http.Error(w, "forbidden: this host name is not one of the admin listener's. Use an IP address or localhost, or add the name to admin.hosts", http.StatusForbidden)
		case origins.Check(req) != nil || foreignOrigin(req):
			http.Error(w, "forbidden: the request comes from a web page of another origin", http.StatusForbidden)
		case privileged(req) && !a.hasToken(req) && !fromLoopback(req):
			w.Header().Set("WWW-Authenticate", `Bearer realm="admin"`)
			http.Error(w, "unauthorized: send the value of admin.token as Authorization: Bearer TOKEN, or connect from this machine", http.StatusUnauthorized)
		default:
			next.ServeHTTP(w, req)
		}
	})
}

// allowsHost lets IP addresses pass, which no foreign page can rebind, and the names that
// the operator has configured.
func (a *admin) allowsHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	own, _, _ := net.SplitHostPort(a.cfg.AdminListen)
	return host == "localhost" || host != "" && host == strings.ToLower(own) || slices.Contains(a.cfg.Admin.Hosts, host)
}

// foreignOrigin refuses what the protection of the standard library leaves to CORS: a
// GET that a page of another origin sends. A link to what only reads may be followed.
func foreignOrigin(req *http.Request) bool {
	if origin := req.Header.Get("Origin"); origin != "" {
		return origin != "http://"+req.Host && origin != "https://"+req.Host
	}
	site := req.Header.Get("Sec-Fetch-Site")
	return privileged(req) && site != "" && site != "none" && site != "same-origin"
}

// privileged are profiles, which show what is in memory, and whatever is not a read.
func privileged(req *http.Request) bool {
	read := req.Method == http.MethodGet || req.Method == http.MethodHead
	return !read || strings.HasPrefix(req.URL.Path, "/debug/")
}

// hasToken reports whether a request carries the configured token.
func (a *admin) hasToken(req *http.Request) bool {
	scheme, token, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	want := string(a.cfg.Admin.Token)
	return want != "" && strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare([]byte(strings.TrimSpace(token)), []byte(want)) == 1
}

// fromLoopback reports whether the client is on this machine. A proxy on it that
// forwards for others names them.
func fromLoopback(req *http.Request) bool {
	peer, err := netip.ParseAddrPort(req.RemoteAddr)
	forwarded := req.Header.Get("X-Forwarded-For") != "" || req.Header.Get("Forwarded") != ""
	return err == nil && peer.Addr().Unmap().IsLoopback() && !forwarded
}
