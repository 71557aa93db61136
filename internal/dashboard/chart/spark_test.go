package chart_test

import (
	"encoding/xml"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/nodegate/nodegate/internal/dashboard/chart"
)

// A sparkline has one point for each value, from the lowest to the top.
func TestSpark(t *testing.T) {
	got := string(chart.Spark([]float64{0, 5, 10}, 0, "bad"))
	for _, want := range []string{`class="chart-spark bad"`, `d="M0 24L50 13L100 2"`, `d="M0 24L50 13L100 2V24H0Z"`, `aria-hidden="true"`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s lacks %s", got, want)
		}
	}
	for name, values := range map[string][]float64{"none": nil, "one": {1}, "flat at the least": {0, 0, 0}, "no numbers": {math.NaN(), math.NaN()}} {
		if got := chart.Spark(values, 0, ""); got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// Whatever the values and the class are, what is drawn is well-formed and has no other text
// in it.
func FuzzSpark(f *testing.F) {
	f.Add(1.0, 2.0, 0.0, "bad")
	f.Add(math.Inf(1), math.NaN(), -1.0, `"><script>`)
	f.Fuzz(func(t *testing.T, a, b, least float64, class string) {
		got := string(chart.Spark([]float64{a, b, a}, least, class))
		if strings.Contains(got, "NaN") || strings.Contains(got, "Inf") || strings.Contains(got, "script>") {
			t.Errorf("%s", got)
		}
		for d := xml.NewDecoder(strings.NewReader(got)); ; {
			if _, err := d.Token(); err == io.EOF {
				return
			} else if err != nil {
				t.Fatalf("%v in %s", err, got)
			}
		}
	})
}
