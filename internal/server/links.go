package server

import (
	"net"
	"strings"

	"github.com/nodegate/nodegate/internal/accounts/account"
	"github.com/nodegate/nodegate/internal/config"
)

// LinkURL is the address of a link with a token, for whoever reads it in a mail or gets it
// from an operator.
func LinkURL(cfg *config.Config, token string) string {
	return dashboardURL(cfg) + account.LinkPath + token
}

// knowsURL tells whether users reach the dashboard at dashboardURL: the configuration says so,
// or they are on this machine. A link that leads elsewhere would keep them from signing up.
func knowsURL(cfg *config.Config) bool {
	if cfg.Dashboard.URL != "" {
		return true
	}
	host, _, err := net.SplitHostPort(cfg.Listen)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback()) && len(cfg.TrustedProxies) == 0
}

// dashboardURL is where users reach the dashboard: what the configuration says, or else the
// listener as this machine reaches it. Requests are not asked: they name the host that their
// sender likes.
func dashboardURL(cfg *config.Config) string {
	if cfg.Dashboard.URL != "" {
		return strings.TrimSuffix(cfg.Dashboard.URL, "/")
	}
	scheme := "http"
	if cfg.TLS.Cert != "" {
		scheme = "https"
	}
	host, port, err := net.SplitHostPort(cfg.Listen)
	if err != nil {
		return scheme + "://" + cfg.Listen
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && (ip.IsLoopback() || ip.IsUnspecified()) {
		host = "localhost"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}
