package background

import (
	"sync"
	"time"
)

// patience is how long work waits for its turn. Most work is over by then, and what takes
// seconds must not hold up the rest.
const patience = 20 * time.Millisecond

// turns leave a core without any work of Run, so that a thread that wakes up finds one where
// it need not wait until the kernel takes it from another.
var turns = sync.OnceValue(func() chan struct{} { return make(chan struct{}, max(1, Cores()-1)) })

// takeTurn waits for a turn, but not for long: work goes on without one then.
func takeTurn() (leave func()) {
	if leave, ok := tryTurn(); ok {
		return leave
	}
	over := time.NewTimer(patience)
	defer over.Stop()
	select {
	case turns() <- struct{}{}:
		return leaveTurn
	case <-over.C:
		return func() {}
	}
}

// tryTurn takes a turn that nobody has.
func tryTurn() (leave func(), ok bool) {
	select {
	case turns() <- struct{}{}:
		return leaveTurn, true
	default:
		return nil, false
	}
}

func leaveTurn() { <-turns() }
