package server

import (
	"crypto/tls"
	"log/slog"
	"time"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/disk"
	"github.com/nodegate/nodegate/internal/tracing"
)

// observe adds the metrics of what belongs to no part of the server alone.
func (s *Server) observe() {
	s.metrics.Build(s.build.Version, s.build.Commit)
	s.metrics.Disk(reserveOf(s.cfg), func() (int64, error) { return disk.Free(s.cfg.Data) })
	s.metrics.Queue("heavy_calls", s.networks.lanes.Running, s.networks.lanes.Waiting)
	s.metrics.Spans(s.tracer.Dropped)
	s.reloads = s.metrics.Reloads(time.Now())
}

// openTracer opens what requests are traced with; nil without a collector.
func openTracer(cfg *config.Config, build Build, log *slog.Logger) (*tracing.Tracer, error) {
	t := cfg.Tracing
	if t.URL == "" {
		return nil, nil
	}
	return tracing.Open(tracing.Config{
		URL: t.URL, Authorization: string(t.Authorization), Sample: t.Sample, ClientTraces: t.ClientTraces, Version: build.Version, Log: log,
	})
}

// CountReload counts that a configuration was read again. Its error says that it was refused,
// by Reload or before.
func (s *Server) CountReload(err error, took time.Duration) { s.reloads.Done(err, took) }

// showCertificate shows when the configured certificate of a listener expires.
func (c *common) showCertificate(listener string, pair *tls.Certificate) {
	if pair.Leaf != nil {
		c.metrics.Certificate(listener, pair.Leaf.NotAfter)
		c.expires.Store(listener, pair.Leaf.NotAfter)
	}
}
