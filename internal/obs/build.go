package obs

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
)

// Build shows which build runs.
func (m *Metrics) Build(version, commit string) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "nodegate_build_info", Help: "Always 1. The labels say which build runs.",
		ConstLabels: prometheus.Labels{"version": version, "commit": commit, "goversion": runtime.Version()},
	}, func() float64 { return 1 }))
}
