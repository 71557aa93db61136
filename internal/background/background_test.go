package background

import (
	"runtime"
	"strings"
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
