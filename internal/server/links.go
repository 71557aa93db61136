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
