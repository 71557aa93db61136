// Package nginx runs nginx as a plain reverse proxy, as a peer of what benchmarks measure.
package nginx

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/nodegate/nodegate/bench/child"
)

// conf keeps connections to the server behind it.
const conf = `worker_processes auto;
daemon off;
pid %[1]s/nginx.pid;
error_log %[1]s/error.log;
events { worker_connections 4096; }
http {
  access_log off;
  keepalive_requests 1000000000;
  client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
  upstream node { server %[2]s; keepalive 128; keepalive_requests 1000000000; }
  server {
    listen %[3]s;
    location = /readyz { return 200; }
    location / { proxy_pass http://node; proxy_http_version 1.1; proxy_set_header Connection ""; }
  }
}
`

// Config is the configuration of an nginx that works in a folder, before a server's host and
// port.
func Config(dir, server, listen string) []byte {
	return fmt.Appendf(nil, conf, dir, server, listen)
}

// Server is a running nginx.
type Server struct {
	URL string
	cmd *exec.Cmd
}

// Start runs nginx before a server. It is nil where nginx is not installed.
func Start(dir, server string) (*Server, error) {
	program, err := exec.LookPath("nginx")
	if err != nil {
		return nil, nil
	}
	u, err := url.Parse(server)
	if err != nil {
		return nil, err
	}
	listen, err := child.FreeAddress()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, Config(dir, u.Host, listen), 0o644); err != nil {
		return nil, err
	}
	s := &Server{URL: "http://" + listen + u.Path, cmd: exec.Command(program, "-c", file, "-p", dir)}
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	return s, s.await("http://" + listen + "/readyz")
}

func (s *Server) await(page string) error {
	for range 200 {
		if res, err := http.Get(page); err == nil {
			_ = res.Body.Close()
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return errors.Join(errors.New("nginx does not answer"), s.Close())
}

// CPU is the processor time of nginx and of the children that it works in.
func (s *Server) CPU() (time.Duration, error) { return child.Usage{PID: s.cmd.Process.Pid}.TreeCPU() }

// Close ends it. A nil server is closed already.
func (s *Server) Close() error {
	if s == nil {
		return nil
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	_ = s.cmd.Wait() // says that the process was ended
	return nil
}
