package sqlstore

import "time"

// Observe is called with each operation: whether it writes, how long it took, and its error.
type Observe func(write bool, took time.Duration, err error)

// Observed has the store report its operations. It returns the store; nothing may be using
// it yet.
func (s *Store) Observed(observe Observe) *Store {
	s.observe = observe
	return s
}

func unobserved(bool, time.Duration, error) {}

// done reports an operation that began at a time, with the error that it returns.
func (c *conn) done(write bool, begin time.Time, err *error) {
	c.observe(write, time.Since(begin), *err)
}
