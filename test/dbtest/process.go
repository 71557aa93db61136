package dbtest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// requireVariable turns missing programs from a skip into a failure.
const requireVariable = "NODEGATE_REQUIRE_DATABASES"

const (
	maxFolder   = 60 // bytes; a socket's whole path must stay below 100
	startWithin = 30 * time.Second
	pollEvery   = 10 * time.Millisecond
)

// errMissing is what a machine lacks to run a database.
type errMissing string

func (e errMissing) Error() string { return string(e) }

// skip ends a test whose database is not there. One that is there and doesn't start is a
// failure.
func skip(t testing.TB, err error) {
	t.Helper()
	var missing errMissing
	if os.Getenv(requireVariable) == "1" || !errors.As(err, &missing) {
		t.Fatal(err)
	}
	t.Skip(err)
}

// find looks for a program in PATH and in Debian's folders for Postgres.
func find(program, debianPackage string) (string, error) {
	if path, err := exec.LookPath(program); err == nil {
		return path, nil
	}
	paths, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + program)
	if len(paths) == 0 {
		return "", errMissing(fmt.Sprintf("%s is not installed: apt-get install %s", program, debianPackage))
	}
	return slices.MaxFunc(paths, func(a, b string) int { return version(a) - version(b) }), nil
}

// version is the number in /usr/lib/postgresql/15/bin/postgres.
func version(path string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
	return n
}

// folder makes a temporary folder with a short path, owned by who runs the server.
func folder(owner *syscall.Credential) (string, error) {
	parent := os.TempDir()
	if len(parent) > maxFolder {
		parent = "/tmp"
	}
	dir, err := os.MkdirTemp(parent, "ngdb")
	if err == nil && owner != nil {
		err = os.Chown(dir, int(owner.Uid), int(owner.Gid))
	}
	return dir, err
}

// unprivileged is who runs Postgres, which refuses root: nil for ourselves.
func unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return nil, err
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errMissing("no user postgres or nobody to run Postgres as: it refuses root")
}

// process is a running server.
type process struct {
	pid    int
	exited chan struct{} // closed when it has ended
}

// start runs a program that ends with us: the kernel signals it when the thread
// that started it ends, so that thread waits for it and does nothing else.
func start(cmd *exec.Cmd, as *syscall.Credential, farewell syscall.Signal) (*process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as, Pdeathsig: farewell}
	p := &process{exited: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is told by whether it answers
			close(p.exited)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	p.pid = cmd.Process.Pid
	return p, nil
}

// stop signals the process and waits for its end, by force after a while.
func (p *process) stop(farewell syscall.Signal) {
	_ = syscall.Kill(p.pid, farewell)
	select {
	case <-p.exited:
	case <-time.After(startWithin):
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
		<-p.exited
	}
}

// ended tells whether it is gone.
func (p *process) ended() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// sweep removes a folder once this process is gone, however it ends: a shell waits
// for the end of a pipe that only we hold. The returned end must be kept, or the
// garbage collector closes it. wait is a process to let go first.
func sweep(dir string, wait int) (io.Closer, error) {
	cmd := exec.Command("/bin/sh", "-c", `cat; n=0; while kill -0 "$1" 2>/dev/null && [ $n -lt 50 ]; do sleep 0.1; n=$((n+1)); done; rm -rf "$2"`,
		"sweep", strconv.Itoa(wait), dir)
	end, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// Ctrl-C at the terminal must not end it before us.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return end, cmd.Start()
}

// children lists the processes that a process started.
func children(parent int) []int {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	var list []int
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it ended meanwhile
		}
		// pid (name) state parent ...: the name may hold anything.
		rest := text[strings.LastIndexByte(string(text), ')')+1:]
		fields := strings.Fields(string(rest))
		if len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			list = append(list, pid)
		}
	}
	return list
}
