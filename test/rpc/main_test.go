// Package rpc_test drives the whole service over real sockets: protocol scripts
// from testdata, the table of errors, and the attacks that the edge withstands.
package rpc_test

import (
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/full"
	"github.com/nodegate/nodegate/test/harness"
)

var update = flag.Bool("update", false, "write the answers in testdata anew; check each by eye before keeping it")

// Keys of two tenants.
const (
	keyA = harness.KeyA
	keyB = harness.KeyB
)

// service is a running server, with short names for what the tests say often.
type service struct {
	*harness.Service
	rpc, admin string
	logs       *harness.Buffer
}

func (s *service) url(network, key string) string { return s.URL(network, key) }
func (s *service) ws(network, key string) string  { return s.WS(network, key) }
func (s *service) host() string                   { return s.Host() }

func wrap(s *harness.Service) *service {
	return &service{Service: s, rpc: s.RPC, admin: s.Admin, logs: s.Logs}
}

// start runs a server of a test's own.
func start(t *testing.T, change func(*config.Config)) *service {
	t.Helper()
	return wrap(harness.Start(t, change))
}

// launch is start for tests that close the server themselves.
func launch(dir string, change func(*config.Config)) (*service, error) {
	s, err := harness.Launch(dir, change)
	if err != nil {
		return nil, err
	}
	return wrap(s), nil
}

func (s *service) close() error { return s.Close() }

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
		c.Networks = append(c.Networks, l2, config.Network{Name: dialect, Dialect: dialect, Cache: rollup.Cache, Embedded: &config.Embedded{Preset: "devnet"}})
	}
	c.Networks = append(c.Networks, config.Network{Name: "scratch", Dialect: "spec", Cache: rollup.Cache, Embedded: &config.Embedded{Preset: "devnet"}})
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
	full.Short("TestPendingTransaction", "TestDeadlines", "TestRefusals", "TestRequestIDs",
		"TestGzipAnswers", "TestTooLargeAtOnce", "TestTooLargeWhileReading", "TestKeepAlive",
		"TestPipelinedBehindSlowCall", "TestBatchSize", "TestBatchOrder", "TestCallTimeout",
		"TestScripts", "TestSocketPing", "TestSocketConcurrency", "TestSubscriptions",
		"TestSubscriptionLimit", "TestSubscriptionInBatch", "TestShutdown",
		"TestShutdownBesideSlowClient", "TestStreamsAtShutdown", "TestUnreadAnswers")
	_ = flag.Set("test.parallel", "16") // the parallel tests wait, they don't compute
	code := m.Run()
	if s := &sharedService; s.service != nil {
		if err := s.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "closing the shared server:", err)
			code = max(code, 1)
		}
	}
	_ = os.RemoveAll(sharedService.dir)
	os.Exit(code)
}
