package obs

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/nodegate/nodegate"
)

// Storage are the counters of the storage gateway.
type Storage struct {
	requests *prometheus.CounterVec
	latency  *prometheus.HistogramVec
	in, out  prometheus.Counter
	uploads  prometheus.Gauge
}

// Storage registers the counters of the storage gateway. Commands beyond those
// named are counted together as "other".
func (m *Metrics) Storage(commands []string) *Storage {
	bytes := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "nodegate_storage_bytes_total", Help: "Bytes of bodies that the storage gateway read and wrote.",
	}, []string{"direction"})
	s := &Storage{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "nodegate_storage_requests_total", Help: "Requests to the storage gateway by command and outcome, refused ones too.",
		}, []string{"command", "outcome"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "nodegate_storage_duration_seconds", Help: "Latency of a request from its headers to the end of its response, including the transfer of both bodies.",
			Buckets: transferSteps(),
		}, []string{"command"}),
		in: bytes.WithLabelValues("in"), out: bytes.WithLabelValues("out"),
		uploads: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "nodegate_storage_uploads", Help: "Uploads in progress.",
		}),
	}
	for _, name := range append(commands, Other) {
		s.requests.WithLabelValues(name, "ok")
		s.latency.WithLabelValues(name)
	}
	m.registry.MustRegister(s.requests, s.latency, bytes, s.uploads)
	return s
}

// Done counts one request, with its trace if it has one.
func (s *Storage) Done(command string, err error, took time.Duration, in, out int64, traceID string) {
	outcome := "ok"
	if err != nil {
		outcome = nodegate.AsError(err).Code.String()
	}
	s.requests.WithLabelValues(command, outcome).Inc()
	observe(s.latency.WithLabelValues(command), took, traceID)
	s.in.Add(float64(in))
	s.out.Add(float64(out))
}

// UploadBegun and UploadEnded follow the number of uploads.
func (s *Storage) UploadBegun() { s.uploads.Inc() }

// UploadEnded is UploadBegun's counterpart.
func (s *Storage) UploadEnded() { s.uploads.Dec() }
