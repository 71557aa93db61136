package clients_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/server"
)

const (
	// key has the form of an API key and its checksum.
	key = "dec0de00dec0de00dec0de00dec0" + "6257"
	// badKey lacks a digit.
	badKey = "dec0de00dec0de00dec0de00dec0625"

	factsFile = "../../internal/chain/devchain/testdata/facts.json"
	drainTime = 10 * time.Second
)

// facts is what is known of a built-in chain before a request is made.
type facts struct {
	Name         string         `json:"name"`
	ChainID      uint64         `json:"chainId"`
	Head         uint64         `json:"head"`
	HeadHash     common.Hash    `json:"headHash"`
	Demo         common.Address `json:"demo"`
	Value        word           `json:"value"`
	Balance      word           `json:"balance"`
	Transactions []txFact       `json:"transactions"`

	raw json.RawMessage
}

type word struct {
	Owner    common.Address `json:"owner"`
	Position string         `json:"position"`
	Word     common.Hash    `json:"word"`
}

type txFact struct {
	Name      string      `json:"name"`
	Type      uint8       `json:"type"`
	Hash      common.Hash `json:"hash"`
	Block     uint64      `json:"block"`
	BlockHash common.Hash `json:"blockHash"`
	Index     uint        `json:"index"`
	Status    uint64      `json:"status"`
	GasUsed   uint64      `json:"gasUsed"`
	Logs      int         `json:"logs"`
}

// service is a running server and what is known of its networks.
type service struct {
	base  string // http://host:port
	facts map[string]*facts
}

// startService runs the whole server in this process, on a free port and an empty
// data folder. Its log is shown when the test fails.
func startService(t *testing.T) *service {
	t.Helper()
	cfg := config.Default()
	cfg.Data = t.TempDir()
	cfg.Listen, cfg.AdminListen, cfg.StorageListen = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	log := new(logBuffer)
	srv, err := server.New(cfg, slog.New(slog.NewTextHandler(log, nil)), server.Build{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeService(t, srv, log) })
	if err := srv.Start(); err != nil {
		t.Fatal(err)
	}
	return &service{base: srv.Addresses().RPC, facts: readFacts(t)}
}

func closeService(t *testing.T, srv *server.Server, log *logBuffer) {
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	if err := srv.Close(ctx); err != nil {
		t.Errorf("closing the server: %v", err)
	}
	if t.Failed() {
		t.Logf("the server's log:\n%s", log)
	}
}

// http is the address of a network for an API key.
func (s *service) http(network, key string) string {
	return fmt.Sprintf("%s/%s/v3/%s", s.base, network, key)
}

func (s *service) ws(network, key string) string {
	return fmt.Sprintf("ws%s/%s/ws/v3/%s", strings.TrimPrefix(s.base, "http"), network, key)
}

func readFacts(t *testing.T) map[string]*facts {
	t.Helper()
	data, err := os.ReadFile(factsFile)
	if err != nil {
		t.Fatal(err)
	}
	var chains []json.RawMessage
	if err := json.Unmarshal(data, &chains); err != nil {
		t.Fatal(err)
	}
	byName := map[string]*facts{}
	for _, raw := range chains {
		f := &facts{raw: raw}
		if err := json.Unmarshal(raw, f); err != nil {
			t.Fatal(err)
		}
		byName[f.Name] = f
	}
	return byName
}

// tx returns the transaction of that name.
func (f *facts) tx(t *testing.T, name string) txFact {
	t.Helper()
	for _, tx := range f.Transactions {
		if tx.Name == name {
			return tx
		}
	}
	t.Fatalf("%s has no transaction %q", f.Name, name)
	return txFact{}
}

// logBuffer collects a log that several goroutines write.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
