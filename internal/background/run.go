package background

import (
	"fmt"
	"runtime/debug"
	"time"
)

// job is work that another goroutine does.
type job struct {
	work   func()
	done   chan struct{}
	failed error
}

func newJob(work func()) *job { return &job{work: work, done: make(chan struct{})} }

func (j *job) do() {
	defer close(j.done)
	defer func() {
		if p := recover(); p != nil {
			j.failed = fmt.Errorf("%v\n%s", p, debug.Stack())
		}
	}()
	j.work()
}

// wait returns when the job is done. A panic of its work goes on here.
func (j *job) wait() {
	<-j.done
	if j.failed != nil {
		panic(j.failed)
	}
}

// Run does work on a thread of low priority and waits for it. While other work of that kind
// runs it waits a little for its turn. A panic of the work goes on in the caller.
func Run(work func()) {
	leave := takeTurn()
	defer leave()
	runLow(work)
}

// Large is how many bytes take longer to read than most calls take as a whole.
const Large = 128 << 10

// RunLarge does work on so many bytes: on a few in the caller's goroutine, on many like Run.
func RunLarge(size int, work func()) {
	if size < Large {
		work()
		return
	}
	Run(work)
}

// TryRun is Run, unless there is no turn for it. It reports whether the work was done.
func TryRun(work func()) bool {
	leave, ok := tryTurn()
	if !ok {
		return false
	}
	defer leave()
	runLow(work)
	return true
}

func runLow(work func()) {
	j := newJob(work)
	go func() {
		if Cores() > 1 {
			lower()
		}
		j.do()
	}()
	j.wait()
}

// keepFor is how long a thread of low priority waits for more work. To start and to end one
// costs more than a short piece of work does.
const keepFor = 2 * time.Second

// idle hands work to a thread that waits for it.
var idle = make(chan *job)

// Low is Apart on a thread that has low priority from the start, while there are not too
// many. It is for work that is short and comes often.
func Low(work func(*Thread)) {
	if Cores() == 1 {
		Apart(work)
		return
	}
	defer threads.Add(-1)
	if threads.Add(1) > mostThreads {
		Apart(work)
		return
	}
	j := newJob(func() { work(&Thread{lowered: true}) })
	select {
	case idle <- j:
	default:
		go serve(j)
	}
	j.wait()
}

// serve does one job after the other at low priority, until none comes for a while. The
// thread ends with it.
func serve(j *job) {
	lower()
	for end := time.NewTimer(keepFor); ; {
		j.do()
		end.Reset(keepFor)
		select {
		case j = <-idle:
		case <-end.C:
			return
		}
	}
}
