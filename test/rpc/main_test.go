// Package rpc_test drives the whole service over real sockets: protocol scripts
// from testdata, the table of errors, and the attacks that the edge withstands.
package rpc_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/obs"
	"github.com/nodegate/nodegate/internal/server"
)

var update = flag.Bool("update", false, "write the answers in testdata anew; check each by eye before keeping it")

// Keys of two tenants. Any 32 hex digits are let in.
const (
	keyA = "0123456789abcdef0123456789abcdef"
	keyB = "fedcba9876543210fedcba9876543210"
)

// service is a running server and how to reach it.
type service struct {
	srv   *server.Server
	rpc   string // http://127.0.0.1:port
	admin string
	logs  *safeBuffer
}

// url is a network's HTTP address.
func (s *service) url(network, key string) string { return s.rpc + "/" + network + "/v3/" + key }

// ws is a network's WebSocket address.
func (s *service) ws(network, key string) string {
	return "ws" + strings.TrimPrefix(s.rpc, "http") + "/" + network + "/ws/v3/" + key
}

// host is host:port, for raw connections.
func (s *service) host() string { return strings.TrimPrefix(s.rpc, "http://") }

// close drains the server and reports how that went.
func (s *service) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return s.srv.Close(ctx)
}

// launch starts a server of the two built-in networks, changed as a test needs it.
func launch(dir string, change func(*config.Config)) (*service, error) {
	cfg := config.Default()
	cfg.Data, cfg.Listen, cfg.AdminListen = dir, "127.0.0.1:0", "127.0.0.1:0"
	if change != nil {
		change(cfg)
	}
	logs := new(safeBuffer)
	srv, err := server.New(cfg, obs.NewLogger(logs, "text", slog.LevelDebug), server.Build{})
	if err != nil {
		return nil, err
	}
	if err := srv.Start(); err != nil {
		return nil, errors.Join(err, srv.Close(context.Background()))
	}
	at := srv.Addresses()
	return &service{srv: srv, rpc: at.RPC, admin: at.Admin, logs: logs}, nil
}

// start runs a server of a test's own.
func start(t *testing.T, change func(*config.Config)) *service {
	t.Helper()
	s, err := launch(t.TempDir(), change)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Errorf("closing the server: %v", err)
		}
	})
	return s
}

// only keeps one built-in network, for tests that start a server of their own.
func only(name string) func(*config.Config) {
	return func(c *config.Config) {
		for _, n := range c.Networks {
			if n.Name == name {
				c.Networks, c.DefaultNetwork = []config.Network{n}, name
				return
			}
		}
	}
}

// sharedNetworks adds to devnet and rollup each of the two in the other dialects,
// and scratch for tests that send transactions: the other chains never change.
func sharedNetworks(c *config.Config) {
	rollup := c.Networks[1]
	for _, dialect := range []string{"strict", "standard"} {
		l2 := rollup
		l2.Name, l2.Dialect = "l2"+dialect, dialect
		c.Networks = append(c.Networks, l2, config.Network{Name: dialect, Dialect: dialect, Embedded: &config.Embedded{Preset: "devnet"}})
	}
	c.Networks = append(c.Networks, config.Network{Name: "scratch", Dialect: "spec", Embedded: &config.Embedded{Preset: "devnet"}})
}

// sharedService is the server of all tests that leave it as they find it.
var sharedService struct {
	sync.Once
	*service
	dir string
	err error
}

func shared(t testing.TB) *service {
	t.Helper()
	s := &sharedService
	s.Do(func() {
		if s.dir, s.err = os.MkdirTemp("", "nodegate-rpc"); s.err == nil {
			s.service, s.err = launch(s.dir, sharedNetworks)
		}
	})
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.service
}

func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("test.parallel", "16") // the parallel tests wait, they don't compute
	code := m.Run()
	if s := &sharedService; s.service != nil {
		if err := s.close(); err != nil {
			fmt.Fprintln(os.Stderr, "closing the shared server:", err)
			code = max(code, 1)
		}
	}
	_ = os.RemoveAll(sharedService.dir)
	os.Exit(code)
}

// safeBuffer can be read while a server still logs to it.
type safeBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
