package server

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/dashboard"
)

// openDashboard builds the front end for people; nil where it is turned off.
func (s *Server) openDashboard() (http.Handler, error) {
	if !s.cfg.Dashboard.On {
		return nil, nil
	}
	s.showNetworks(s.cfg)
	c := dashboard.Config{
		Accounts: s.control.Accounts, Plans: s.control.Plans, SignUp: s.cfg.Dashboard.SignUp, TrustedProxies: s.trustedProxies(),
		URL: s.cfg.Dashboard.URL, StorageURL: s.cfg.Dashboard.StorageURL, Networks: func() []dashboard.Network { return *s.shown.Load() },
		StoragePort: s.storagePort, StorageCA: s.storageCA(), Cost: s.costOf,
		Grant: s.accounts.door.Grant, RPC: s.rpcGranted, Log: s.log,
	}
	if s.storage.gateway != nil {
		c.Storage = s.storage.gateway.ServeGranted
	}
	return dashboard.New(c)
}

// rpcGranted is the edge's, which is built after the dashboard that it serves.
func (s *Server) rpcGranted(w http.ResponseWriter, req *http.Request, network string, grant *nodegate.Grant) {
	s.edge.ServeGranted(w, req, network, grant)
}

// showNetworks notes which networks are served from now on.
func (s *Server) showNetworks(cfg *config.Config) {
	list := make([]dashboard.Network, 0, len(cfg.Networks))
	for i := range cfg.Networks {
		list = append(list, shownNetwork(&cfg.Networks[i]))
	}
	s.shown.Store(&list)
}

func shownNetwork(n *config.Network) dashboard.Network {
	return dashboard.Network{Name: n.Name, Embedded: len(n.Nodes) == 0, Rollup: n.Layer2 != nil, Alias: aliasOf(n)}
}

// storagePort is where the storage gateway listens, once it does.
func (s *Server) storagePort() string {
	at := s.cfg.StorageListen
	if s.serving.Load() {
		at = strings.TrimPrefix(s.storage.addr, "https://")
	}
	_, port, _ := net.SplitHostPort(at)
	return port
}

// storageCA tells whether clients of the storage gateway have to trust the local
// authority. Where the gateway has a public address of its own, something with another
// certificate stands before it.
func (s *Server) storageCA() bool {
	if s.cfg.Storage.TLS.Cert != "" {
		return false
	}
	u, err := url.Parse(s.cfg.Dashboard.StorageURL)
	if err != nil || u.Host == "" || u.Hostname() == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err == nil && ip.IsLoopback()
}
