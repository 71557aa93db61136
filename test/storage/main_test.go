package storage_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/credential"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/full"
	"github.com/nodegate/nodegate/test/harness"
)

var update = flag.Bool("update", false, "write the answers in testdata anew; check each by eye before keeping it")

// service is a running server with its storage gateway.
type service struct {
	*harness.Service
	secure string // https://127.0.0.1:port
	base   string // the same in plain HTTP
}

// oneNetwork keeps the chain side small: these tests don't look at it.
func oneNetwork(c *config.Config) {
	c.Networks, c.DefaultNetwork = c.Networks[:1], c.Networks[0].Name
	c.Storage.Reserve = 0 // the machine that runs the tests may have little room
}

func launch(dir string, change func(*config.Config)) (*service, error) {
	s, err := harness.Launch(dir, func(c *config.Config) {
		oneNetwork(c)
		if change != nil {
			change(c)
		}
	})
	if err != nil {
		return nil, err
	}
	secure := s.Server.Addresses().Storage
	return &service{Service: s, secure: secure, base: "http" + strings.TrimPrefix(secure, "https")}, nil
}

// start runs a server of a test's own.
func start(t *testing.T, change func(*config.Config)) *service {
	t.Helper()
	s, err := launch(t.TempDir(), change)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing the server: %v", err)
		}
		if t.Failed() {
			t.Logf("the server's log:\n%.20000s", s.Logs)
		}
	})
	return s
}

// host is host:port, for raw connections.
func (s *service) host() string { return strings.TrimPrefix(s.base, "http://") }

// tenant is an account with a card, one key and its secret.
type tenant struct {
	*service
	name, key, secret string
}

// tenant makes an account on a plan.
func (s *service) tenant(t testing.TB, name, plan string) *tenant {
	t.Helper()
	return s.tenantWith(t, name, plan, nodegate.KeySettings{})
}

func (s *service) tenantWith(t testing.TB, name, plan string, settings nodegate.KeySettings) *tenant {
	t.Helper()
	n := &tenant{service: s, name: name, key: credential.NewKey(), secret: credential.NewSecret()}
	if err := s.AddStorageKey(name, plan, n.key, n.secret, settings); err != nil {
		t.Fatal(err)
	}
	return n
}

// sharedService is the server of all tests that don't mind each other's blocks.
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
		if s.dir, s.err = os.MkdirTemp("", "nodegate-storage"); s.err == nil {
			s.service, s.err = launch(s.dir, func(c *config.Config) { c.Storage.Gateway = "keys" })
		}
	})
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.service
}

// tenants counts them: a test may run more than once.
var tenants atomic.Int64

// newTenant is an account of the test's own on the shared server, without limits.
func newTenant(t testing.TB) *tenant {
	t.Helper()
	name := fmt.Sprintf("%s-%d", strings.ToLower(t.Name()), tenants.Add(1))
	return shared(t).tenant(t, strings.ReplaceAll(name, "/", "-"), "unlimited")
}

func TestMain(m *testing.M) {
	full.Short("TestJournal", "TestScripts", "TestKuboTwoServers", "TestPinsOneSet", "TestDisconnect",
		"TestPins", "TestPinsReplace", "TestGatewayKeys", "TestGatewayCARs", "TestAgainAtOnce",
		"TestAtomicRemoval", "TestPinNameRace", "TestRevoked")
	if dir := os.Getenv(serveEnv); dir != "" {
		serveUntilKilled(dir)
	}
	_ = flag.Set("test.parallel", "16") // most parallel tests wait, they don't compute
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
