package dbtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Server is a Postgres server of its own for one test.
type Server struct {
	t       testing.TB
	cluster *cluster
	// DSN is the address of an empty database on it.
	DSN string
}

// cluster is a Postgres server with its folder.
type cluster struct {
	dir     string
	program string
	as      *syscall.Credential
	args    []string // beside the usual ones
	port    string   // "" is the usual one
	process *process
	made    atomic.Int64 // databases
	sweeper io.Closer    // removes the folder after us
}

// shared is the server that all tests of the process use. It is started by the
// first and ends with the process.
var shared = sync.OnceValues(func() (*cluster, error) {
	c, err := newCluster()
	if err != nil {
		return nil, err
	}
	c.sweeper, err = sweep(c.dir, c.process.pid)
	return c, err
})

// Postgres returns the address of a fresh, empty database, which is dropped after
// the test.
func Postgres(t testing.TB) (dsn string) {
	t.Helper()
	c, err := shared()
	if err != nil {
		skip(t, err)
	}
	name, dsn, err := c.createDatabase()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.admin("DROP DATABASE " + name + " WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	return dsn
}

// PostgresServer starts a server for a test that breaks it.
func PostgresServer(t testing.TB) *Server {
	t.Helper()
	c, err := newCluster()
	if err != nil {
		skip(t, err)
	}
	s := &Server{t: t, cluster: c}
	t.Cleanup(func() {
		s.signal(syscall.SIGCONT)
		c.process.stop(syscall.SIGQUIT)
		if err := os.RemoveAll(c.dir); err != nil {
			t.Error(err)
		}
	})
	if _, s.DSN, err = c.createDatabase(); err != nil {
		t.Fatal(err)
	}
	return s
}

// RunPostgres starts a server for a program that is no test, such as a benchmark. The address is
// that of an empty database; stop ends the server and removes its folder.
func RunPostgres() (dsn string, stop func(), err error) {
	c, err := newCluster()
	if err != nil {
		return "", nil, err
	}
	stop = func() {
		c.process.stop(syscall.SIGQUIT)
		_ = os.RemoveAll(c.dir)
	}
	if _, dsn, err = c.createDatabase(); err != nil {
		stop()
		return "", nil, err
	}
	return dsn, stop, nil
}

// Pause stops all processes of the server where they are: connections stay open
// and nothing answers.
func (s *Server) Pause() { s.signal(syscall.SIGSTOP) }

// Resume lets them go on.
func (s *Server) Resume() { s.signal(syscall.SIGCONT) }

// Kill ends all processes as a crash would.
func (s *Server) Kill() {
	parent := s.cluster.process
	if parent.ended() {
		return
	}
	_ = syscall.Kill(parent.pid, syscall.SIGSTOP) // it starts no child that the list would miss
	list := children(parent.pid)
	for _, pid := range append(list, parent.pid) {
		_ = syscall.Kill(pid, syscall.SIGKILL) // one that ended meanwhile is as good
	}
	<-parent.exited
	for end := time.Now().Add(startWithin); slices.ContainsFunc(list, alive) && time.Now().Before(end); {
		time.Sleep(pollEvery) // a new server refuses to start beside them
	}
}

// alive tells whether a process still holds memory: it is there and no zombie.
func alive(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(text), ") Z ")
}

// Restart starts the server again after Kill, and waits until it answers.
func (s *Server) Restart() {
	s.t.Helper()
	if err := s.cluster.start(); err != nil {
		s.t.Fatal(err)
	}
}

// signal reaches the server and its children, which are in sessions of their own.
func (s *Server) signal(sig syscall.Signal) {
	parent := s.cluster.process
	if parent.ended() {
		return
	}
	// The list first: children of a killed parent belong to somebody else.
	pids := append([]int{parent.pid}, children(parent.pid)...)
	for _, pid := range pids {
		_ = syscall.Kill(pid, sig) // one that ended meanwhile is as good
	}
}

// newCluster makes the files of a server and starts it.
func newCluster() (*cluster, error) {
	initdb, err := find("initdb", "postgresql")
	if err != nil {
		return nil, err
	}
	program, err := find("postgres", "postgresql")
	if err != nil {
		return nil, err
	}
	as, err := unprivileged()
	if err != nil {
		return nil, err
	}
	dir, err := folder(as)
	if err != nil {
		return nil, err
	}
	c := &cluster{dir: dir, program: program, as: as}
	cmd := exec.Command(initdb, "-D", c.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
	cmd.Dir, cmd.SysProcAttr = dir, &syscall.SysProcAttr{Credential: as, Pdeathsig: syscall.SIGKILL}
	// As in start: the kernel kills it when this thread ends, which somebody else's locked
	// goroutine may take with it.
	runtime.LockOSThread()
	out, err := cmd.CombinedOutput()
	runtime.UnlockOSThread()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("initdb: %w: %s", err, out), os.RemoveAll(dir))
	}
	if err := c.start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return c, nil
}

func (c *cluster) data() string { return filepath.Join(c.dir, "data") }

// start runs the server and waits until it answers.
func (c *cluster) start() error {
	cmd := exec.Command(c.program, "-D", c.data(), "-k", c.dir, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=200",
		"-c", "shared_buffers=32MB", "-c", "log_min_messages=fatal")
	cmd.Args = append(cmd.Args, c.args...)
	cmd.Dir = c.dir
	logs, err := os.Create(filepath.Join(c.dir, "log"))
	if err != nil {
		return err
	}
	defer logs.Close()
	cmd.Stdout, cmd.Stderr = logs, logs
	if c.process, err = start(cmd, c.as, syscall.SIGQUIT); err != nil {
		return err
	}
	for deadline := time.Now().Add(startWithin); ; time.Sleep(pollEvery) {
		err := c.admin("SELECT 1")
		if err == nil {
			return nil
		}
		if c.process.ended() || time.Now().After(deadline) {
			c.process.stop(syscall.SIGKILL)
			text, _ := os.ReadFile(logs.Name())
			return fmt.Errorf("postgres does not start: %w: %s", err, strings.TrimSpace(string(text)))
		}
	}
}

func (c *cluster) dsn(database string) string {
	dsn := fmt.Sprintf("postgres:///%s?host=%s&user=postgres", database, c.dir)
	if c.port != "" {
		dsn += "&port=" + c.port
	}
	return dsn
}

func (c *cluster) createDatabase() (name, dsn string, err error) {
	name = fmt.Sprintf("test_%d", c.made.Add(1))
	return name, c.dsn(name), c.admin("CREATE DATABASE " + name + " TEMPLATE template0")
}

// admin runs a statement as the server's owner.
func (c *cluster) admin(statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), startWithin)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.dsn("postgres"))
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}
