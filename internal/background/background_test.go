package background

import (
	"runtime"
	"strings"
	"sync"
	"testing"
)

func TestRunWaitsForTheWork(t *testing.T) {
	done := false
	Run(func() { done = true })
	if !done {
		t.Error("the work is not done")
	}
}

// TestPanicGoesOnInTheCaller: who called recovers, as if it had worked itself.
func TestPanicGoesOnInTheCaller(t *testing.T) {
	defer func() {
		err, ok := recover().(error)
		if !ok || !strings.Contains(err.Error(), "of the work") || !strings.Contains(err.Error(), "background_test.go") {
			t.Errorf("recovered %v", err)
		}
	}()
	Run(func() { panic("of the work") })
	t.Error("no panic")
}

// TestMakeRoom: there is room for one thread more, and the cores stay what they are.
func TestMakeRoom(t *testing.T) {
	n := Cores()
	if n == 1 {
		t.Skip("there is one core, and no background")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	MakeRoom()
	if got := runtime.GOMAXPROCS(0); got != n+1 || Cores() != n {
		t.Errorf("%d threads of %d cores, %d before", got, Cores(), n)
	}
}

// TestTurns: work waits for other work to end, but not for long, and then runs beside it.
// TryRun doesn't wait.
func TestTurns(t *testing.T) {
	n := max(1, Cores()-1)
	end, begun := make(chan struct{}), make(chan struct{}, n)
	var all sync.WaitGroup
	for range n {
		all.Go(func() { Run(func() { begun <- struct{}{}; <-end }) })
	}
	for range n {
		<-begun
	}
	if TryRun(func() {}) {
		t.Error("there is a turn for more than leave a core free")
	}
	ran := false
	Run(func() { ran = true })
	close(end)
	all.Wait()
	if !ran || !TryRun(func() {}) {
		t.Errorf("ran beside the others: %v; turns in use at the end: %d", ran, len(turns()))
	}
}
