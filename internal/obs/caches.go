package obs

import "github.com/prometheus/client_golang/prometheus"

// caches shows what the networks' caches hold, read when somebody looks.
type caches struct {
	each           func(show func(network string, answers int, bytes int64))
	answers, bytes *prometheus.Desc
}

// Caches adds gauges of the networks' caches. each calls show once for every cache
// there is at the moment.
func (m *Metrics) Caches(each func(show func(network string, answers int, bytes int64))) {
	network := []string{"network"}
	m.registry.MustRegister(&caches{
		each:    each,
		answers: prometheus.NewDesc("nodegate_cache_answers", "Responses in the network's cache.", network, nil),
		bytes:   prometheus.NewDesc("nodegate_cache_bytes", "Size of the network's cache in bytes.", network, nil),
	})
}

// Describe is a part of prometheus.Collector.
func (c *caches) Describe(out chan<- *prometheus.Desc) {
	out <- c.answers
	out <- c.bytes
}

// Collect is a part of prometheus.Collector.
func (c *caches) Collect(out chan<- prometheus.Metric) {
	c.each(func(network string, answers int, bytes int64) {
		out <- prometheus.MustNewConstMetric(c.answers, prometheus.GaugeValue, float64(answers), network)
		out <- prometheus.MustNewConstMetric(c.bytes, prometheus.GaugeValue, float64(bytes), network)
	})
}
