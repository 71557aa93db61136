// Package harness starts whole servers for tests: real listeners on free ports,
// real chains, a real account store in a temporary folder.
package harness

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/credential"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/obs"
	"github.com/nodegate/nodegate/internal/server"
	"github.com/nodegate/nodegate/test/full"
	"github.com/nodegate/nodegate/test/sqlitetest"
)

// Keys of two tenants without limits, which every started server knows.
const (
	KeyA = "0123456789abcdef0123456789ab" + "7580"
	KeyB = "fedcba9876543210fedcba987654" + "7260"
)

// Service is a running server and how to reach it.
type Service struct {
	Server *server.Server
	RPC    string // http://127.0.0.1:port
	Admin  string
	Logs   *Buffer
	Dir    string // of the data

	vault *credential.Vault
}

// URL is a network's HTTP address.
func (s *Service) URL(network, key string) string { return s.RPC + "/" + network + "/v3/" + key }

// WS is a network's WebSocket address.
func (s *Service) WS(network, key string) string {
	return "ws" + strings.TrimPrefix(s.RPC, "http") + "/" + network + "/ws/v3/" + key
}

// Host is host:port, for raw connections.
func (s *Service) Host() string { return strings.TrimPrefix(s.RPC, "http://") }

// Close drains the server and reports how that went.
func (s *Service) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return s.Server.Close(ctx)
}

// Config is the default configuration in a folder, on free ports. The dashboard has no rate
// limit: it charges pages by the time they take, so on a slow machine a test would be
// refused after ten of them. A test of the limit sets its own. The reserve is small for the
// same reason: what is free on the machine's disk is no test's business.
func Config(dir string) *config.Config {
	cfg := config.Default()
	cfg.Data, cfg.Listen, cfg.AdminListen, cfg.StorageListen = dir, "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	cfg.Limits.PagesPerSecond = 0
	cfg.Storage.Reserve = 64 << 20
	return cfg
}

// Launch starts a server of the built-in networks, changed as a test needs it.
func Launch(dir string, change func(*config.Config)) (*Service, error) {
	pace()
	cfg := Config(dir)
	if change != nil {
		change(cfg)
	}
	s := &Service{Logs: new(Buffer), Dir: cfg.Data}
	_ = makeStore(cfg) // the server says what is wrong with the folder
	var err error
	if s.Server, err = server.New(cfg, obs.NewLogger(s.Logs, "text", slog.LevelDebug), server.Build{Version: "test"}); err != nil {
		return nil, err
	}
	if err := errors.Join(s.seed(cfg), s.Server.Start()); err != nil {
		return nil, errors.Join(err, s.Server.Close(context.Background()))
	}
	s.RPC, s.Admin = s.Server.Addresses().RPC, s.Server.Addresses().Admin
	return s, nil
}

// pace makes the garbage collector run as rarely as in the program, which sets this at its
// start: at Go's default it takes a fifth of what tests of whole servers use. A test that has
// chosen its own pace keeps it.
func pace() {
	const usual, ours = 100, 300
	if before := debug.SetGCPercent(ours); before != usual {
		debug.SetGCPercent(before)
	}
}

// makeStore puts an empty database with all tables into a new data folder. A server would
// make the same one, which is a quarter of the work of its start.
func makeStore(cfg *config.Config) error {
	path := filepath.Join(cfg.Data, "nodegate.db")
	if _, err := os.Stat(path); err == nil || cfg.Store.Postgres != "" {
		return nil
	}
	if err := os.MkdirAll(cfg.Data, 0o700); err != nil {
		return err
	}
	// A folder with a database and without a pepper would be one that has lost it.
	if _, err := credential.Pepper(cfg.Data, string(cfg.Pepper)); err != nil {
		return err
	}
	return sqlitetest.Write(path)
}

// NeedFull skips a test that doesn't fit into the time of make test.
func NeedFull(t testing.TB) {
	t.Helper()
	if !full.Run() {
		t.Skip("only make full runs this test; set NODEGATE_FULL=1 to run it alone")
	}
}

// Skip ends a test that can't run on this machine, and says why. On a build machine,
// where nobody expects a skip, the test fails.
func Skip(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal("nothing may be skipped with CI=true: " + reason)
	}
	t.Skip("SKIPPED: " + reason)
}

// Start runs a server of a test's own. Its log is shown when the test fails.
func Start(t testing.TB, change func(*config.Config)) *Service {
	t.Helper()
	s, err := Launch(t.TempDir(), change)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing the server: %v", err)
		}
		if t.Failed() {
			t.Logf("the server's log:\n%s", s.Logs)
		}
	})
	return s
}

// seed makes the two tenants, unless an earlier start on this folder did.
func (s *Service) seed(cfg *config.Config) error {
	pepper, err := credential.Pepper(cfg.Data, string(cfg.Pepper))
	if err != nil {
		return err
	}
	if s.vault, err = credential.Unlock(pepper, ""); err != nil {
		return err
	}
	for _, tenant := range []struct{ name, key string }{{"a", KeyA}, {"b", KeyB}} {
		err := s.AddKey(tenant.name, "unlimited", tenant.key, "", nodegate.KeySettings{})
		full := errors.Is(err, nodegate.InsufficientStorage) // they are there, or nothing can be
		if err != nil && !errors.Is(err, nodegate.Conflict) && !full {
			return err
		}
	}
	return nil
}

// AddKey makes an account of its own for a key that the test chooses, which the
// service itself never lets anybody do. The server finds it at its first use.
func (s *Service) AddKey(name, plan, key, secret string, settings nodegate.KeySettings) error {
	return s.addKey(name, plan, key, secret, settings, nil)
}

// AddStorageKey is AddKey for an account that has a billing card, which the storage
// gateway asks for.
func (s *Service) AddStorageKey(name, plan, key, secret string, settings nodegate.KeySettings) error {
	return s.addKey(name, plan, key, secret, settings, &nodegate.Card{
		Brand: "visa", LastFour: "4242", ExpMonth: 12, ExpYear: time.Now().Year() + 1, Processor: "test",
	})
}

func (s *Service) addKey(name, plan, key, secret string, settings nodegate.KeySettings, card *nodegate.Card) error {
	a := &nodegate.Account{ID: "a-" + name, Email: name + "@example.com", Plan: plan, Card: card, Created: time.Now()}
	k := &nodegate.Key{ID: "k-" + name, AccountID: a.ID, Name: name, Settings: settings, Created: time.Now()}
	k.Values = []nodegate.KeyValue{{Digest: s.vault.KeyDigest(key), Sealed: s.vault.Seal(k.ID, key), Prefix: key[:4]}}
	k.Secrets = []nodegate.KeySecret{{Digest: s.vault.SecretDigest(k.ID, secret)}}
	return s.Server.Control().Store.Save(context.Background(), &nodegate.Change{
		Account: a, Key: k, Audit: nodegate.AuditEntry{Actor: "test", Action: "key.create", AccountID: a.ID, Subject: k.ID},
	})
}

// Buffer can be read while a server still logs to it.
type Buffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *Buffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *Buffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
