package docs

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/nodegate/nodegate/test/harness"
)

// TestMetricsLint holds names, units, types and help texts to the conventions of Prometheus.
func TestMetricsLint(t *testing.T) {
	for _, text := range harness.MetricTexts(t) {
		problems, err := promlint.New(strings.NewReader(text)).Lint()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems {
			if strings.HasPrefix(p.Metric, "nodegate_") {
				t.Errorf("%s: %s", p.Metric, p.Text)
			}
		}
	}
}
