package obs

// Latencies are measured in steps of at most 2, so that a percentile that Prometheus reckons
// from them is wrong by half at the most. The bounds of earlier versions are among them: what
// was recorded before can be compared.

// callSteps are the upper bounds for calls, in seconds.
func callSteps() []float64 {
	return []float64{25e-6, 50e-6, 100e-6, 200e-6, 400e-6, 800e-6, 1.6e-3, 3.2e-3, 6.4e-3, 12.8e-3, 25.6e-3, 51.2e-3, .1, .2, .4, .8, 1.6, 3.2, 6.4, 12.8, 25.6}
}

// remoteSteps are those for what goes over a network or to a disk.
func remoteSteps() []float64 { return callSteps()[2:] }

// transferSteps are those for requests that move files.
func transferSteps() []float64 {
	return []float64{.5e-3, 1e-3, 2e-3, 4e-3, 8e-3, 16e-3, 32e-3, .0625, .125, .25, .5, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512}
}
