package dbtest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Pair is a Postgres and its hot standby, which follows it by streaming replication. Both listen
// on 127.0.0.1 and take nobody there without TLS.
type Pair struct {
	Primary, Standby *Server
	// DSN names both, with target_session_attrs=read-write. TLS settings can be added to it.
	DSN string
}

// PostgresPair starts both. The certificate and its key, in PEM, are for 127.0.0.1.
func PostgresPair(t testing.TB, cert, key string) *Pair {
	t.Helper()
	first := PostgresServer(t)
	first.secure(cert, key)
	second := first.follow(cert, key)
	name := first.DSN[len("postgres:///"):strings.Index(first.DSN, "?")]
	p := &Pair{Primary: first, Standby: second}
	p.DSN = fmt.Sprintf("postgres://postgres@127.0.0.1:%s,127.0.0.1:%s/%s?target_session_attrs=read-write", first.cluster.port, second.cluster.port, name)
	return p
}

// Promote makes the standby a server that takes writes.
func (p *Pair) Promote() error {
	return p.Standby.cluster.admin("SELECT pg_promote()")
}

// Followed waits until the standby has all that the primary has.
func (p *Pair) Followed(holds func(standby string) bool) bool {
	for end := time.Now().Add(startWithin); time.Now().Before(end); time.Sleep(pollEvery) {
		if holds(p.Standby.DSN) {
			return true
		}
	}
	return false
}

// secure starts the server again with a TCP port and TLS.
func (s *Server) secure(cert, key string) {
	s.t.Helper()
	s.cluster.process.stop(syscall.SIGQUIT)
	const rules = "local all all trust\nlocal replication all trust\nhostssl all all 127.0.0.1/32 trust\n"
	if err := os.WriteFile(filepath.Join(s.cluster.data(), "pg_hba.conf"), []byte(rules), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.listen(cert, key)
	if _, rest, ok := strings.Cut(s.DSN, "?"); ok {
		s.DSN = strings.TrimSuffix(s.DSN, "?"+rest) + "?" + rest + "&port=" + s.cluster.port
	}
}

// listen starts a stopped server on a port of its own.
func (s *Server) listen(cert, key string) {
	s.t.Helper()
	c := s.cluster
	for name, text := range map[string]string{"server.crt": cert, "server.key": key} {
		path := filepath.Join(c.data(), name)
		err := os.WriteFile(path, []byte(text), 0o600)
		if err == nil && c.as != nil {
			err = os.Chown(path, int(c.as.Uid), int(c.as.Gid))
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
	var err error
	const attempts = 5
	for range attempts { // somebody else may take the port between the look and the start
		var address string
		if address, err = freeAddress(); err != nil {
			continue
		}
		_, c.port, _ = net.SplitHostPort(address) // of a listener
		c.args = []string{"-c", "listen_addresses=127.0.0.1", "-c", "port=" + c.port, "-c", "ssl=on", "-c", "max_wal_senders=4"}
		if err = c.start(); err == nil {
			return
		}
	}
	s.t.Fatal(err)
}

// follow makes a standby of the server.
func (s *Server) follow(cert, key string) *Server {
	s.t.Helper()
	basebackup, err := find("pg_basebackup", "postgresql-client")
	if err != nil {
		skip(s.t, err)
	}
	dir, err := folder(s.cluster.as)
	if err != nil {
		s.t.Fatal(err)
	}
	c := &cluster{dir: dir, program: s.cluster.program, as: s.cluster.as}
	standby := &Server{t: s.t, cluster: c}
	s.t.Cleanup(func() {
		if c.process != nil && !c.process.ended() {
			c.process.stop(syscall.SIGQUIT)
		}
		if err := os.RemoveAll(dir); err != nil {
			s.t.Error(err)
		}
	})
	cmd := exec.Command(basebackup, "-h", s.cluster.dir, "-p", s.cluster.port, "-U", "postgres", "-D", c.data(), "-R", "-X", "stream", "-c", "fast", "--no-sync")
	cmd.Dir, cmd.SysProcAttr = dir, &syscall.SysProcAttr{Credential: c.as, Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread() // as in newCluster
	out, err := cmd.CombinedOutput()
	runtime.UnlockOSThread()
	if err != nil {
		s.t.Fatalf("pg_basebackup: %v: %s", err, out)
	}
	standby.listen(cert, key)
	standby.DSN = c.dsn(strings.TrimPrefix(s.DSN[:strings.Index(s.DSN, "?")], "postgres:///"))
	return standby
}
