package devchain

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
)

var update = flag.Bool("update", false, "write testdata/facts.json anew")

const factsFile = "testdata/facts.json"

// chainFacts is what docs and other tests may quote of a chain.
type chainFacts struct {
	Name         string         `json:"name"`
	ChainID      uint64         `json:"chainId"`
	Genesis      common.Hash    `json:"genesis"`
	Head         uint64         `json:"head"`
	HeadHash     common.Hash    `json:"headHash"`
	HeadBaseFee  *hexutil.Big   `json:"headBaseFee"`
	ExtraData    hexutil.Bytes  `json:"extraData"`
	Deployer     common.Address `json:"deployer"`
	Delegator    common.Address `json:"delegator"`
	Demo         common.Address `json:"demo"`
	Value        storageFact    `json:"value"`
	Balance      storageFact    `json:"balance"`
	Transactions []txFact       `json:"transactions"`
}

// storageFact is a word of the demo contract; the owner is that of a mapping's entry.
type storageFact struct {
	Owner    *common.Address `json:"owner,omitempty"`
	Position string          `json:"position"`
	Word     common.Hash     `json:"word"`
}

type txFact struct {
	Name      string          `json:"name"`
	Type      uint8           `json:"type"`
	Hash      common.Hash     `json:"hash"`
	Block     uint64          `json:"block"`
	BlockHash common.Hash     `json:"blockHash"`
	Index     uint            `json:"index"`
	Status    uint64          `json:"status"`
	GasUsed   uint64          `json:"gasUsed"`
	Logs      int             `json:"logs"`
	Created   *common.Address `json:"created,omitempty"`
}

func TestFacts(t *testing.T) {
	var facts []chainFacts
	for _, p := range presets() {
		facts = append(facts, observe(t, p))
	}
	got, err := json.MarshalIndent(facts, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if *update {
		if err := os.WriteFile(factsFile, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(factsFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is stale: run go generate; the chains now say\n%s", factsFile, got)
	}
}

// observe reads the facts from an imported chain; only the names are the script's.
func observe(t *testing.T, p Preset) chainFacts {
	chain := openChain(t, p)
	statedb, head := headState(t, chain), chain.CurrentBlock()
	owner := Accounts()[0].Address
	position := balancePosition(owner)
	return chainFacts{
		Name:         p.Name,
		ChainID:      chain.Config().ChainID.Uint64(),
		Genesis:      chain.Genesis().Hash(),
		Head:         head.Number.Uint64(),
		HeadHash:     head.Hash(),
		HeadBaseFee:  (*hexutil.Big)(head.BaseFee),
		ExtraData:    head.Extra,
		Deployer:     Deployer().Address,
		Delegator:    Delegator().Address,
		Demo:         DemoAddress(),
		Value:        storageFact{nil, "0x0", statedb.GetState(DemoAddress(), common.Hash{})},
		Balance:      storageFact{&owner, position.Hex(), statedb.GetState(DemoAddress(), position)},
		Transactions: observeTransactions(t, p, chain),
	}
}

func observeTransactions(t *testing.T, p Preset, chain *core.BlockChain) []txFact {
	t.Helper()
	names := make(map[common.Hash]string)
	_, labels := build(p)
	seen := make(map[string]bool)
	for _, l := range labels {
		if seen[l.name] {
			t.Errorf("%s: two transactions are named %q", p.Name, l.name)
		}
		names[l.hash], seen[l.name] = l.name, true
	}
	var facts []txFact
	for n := uint64(1); n <= chain.CurrentBlock().Number.Uint64(); n++ {
		block := chain.GetBlockByNumber(n)
		for i, receipt := range chain.GetReceiptsByHash(block.Hash()) {
			if name := names[receipt.TxHash]; name != "" {
				facts = append(facts, newTxFact(name, block.Transactions()[i], receipt))
			}
		}
	}
	return facts
}

func newTxFact(name string, tx *types.Transaction, r *types.Receipt) txFact {
	fact := txFact{
		Name: name, Type: tx.Type(), Hash: tx.Hash(),
		Block: r.BlockNumber.Uint64(), BlockHash: r.BlockHash, Index: r.TransactionIndex,
		Status: r.Status, GasUsed: r.GasUsed, Logs: len(r.Logs),
	}
	if r.ContractAddress != (common.Address{}) {
		fact.Created = &r.ContractAddress
	}
	return fact
}

func TestEveryKindOfTransaction(t *testing.T) {
	for _, p := range presets() {
		facts := observeTransactions(t, p, openChain(t, p))
		seen := make(map[uint8]bool)
		failed, logs := 0, 0
		for _, f := range facts {
			seen[f.Type] = true
			logs += f.Logs
			if f.Status == types.ReceiptStatusFailed {
				failed++
			}
		}
		for kind := uint8(0); kind <= types.SetCodeTxType; kind++ {
			if !seen[kind] {
				t.Errorf("%s: no transaction of type %d", p.Name, kind)
			}
		}
		if failed < 4 || logs < 7 {
			t.Errorf("%s: %d failures and %d logs are too few", p.Name, failed, logs)
		}
		if created := facts[0].Created; created == nil || *created != DemoAddress() {
			t.Errorf("%s: the contract is at %v, want %s", p.Name, created, DemoAddress())
		}
	}
}

func TestOutcomesOfTransactions(t *testing.T) {
	fails := map[string]bool{"revert with reason": true, "panic": true, "out of gas": true, "busy custom error": true}
	for _, p := range presets() {
		for _, f := range observeTransactions(t, p, openChain(t, p)) {
			name := strings.TrimPrefix(f.Name, "recent ")
			if want := !fails[name]; (f.Status == types.ReceiptStatusSuccessful) != want {
				t.Errorf("%s: %s has status %d", p.Name, f.Name, f.Status)
			}
		}
	}
}
