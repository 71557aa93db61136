package server

import (
	"log/slog"
	"net/netip"
	"sync"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/obs"
	"github.com/nodegate/nodegate/internal/tracing"
)

// common is what every part of a server works with.
type common struct {
	cfg     *config.Config // of the start
	log     *slog.Logger
	metrics *obs.Metrics
	tracer  *tracing.Tracer // nil traces nothing
	expires sync.Map        // of a listener's name to when its certificate expires
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
