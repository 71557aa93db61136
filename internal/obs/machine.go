package obs

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Queue shows how many requests are in a queue: those that have a slot, and those that wait
// for one.
func (m *Metrics) Queue(name string, running, waiting func() int) {
	label := prometheus.Labels{"queue": name}
	m.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "nodegate_queue_running", Help: "Running tasks, by queue.", ConstLabels: label,
		}, func() float64 { return float64(running()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "nodegate_queue_waiting", Help: "Waiting tasks, by queue.", ConstLabels: label,
		}, func() float64 { return float64(waiting()) }))
}

// Disk shows the space on the disk of the data folder. A disk that can't be asked has no
// figure.
func (m *Metrics) Disk(reserve int64, free func() (int64, error)) {
	m.registry.MustRegister(&diskSpace{
		free:  free,
		space: prometheus.NewDesc("nodegate_disk_free_bytes", "Free space on the disk of the data folder.", nil, nil),
	}, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "nodegate_disk_reserve_bytes", Help: "Free space below which nothing is written (storage.reserve).",
	}, func() float64 { return float64(reserve) }))
}

// diskSpace is a prometheus.Collector.
type diskSpace struct {
	free  func() (int64, error)
	space *prometheus.Desc
}

// Describe is a part of prometheus.Collector.
func (d *diskSpace) Describe(out chan<- *prometheus.Desc) { out <- d.space }

// Collect is a part of prometheus.Collector.
func (d *diskSpace) Collect(out chan<- prometheus.Metric) {
	if free, err := d.free(); err == nil {
		out <- prometheus.MustNewConstMetric(d.space, prometheus.GaugeValue, float64(free))
	}
}

// Certificate shows when the certificate of a listener ends.
func (m *Metrics) Certificate(listener string, ends time.Time) {
	shared(m.registry, prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "nodegate_certificate_expiry_timestamp_seconds", Help: "When the configured certificate of a listener expires, as Unix time. Certificates of the local authority renew themselves and are not shown.",
	}, []string{"listener"})).WithLabelValues(listener).Set(float64(ends.Unix()))
}

// Reloads are the metrics of configuration reloads.
type Reloads struct {
	count *prometheus.CounterVec
	ok    prometheus.Gauge
	last  prometheus.Gauge
	took  prometheus.Gauge
}

// Reloads registers the metrics of reloads. The start counts as the first success, so that an
// alert on failed ones begins with a good value.
func (m *Metrics) Reloads(started time.Time) *Reloads {
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	r := &Reloads{
		count: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "nodegate_config_reloads_total", Help: "Configuration reloads by outcome: ok or refused.",
		}, []string{"outcome"}),
		ok:   gauge("nodegate_config_last_reload_successful", "1 if the last reload succeeded, 0 if it was refused and the previous configuration stays in effect."),
		last: gauge("nodegate_config_last_reload_success_timestamp_seconds", "When a configuration last took effect, as Unix time; the start counts."),
		took: gauge("nodegate_config_last_reload_duration_seconds", "How long the last reload took, including the wait for nodes of new networks; 0 before the first."),
	}
	r.count.WithLabelValues("ok")
	r.count.WithLabelValues("refused")
	r.ok.Set(1)
	r.last.Set(float64(started.Unix()))
	m.registry.MustRegister(r.count, r.ok, r.last, r.took)
	return r
}

// Done counts a reload.
func (r *Reloads) Done(err error, took time.Duration) {
	r.took.Set(took.Seconds())
	if err != nil {
		r.count.WithLabelValues("refused").Inc()
		r.ok.Set(0)
		return
	}
	r.count.WithLabelValues("ok").Inc()
	r.ok.Set(1)
	r.last.SetToCurrentTime()
}
