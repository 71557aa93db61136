package obs

import (
	"slices"
	"testing"
)

// TestSteps: no step is wider than twice its lower bound, and the bounds of version 0.1.0 are
// still there.
func TestSteps(t *testing.T) {
	for _, c := range []struct {
		name       string
		now, first []float64
	}{
		{"calls", callSteps(), []float64{25e-6, 100e-6, 400e-6, 1.6e-3, 6.4e-3, 25.6e-3, .1, .4, 1.6, 6.4}},
		{"nodes", remoteSteps(), []float64{100e-6, 400e-6, 1.6e-3, 6.4e-3, 25.6e-3, .1, .4, 1.6, 6.4}},
		{"storage", transferSteps(), []float64{.5e-3, 2e-3, 8e-3, 32e-3, .125, .5, 2, 8, 32, 128, 512}},
	} {
		for i := 1; i < len(c.now); i++ {
			if ratio := c.now[i] / c.now[i-1]; ratio <= 1 || ratio > 2.000001 {
				t.Errorf("%s: the step from %g to %g", c.name, c.now[i-1], c.now[i])
			}
		}
		for _, bound := range c.first {
			if !slices.Contains(c.now, bound) {
				t.Errorf("%s: %g is gone", c.name, bound)
			}
		}
	}
}
