package background

import (
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What a thread in the background gets.
const (
	// niceness leaves it about a quarter of a core that another one wants too.
	niceness = 5
	// slice is how long it asks to run at a stretch. The kernel (6.12 and later) lets a
	// thread that wakes up and asks for less have the core at once; among equals it would
	// wait for some milliseconds. Older kernels ignore it.
	//
	// The kernel also lets it wait in proportion where other programs keep all cores busy,
	// and with it everybody who waits for the garbage collector, which waits for all
	// threads: with 100 ms and a niceness of 10 that took 0.6 s.
	slice = 10 * time.Millisecond
)

// lower gives the goroutine a thread for itself, of low priority. Only a privileged process
// may raise it again, so the thread ends with the goroutine.
func lower() {
	runtime.LockOSThread()
	attr := unix.SchedAttr{Nice: niceness, Runtime: uint64(slice)}
	if unix.SchedSetAttr(0, &attr, 0) != nil { // filtered in some containers
		_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), niceness)
	}
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // nanosecond, for rest
}

// nap is how long a rest is. A shorter one is over before the kernel has let go of the
// core: of 1 ns to 2 us no sleep is left at all, and whoever waits goes on waiting.
const nap = 10 * time.Microsecond

// rest sleeps for a moment. It doesn't tell Go's scheduler, to which that is no longer than
// a system call that does some work.
func rest() {
	short := unix.Timespec{Nsec: int64(nap)}
	_, _, _ = unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&short)), 0, 0)
}
