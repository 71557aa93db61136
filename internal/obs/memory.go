package obs

import "github.com/prometheus/client_golang/prometheus"

// MemoryFigures are what requests hold in memory.
type MemoryFigures struct {
	Reserved, Highest, Limit int64
	Accounts                 int
	OverShare, OverLimit     int64 // refusals
}

// memory shows the budget of requests, read when somebody looks.
type memory struct {
	figures                                     func() MemoryFigures
	reserved, highest, limit, accounts, refused *prometheus.Desc
}

// Memory adds gauges of the memory that requests hold.
func (m *Metrics) Memory(figures func() MemoryFigures) {
	m.registry.MustRegister(&memory{
		figures:  figures,
		reserved: prometheus.NewDesc("nodegate_memory_reserved_bytes", "Bytes of memory that request bodies, results, unread responses and uploads hold; 0 while nothing large is in progress.", nil, nil),
		highest:  prometheus.NewDesc("nodegate_memory_reserved_highest_bytes", "Peak of nodegate_memory_reserved_bytes since the start.", nil, nil),
		limit:    prometheus.NewDesc("nodegate_memory_limit_bytes", "The maximum of nodegate_memory_reserved_bytes: memory.requests, or less under a small memory limit.", nil, nil),
		accounts: prometheus.NewDesc("nodegate_memory_accounts", "Accounts whose requests hold memory.", nil, nil),
		refused:  prometheus.NewDesc("nodegate_memory_refused_total", "Requests, results and uploads refused because of the memory limits: by=account with 429 because the account was over its share, by=process with 503.", []string{"by"}, nil),
	})
}

// Describe is a part of prometheus.Collector.
func (m *memory) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.reserved, m.highest, m.limit, m.accounts, m.refused} {
		out <- d
	}
}

// Collect is a part of prometheus.Collector.
func (m *memory) Collect(out chan<- prometheus.Metric) {
	f := m.figures()
	gauge := func(d *prometheus.Desc, value float64) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value)
	}
	gauge(m.reserved, float64(f.Reserved))
	gauge(m.highest, float64(f.Highest))
	gauge(m.limit, float64(f.Limit))
	gauge(m.accounts, float64(f.Accounts))
	out <- prometheus.MustNewConstMetric(m.refused, prometheus.CounterValue, float64(f.OverShare), "account")
	out <- prometheus.MustNewConstMetric(m.refused, prometheus.CounterValue, float64(f.OverLimit), "process")
}
