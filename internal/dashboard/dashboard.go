package dashboard

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"path"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/account"
	"github.com/nodegate/nodegate/internal/accounts/requestlog"
	"github.com/nodegate/nodegate/internal/accounts/usage/report"
	"github.com/nodegate/nodegate/internal/background"
	"github.com/nodegate/nodegate/internal/dashboard/apidoc"
	"github.com/nodegate/nodegate/internal/dashboard/callform"
	"github.com/nodegate/nodegate/internal/dashboard/example"
	"github.com/nodegate/nodegate/internal/dashboard/faucet"
	"github.com/nodegate/nodegate/internal/dashboard/snippet"
	"github.com/nodegate/nodegate/internal/fairshare"
	"github.com/nodegate/nodegate/internal/ipfs/files"
	"github.com/nodegate/nodegate/internal/ipfs/uploads"
	"github.com/nodegate/nodegate/internal/obs"
	"github.com/nodegate/nodegate/internal/tokenbucket"
)

// Config is what the dashboard shows and works on.
type Config struct {
	Accounts       *account.Service
	SignUp         bool           // strangers may make an account
	TrustedProxies []netip.Prefix // whose word on the client's address and on HTTPS is believed

	URL        string           // of JSON-RPC as users reach it; "" is the address of the request
	StorageURL string           // of the storage gateway; "" is the host of the request with StoragePort
	Networks   func() []Network // as they are served now

	StoragePort func() string             // where the storage gateway listens
	StorageCA   bool                      // its certificate is of the local authority
	Cost        func(method string) int64 // credits of a call

	// Grant lets the owner of a key use it without its text.
	Grant func(ctx context.Context, accountID, keyID string) (*nodegate.Grant, error)
	// RPC answers a JSON-RPC body for a grant.
	RPC func(w http.ResponseWriter, req *http.Request, network string, grant *nodegate.Grant)
	// Storage runs a command of the storage gateway for a grant; nil without one.
	Storage func(w http.ResponseWriter, req *http.Request, command string, grant *nodegate.Grant)
	Parts   Parts // how parts of uploads count; empty without a storage gateway

	Reports    *report.Reports
	RequestLog *requestlog.Log
	Files      *files.Files     // nil without a storage gateway
	Uploads    *uploads.Uploads // nil without a storage gateway
	Gateway    string           // who may read with GET /ipfs: "" is nobody, "keys" or "public"
	Faucet     *faucet.Faucet   // nil where no network has one
	Stripe     bool             // cards are verified by Stripe, not by the test processor
	Mails      bool             // accounts are told by mail when their credits run low
	Operator   Operator         // what operators see

	Status func() []NetworkUp // what the public status page shows; nil is no such page

	PagesPerSecond int // of one address, and of one account; 0 is no limit

	Log *slog.Logger
}

// Network is a network as the dashboard shows it.
type Network struct {
	nodegate.Network
	Embedded   bool
	Rollup     bool     // has layer2_estimateGas
	Namespaces []string // those that it has turned on
	Currency   string   // its symbol; "" is ETH
	Explorer   string   // the URL of a block explorer; "" is none
}

// Dashboard serves the pages. It is an http.Handler.
type Dashboard struct {
	cfg      Config
	mux      *http.ServeMux
	pages    *pages
	static   *static
	ids      *obs.RequestIDs
	examples *example.Examples
	routes   []route
	pace     *pace
	changed  tokenbucket.Set[string] // changes, by account
	status   statusBoard
	turns    reportTurns
	drawing  *fairshare.Pool // pages that are written: fewer at once than there are cores

	snippets *snippet.Set
	book     *apidoc.Book
	forms    *callform.Form
}

// New builds the front end.
func New(cfg Config) (*Dashboard, error) {
	d := &Dashboard{cfg: cfg, mux: http.NewServeMux(), ids: obs.NewRequestIDs(), examples: example.New(), routes: routes(), pace: newPace(cfg.PagesPerSecond), drawing: fairshare.New(max(1, background.Cores()-1), 1)}
	var err error
	if d.static, err = newStatic(); err != nil {
		return nil, err
	}
	if d.pages, err = newPages(d.static); err != nil {
		return nil, err
	}
	if d.snippets, err = snippet.New(); err != nil {
		return nil, err
	}
	if d.book, err = apidoc.New(); err != nil {
		return nil, err
	}
	d.forms = callform.New(d.book)
	for _, r := range d.routes {
		d.mux.Handle(r.pattern, d.handler(r))
	}
	d.mux.Handle("GET "+staticPath, d.static)
	d.mux.Handle("/", d.handler(route{pattern: "/", who: everybody, serve: nothingHere}))
	return d, nil
}

// maxForm bounds the body of a form. Uploads have bounds of their own.
const maxForm = 64 << 10

// ServeHTTP answers one request.
func (d *Dashboard) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	secureHeaders(w.Header())
	if !d.admit(w, req) {
		return
	}
	if clean := path.Clean(req.URL.Path); clean != req.URL.Path && clean+"/" != req.URL.Path {
		req.URL.Path = "/nothing/here" // the mux would send such a path back, and it may hold a key
	}
	d.mux.ServeHTTP(w, req)
}

// pagePolicy is what a page may load: this site's own files.
const pagePolicy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// secureHeaders go with everything: no page may be framed, nothing is loaded from
// elsewhere, no inline script or style runs, and no address leaks to other sites.
func secureHeaders(h http.Header) {
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}
