package dbtest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// RedisServer is a Redis server of its own for one test. It keeps nothing on disk.
type RedisServer struct {
	// Addr is its host and port, the same after a Restart.
	Addr string

	t       testing.TB
	program string
	dir     string
	args    []string // beside the usual ones
	watch   string   // what a Sentinel watches, as lines of its file; "" for a Redis
	process *process
}

// Redis starts a server for a test, with more arguments if it needs any.
func Redis(t testing.TB, args ...string) *RedisServer {
	t.Helper()
	return launch(t, &RedisServer{t: t, args: args})
}

// launch starts a server of either kind.
func launch(t testing.TB, s *RedisServer) *RedisServer {
	t.Helper()
	var err error
	if s.program, err = find("redis-server", "redis-server"); err != nil {
		skip(t, err)
	}
	if s.dir, err = folder(nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Resume()
		s.Stop()
		if err := os.RemoveAll(s.dir); err != nil {
			t.Error(err)
		}
	})
	// Somebody else may take the port between the look and the start.
	const attempts = 5
	for range attempts {
		if s.Addr, err = freeAddress(); err == nil {
			err = s.start()
		}
		if err == nil {
			return s
		}
	}
	t.Fatal(err)
	return nil
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// Pause stops the process where it is: connections stay open and nothing answers.
func (s *RedisServer) Pause() { _ = syscall.Kill(s.process.pid, syscall.SIGSTOP) }

// Resume lets it go on.
func (s *RedisServer) Resume() {
	if s.process != nil && !s.process.ended() {
		_ = syscall.Kill(s.process.pid, syscall.SIGCONT)
	}
}

// Stop ends the server, and with it all that it knew.
func (s *RedisServer) Stop() {
	if s.process != nil && !s.process.ended() {
		s.process.stop(syscall.SIGKILL)
	}
}

// Restart starts an empty server at the same address after Stop.
func (s *RedisServer) Restart() {
	s.t.Helper()
	s.Stop()
	if err := s.start(); err != nil {
		s.t.Fatal(err)
	}
}

// start runs the server and waits until it answers.
func (s *RedisServer) start() error {
	host, port, err := net.SplitHostPort(s.Addr)
	if err != nil {
		return err
	}
	args, err := s.commandLine(host, port)
	if err != nil {
		return err
	}
	cmd := exec.Command(s.program, args...)
	if s.process, err = start(cmd, nil, syscall.SIGKILL); err != nil {
		return err
	}
	for deadline := time.Now().Add(startWithin); ; time.Sleep(pollEvery) {
		err := ping(s.Addr)
		if s.process.ended() {
			return fmt.Errorf("redis-server does not start at %s", s.Addr)
		}
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			s.Stop()
			return fmt.Errorf("redis-server does not answer: %w", err)
		}
	}
}

// commandLine is what the program is started with. A Sentinel reads a file, into which it also
// writes what it learns.
func (s *RedisServer) commandLine(host, port string) ([]string, error) {
	if s.watch == "" {
		args := []string{"--bind", host, "--port", port, "--save", "", "--appendonly", "no", "--dir", s.dir, "--loglevel", "warning"}
		return append(args, s.args...), nil
	}
	file := filepath.Join(s.dir, "sentinel.conf")
	text := fmt.Sprintf("bind %s\nport %s\ndir %s\n%s", host, port, s.dir, s.watch)
	return []string{file, "--sentinel"}, os.WriteFile(file, []byte(text), 0o600)
}

func ping(address string) error {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return err
	}
	answer := make([]byte, 16)
	n, err := conn.Read(answer)
	if err == nil && !strings.HasPrefix(string(answer[:n]), "+PONG") {
		err = fmt.Errorf("it says %q", answer[:n])
	}
	return err
}
