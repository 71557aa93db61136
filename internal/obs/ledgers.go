package obs

import "github.com/prometheus/client_golang/prometheus"

// LedgerFigures are what the metrics show of a network's ledger.
type LedgerFigures struct {
	First, Last, Blocks, Lag  uint64
	Data, Index               int64 // bytes
	Reorgs, Refused, Repaired uint64
	Answered, Passed          uint64 // lookups
	Fetched, Taken            uint64 // blocks of nodes, and of other servers
	Damaged                   int
	Missing                   uint64 // blocks that a backfill is still to fetch
}

// ledgers shows what the networks' ledgers hold.
type ledgers struct {
	each                               func(show func(network string, f *LedgerFigures))
	first, last, blocks, lag, bytes    *prometheus.Desc
	reorgs, refused, repaired, damaged *prometheus.Desc
	lookups, missing, fetched          *prometheus.Desc
}

// Ledgers adds the figures of the networks' ledgers, as each hands them out.
func (m *Metrics) Ledgers(each func(show func(network string, f *LedgerFigures))) {
	desc := func(name, help string, more ...string) *prometheus.Desc {
		return prometheus.NewDesc("nodegate_ledger_"+name, help, append([]string{"network"}, more...), nil)
	}
	m.registry.MustRegister(&ledgers{
		each:     each,
		first:    desc("first_block", "Oldest block of the ledger's chain."),
		last:     desc("last_block", "Newest block of the ledger's chain."),
		blocks:   desc("blocks", "Blocks of the ledger's chain."),
		lag:      desc("lag_blocks", "Blocks that the ledger is behind the network."),
		bytes:    desc("bytes", "Disk space of the ledger: data, and the index that finds it.", "kind"),
		reorgs:   desc("reorgs_total", "Reorgs that the ledger followed."),
		refused:  desc("refused_blocks_total", "Blocks of nodes that could not be proven, each attempt."),
		repaired: desc("repaired_blocks_total", "Damaged blocks that were fetched again."),
		damaged:  desc("damaged_blocks", "Damaged blocks that still have to be fetched again."),
		missing:  desc("backfill_blocks", "Blocks that the backfill still has to fetch."),
		fetched:  desc("fetched_blocks_total", "Blocks that were fetched and proven, from a node, or from another server through Redis.", "from"),
		lookups:  desc("lookups_total", "Lookups and log queries that the ledger understood, by whether it answered them or passed them on to nodes.", "outcome"),
	})
}

// Describe is a part of prometheus.Collector.
func (l *ledgers) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{l.first, l.last, l.blocks, l.lag, l.bytes, l.reorgs, l.refused, l.repaired, l.damaged, l.lookups, l.missing, l.fetched} {
		out <- d
	}
}

// Collect is a part of prometheus.Collector.
func (l *ledgers) Collect(out chan<- prometheus.Metric) {
	l.each(func(network string, f *LedgerFigures) {
		gauge := func(d *prometheus.Desc, value float64, labels ...string) {
			out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, append([]string{network}, labels...)...)
		}
		count := func(d *prometheus.Desc, value uint64, labels ...string) {
			out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(value), append([]string{network}, labels...)...)
		}
		gauge(l.first, float64(f.First))
		gauge(l.last, float64(f.Last))
		gauge(l.blocks, float64(f.Blocks))
		gauge(l.lag, float64(f.Lag))
		gauge(l.bytes, float64(f.Data), "data")
		gauge(l.bytes, float64(f.Index), "index")
		gauge(l.damaged, float64(f.Damaged))
		gauge(l.missing, float64(f.Missing))
		count(l.reorgs, f.Reorgs)
		count(l.refused, f.Refused)
		count(l.repaired, f.Repaired)
		count(l.fetched, f.Fetched, "node")
		count(l.fetched, f.Taken, "server")
		count(l.lookups, f.Answered, "answered")
		count(l.lookups, f.Passed, "passed")
	})
}
