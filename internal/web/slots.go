package web

import "sync/atomic"

// Slots bound the connections of several listeners together, so that sockets don't
// take the file descriptors that databases need. The nil Slots bound nothing.
type Slots struct {
	limit int64
	used  atomic.Int64
}

// What is kept of the process's descriptors beside those in use: a part, and some at
// least. The admin listener, which is not bounded here, lives on them too.
const (
	keptPart = 8
	keptMin  = 96
	minConns = 16
)

// NewSlots bounds connections by the descriptors that the process may open and those
// that its files take already. Zero descriptors are a system that doesn't say: nothing is
// bounded.
func NewSlots(descriptors, used uint64) *Slots {
	if descriptors == 0 || descriptors > 1<<40 {
		return nil
	}
	n := int64(descriptors)
	return FixedSlots(n - int64(used) - n/keptPart - keptMin)
}

// FixedSlots bounds connections by a number.
func FixedSlots(n int64) *Slots { return &Slots{limit: max(minConns, n)} }

// Limit is how many connections may be open; 0 is no bound.
func (s *Slots) Limit() int64 {
	if s == nil {
		return 0
	}
	return s.limit
}

// share is the most that one client may have of them, so that others can connect.
func (s *Slots) share() int { return int(max(1, s.limit/2)) }

func (s *Slots) take() bool {
	if s == nil {
		return true
	}
	if s.used.Add(1) <= s.limit {
		return true
	}
	s.used.Add(-1)
	return false
}

func (s *Slots) free() {
	if s != nil {
		s.used.Add(-1)
	}
}
