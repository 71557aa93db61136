package obs

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// NodeStat is what is counted of a storage node.
type NodeStat struct {
	Up       bool
	Requests int64
	Failures int64
	Wrong    int64 // blocks that were not what was asked for
}

// FollowNodes adds the counters of storage nodes that others keep. Nodes are named
// by their number: addresses may say too much.
func (m *Metrics) FollowNodes(count int, stat func(i int) NodeStat) {
	for i := range count {
		label := prometheus.Labels{"node": strconv.Itoa(i + 1)}
		counter := func(name, help string, value func(NodeStat) int64) prometheus.Collector {
			return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: label}, func() float64 { return float64(value(stat(i))) })
		}
		m.registry.MustRegister(
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: "nodegate_storage_node_up", Help: "1 while a storage node is in use.", ConstLabels: label,
			}, func() float64 {
				if stat(i).Up {
					return 1
				}
				return 0
			}),
			counter("nodegate_storage_node_requests_total", "Requests to a storage node.", func(s NodeStat) int64 { return s.Requests }),
			counter("nodegate_storage_node_failures_total", "Failed requests to a storage node.", func(s NodeStat) int64 { return s.Failures }),
			counter("nodegate_storage_node_wrong_blocks_total", "Blocks with wrong bytes that a storage node sent, which were not used.", func(s NodeStat) int64 { return s.Wrong }),
		)
	}
}

// RepairStat is what is counted of the repair of copies on storage nodes.
type RepairStat struct {
	Copied  int64
	Failed  int64
	Missing int64
}

// FollowRepair adds the counters of the repair.
func (m *Metrics) FollowRepair(stat func() RepairStat) {
	m.registry.MustRegister(
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "nodegate_storage_repair_copies_total", Help: "Copies that the repair made on storage nodes that lacked content.",
		}, func() float64 { return float64(stat().Copied) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "nodegate_storage_repair_failures_total", Help: "CIDs that the repair could not copy; the next pass tries again.",
		}, func() float64 { return float64(stat().Failed) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "nodegate_storage_missing_content", Help: "Pinned CIDs that no storage node had whole in the last pass of the repair; 0 on servers that did not run it.",
		}, func() float64 { return float64(stat().Missing) }),
	)
}
