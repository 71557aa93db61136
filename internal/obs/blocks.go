package obs

import "github.com/prometheus/client_golang/prometheus"

// BlockFigures say how the embedded block store is.
type BlockFigures struct {
	DiskBytes, LiveBytes int64
	Damaged              int
	ReadOnly             bool
}

// FollowBlocks shows the figures of a block store. They are asked for once for each
// reading of the metrics; a store that has none to tell leaves them out.
func (m *Metrics) FollowBlocks(figures func() (BlockFigures, bool)) {
	gauge := func(name, help string) *prometheus.Desc { return prometheus.NewDesc(name, help, nil, nil) }
	m.registry.MustRegister(&blockGauges{
		figures:  figures,
		disk:     gauge("nodegate_blocks_disk_bytes", "Bytes of the block store's segments on disk."),
		live:     gauge("nodegate_blocks_live_bytes", "Bytes of the segments that are in use; garbage collection frees the rest."),
		damaged:  gauge("nodegate_blocks_damaged", "Stored blocks that can't be used until their content is added again."),
		readOnly: gauge("nodegate_blocks_read_only", "1 when the store only reads after a failed sync, until a restart."),
	})
}

// blockGauges is a prometheus.Collector.
type blockGauges struct {
	figures                       func() (BlockFigures, bool)
	disk, live, damaged, readOnly *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (g *blockGauges) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{g.disk, g.live, g.damaged, g.readOnly} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (g *blockGauges) Collect(to chan<- prometheus.Metric) {
	f, ok := g.figures()
	if !ok {
		return
	}
	readOnly := 0.0
	if f.ReadOnly {
		readOnly = 1
	}
	for d, value := range map[*prometheus.Desc]float64{g.disk: float64(f.DiskBytes), g.live: float64(f.LiveBytes), g.damaged: float64(f.Damaged), g.readOnly: readOnly} {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value)
	}
}
