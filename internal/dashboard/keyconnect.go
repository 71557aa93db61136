package dashboard

import (
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/dashboard/snippet"
	"github.com/nodegate/nodegate/internal/method"
)

// connectData is how to use a key: the page of the key itself.
type connectData struct {
	Key     *nodegate.Key
	Value   string // the API key's text; "" once it is revoked
	Old     []time.Time
	Limited bool // its settings may refuse what the page shows
	reach
}

// reach is where a key works, and how to get there.
type reach struct {
	Networks   []snippet.Endpoint
	StorageURL string // "" without a gateway
	Tools      tools
	Wallet     wallet
}

// tools are the snippets of one network, or of storage.
type tools struct {
	Choices  []navItem // networks, and storage
	Snippets []snippet.Snippet
	Chosen   string // the snippet's ID
	Secret   bool   // they read SECRET
	Storage  bool
	LocalCA  bool
	NoCard   bool
	Trust    string
}

func keyPage(v *visit) error {
	k, err := v.key()
	if err != nil {
		return err
	}
	d := connectData{Key: k, Old: oldUntil(k, time.Now()), Limited: limited(&k.Settings)}
	if !k.Live() {
		return v.show("key", d)
	}
	if d.Value, err = v.cfg.Accounts.Reveal(v.req.Context(), v.account.ID, k.ID); err != nil {
		return err
	}
	if d.reach, err = reachOf(v, k, d.Value); err != nil {
		return err
	}
	return v.show("key", d)
}

// limited tells whether a key's lists may refuse the requests of the snippets.
func limited(s *nodegate.KeySettings) bool {
	return len(s.Origins) > 0 || len(s.UserAgents) > 0 || len(s.Networks) > 0 || len(s.Services) > 0 || !s.AllowsMethod(method.EthBlockNumber)
}

// oldUntil is when the versions before the newest stop working.
func oldUntil(k *nodegate.Key, now time.Time) (until []time.Time) {
	for _, version := range k.Values[min(1, len(k.Values)):] {
		if version.Expires.After(now) {
			until = append(until, version.Expires)
		}
	}
	return until
}

// reachOf finds the addresses of a key, and the snippets of the network that the page's
// address names, or of the first.
func reachOf(v *visit, k *nodegate.Key, value string) (r reach, err error) {
	httpBase, wsBase := v.base()
	networks := v.cfg.Networks()
	ids := chainIDs(v.req.Context(), networks)
	for i, n := range networks {
		r.Networks = append(r.Networks, snippet.Endpoint{
			Network: n.Name, HTTP: httpBase + "/" + n.Name + "/v3/" + value, WS: wsBase + "/" + n.Name + "/ws/v3/" + value,
			Secret: k.Settings.SecretRequired, ChainID: ids[i], Currency: n.Currency, Explorer: n.Explorer,
		})
	}
	r.StorageURL = v.storageURL()
	r.Wallet = walletOf(&k.Settings, r.Networks)
	r.Tools, err = toolsOf(v, k, value, &r)
	return r, err
}

func toolsOf(v *visit, k *nodegate.Key, value string, r *reach) (t tools, err error) {
	query, page := v.req.URL.Query(), "/keys/"+k.ID
	t.Storage = r.StorageURL != "" && (query.Has("storage") || len(r.Networks) == 0)
	at := max(0, slices.IndexFunc(r.Networks, func(n snippet.Endpoint) bool { return n.Network == query.Get("network") }))
	for i, n := range r.Networks {
		t.Choices = append(t.Choices, navItem{Path: page + "?network=" + n.Network + "#tools", Name: n.Network, Here: i == at && !t.Storage})
	}
	if r.StorageURL != "" {
		t.Choices = append(t.Choices, navItem{Path: page + "?storage=1#tools", Name: "storage", Here: t.Storage})
	}
	switch {
	case t.Storage:
		t.Secret, t.LocalCA, t.Trust, t.NoCard = true, v.cfg.StorageCA, snippet.TrustCommand, !v.account.Card.Valid(time.Now())
		t.Snippets, err = v.snippets.Storage(snippet.Store{URL: r.StorageURL, Key: value, LocalCA: v.cfg.StorageCA})
	case len(r.Networks) > 0:
		t.Secret = k.Settings.SecretRequired
		t.Snippets, err = v.snippets.RPC(r.Networks[at])
	}
	if err != nil || len(t.Snippets) == 0 {
		return t, err
	}
	t.Chosen = t.Snippets[max(0, slices.IndexFunc(t.Snippets, func(s snippet.Snippet) bool { return s.ID == query.Get("tab") }))].ID
	return t, nil
}

// base is where JSON-RPC is reached over HTTP and WebSocket: as configured, or as the
// browser reaches this page.
func (v *visit) base() (overHTTP, overWS string) {
	overHTTP = strings.TrimSuffix(v.cfg.URL, "/")
	if overHTTP == "" {
		scheme := "http"
		if v.req.TLS != nil || v.proxySaysHTTPS() {
			scheme = "https"
		}
		overHTTP = scheme + "://" + v.host()
	}
	return overHTTP, "ws" + strings.TrimPrefix(overHTTP, "http")
}

// storageURL is where the storage gateway is reached; "" without one.
func (v *visit) storageURL() string {
	if v.cfg.Storage == nil {
		return ""
	}
	if v.cfg.StorageURL != "" {
		return strings.TrimSuffix(v.cfg.StorageURL, "/")
	}
	at := url.URL{Host: v.host()}
	return "https://" + net.JoinHostPort(at.Hostname(), v.cfg.StoragePort())
}

// plainHost is a name or an address, perhaps with a port, and nothing that means
// something in a shell.
var plainHost = regexp.MustCompile(`^([A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(:[0-9]{1,5})?$`)

// host is what the browser calls this machine.
func (v *visit) host() string {
	if plainHost.MatchString(v.req.Host) {
		return v.req.Host
	}
	return "localhost"
}
