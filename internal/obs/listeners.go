package obs

// Listening begins the counters of a listener at zero, so that they are there before
// something goes wrong.
func (m *Metrics) Listening(listener string) {
	m.accepts.WithLabelValues(listener)
	m.conns.WithLabelValues(listener, "address")
	m.conns.WithLabelValues(listener, "total")
}

// AcceptFailed counts an accept that failed and is tried again.
func (m *Metrics) AcceptFailed(listener string) { m.accepts.WithLabelValues(listener).Inc() }

// ConnRefused counts a connection that was closed at once: its address has too many
// open ("address"), or all clients together ("total").
func (m *Metrics) ConnRefused(listener, over string) { m.conns.WithLabelValues(listener, over).Inc() }
