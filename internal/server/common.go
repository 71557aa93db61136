package server

import (
	"log/slog"
	"net/netip"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/obs"
)

// common is what every part of a server works with.
type common struct {
	cfg     *config.Config // of the start
	log     *slog.Logger
	metrics *obs.Metrics
}

// trustedProxies were checked when the configuration was read.
func (c *common) trustedProxies() []netip.Prefix {
	var list []netip.Prefix
	for _, text := range c.cfg.TrustedProxies {
		if p, err := netip.ParsePrefix(text); err == nil {
			list = append(list, p.Masked())
		} else if a, err := netip.ParseAddr(text); err == nil {
			list = append(list, netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()))
		}
	}
	return list
}
