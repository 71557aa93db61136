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

// isFault tells whether calls failed for a reason that is not the client's. An embedded network
// executes what a call asks for until its time is over, so who asks for an endless loop gets a
// timeout: if that counted, any client could make the service look broken. A remote node that
// doesn't answer in time may be to blame itself.
func isFault(network, outcome string, embedded func(string) bool) bool {
	return faults[outcome] && (outcome != nodegate.Timeout.String() || !embedded(network))
}

// Calls counts the calls since the start, and those that failed for a reason that is not the
// client's. embedded tells whether a network is executed by this process.
func Calls(m *Metrics, embedded func(network string) bool) (all, failed float64) {
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
		if labels := labelsOf(&value); isFault(labels["network"], labels["outcome"], embedded) {
			failed += value.GetCounter().GetValue()
		}
	}
	return all, failed
}

func labelsOf(m *dto.Metric) map[string]string {
	labels := map[string]string{}
	for _, l := range m.GetLabel() {
		labels[l.GetName()] = l.GetValue()
	}
	return labels
}
