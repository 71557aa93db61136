package clients_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/nodegate/nodegate/test/harness"
)

const (
	key = harness.KeyA
	// badKey lacks a digit.
	badKey = "dec0de00dec0de00dec0de00dec0625"

	factsFile = "../../internal/rpc/chain/devchain/testdata/facts.json"
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
	*harness.Service
	base  string // http://host:port
	facts map[string]*facts
}

// startService runs the whole server in this process, on a free port and an empty
// data folder.
func startService(t *testing.T) *service {
	t.Helper()
	s := harness.Start(t, nil)
	return &service{Service: s, base: s.RPC, facts: readFacts(t)}
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
