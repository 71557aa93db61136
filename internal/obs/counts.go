package obs

import (
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/nodegate/nodegate"
)

// faults are the outcomes that are not the client's doing.
var faults = map[string]bool{
	nodegate.Internal.String(): true, nodegate.Timeout.String(): true, nodegate.NoNode.String(): true, nodegate.Busy.String(): true,
	nodegate.NodeFault.String(): true, nodegate.Unverified.String(): true,
}

// Calls counts the calls since the start, and those that failed for a reason that is not the
// client's.
func Calls(m *Metrics) (all, failed float64) {
	series := make(chan prometheus.Metric)
	go func() {
		m.requests.Collect(series)
		close(series)
	}()
	for s := range series {
		var value dto.Metric
		if s.Write(&value) != nil {
			continue
		}
		all += value.GetCounter().GetValue()
		for _, l := range value.GetLabel() {
			if l.GetName() == "outcome" && faults[l.GetValue()] {
				failed += value.GetCounter().GetValue()
			}
		}
	}
	return all, failed
}
