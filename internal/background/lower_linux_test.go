package background

import (
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// TestRunLowersItsThreadOnly: the work has its own thread, and no other gets its priority.
func TestRunLowersItsThreadOnly(t *testing.T) {
	if Cores() == 1 {
		t.Skip("there is one core: work keeps its priority")
	}
	nice := func() int32 {
		attr, err := unix.SchedGetAttr(0, 0)
		if err != nil {
			t.Fatal(err)
		}
		return attr.Nice
	}
	before := nice()
	var inside int32
	for range 100 {
		Run(func() { inside = nice() })
		if inside != niceness {
			t.Fatalf("the work runs with niceness %d", inside)
		}
		after := make(chan int32)
		go func() { after <- nice() }()
		if n := <-after; n != before {
			t.Fatalf("another goroutine runs with niceness %d", n)
		}
	}
}

// TestThreadsAreBounded: beyond the bound work keeps its priority, and threads come back.
// Run lowers its thread all the same.
func TestThreadsAreBounded(t *testing.T) {
	if Cores() == 1 {
		t.Skip("there is one core: work keeps its priority")
	}
	lowered, end := make(chan bool), make(chan struct{})
	var all sync.WaitGroup
	for range 2 * mostThreads {
		all.Go(func() {
			Apart(func(own *Thread) {
				own.Lower()
				own.Lower() // once is enough
				lowered <- own.lowered
				<-end
			})
		})
	}
	count := 0
	for range 2 * mostThreads {
		if <-lowered {
			count++
		}
	}
	Run(func() {
		if attr, err := unix.SchedGetAttr(0, 0); err != nil || attr.Nice != niceness {
			t.Errorf("beside them Run has %+v, %v", attr, err)
		}
	})
	close(end)
	all.Wait()
	if count != mostThreads || threads.Load() != 0 {
		t.Errorf("%d threads were lowered, %d are left", count, threads.Load())
	}
}

// TestRestLetsGo: a rest gives the core away, which is what it is for. The kernel counts that.
func TestRestLetsGo(t *testing.T) {
	if Cores() == 1 {
		t.Skip("there is one core: work keeps its priority")
	}
	const rests = 200
	var before, after unix.Rusage
	Run(func() {
		_ = unix.Getrusage(unix.RUSAGE_THREAD, &before)
		for range rests {
			rest()
		}
		_ = unix.Getrusage(unix.RUSAGE_THREAD, &after)
	})
	if n := after.Nvcsw - before.Nvcsw; n < rests/2 {
		t.Errorf("%d rests gave the core away %d times", rests, n)
	}
}
